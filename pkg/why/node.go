package why

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// OfNode says why a node takes no new work, or who holds its devices.
func OfNode(c *Case, name string) Answer { return first(c, "node/"+name, name, nodeCauses()) }

func nodeCauses() []cause[string] {
	return []cause[string]{
		{
			reason: "NoNode", is: func(c *Case, name string) bool { return c.node(name) == nil && c.State.Sees(holding.Nodes) },
			cause:    says[string]("There is no such Node"),
			evidence: func(_ *Case, name string) []string { return []string{"the API server has no Node " + name} },
			commands: func(*Case, string) []string { return []string{"kubectl get nodes"} },
		},
		{
			reason: "NodeDrained", is: func(c *Case, name string) bool { n := c.node(name); return n != nil && n.Spec.Unschedulable },
			cause: says[string]("The node was cordoned or drained: nothing new is put on it"),
			evidence: func(_ *Case, name string) []string {
				return []string{"spec.unschedulable of node " + name + " is true"}
			},
			commands: func(_ *Case, name string) []string { return []string{"kubectl uncordon " + name} },
		},
		{
			reason: "NodeOutOfService", is: func(c *Case, name string) bool { f := c.facts(name); return f != nil && f.OutOfService },
			cause: says[string]("Somebody took the node out of service"),
			evidence: func(_ *Case, name string) []string {
				return []string{"node " + name + " has the taint " + corev1.TaintNodeOutOfService}
			},
			commands: func(_ *Case, name string) []string {
				return []string{commandf("taint nodes %s %s-", name, corev1.TaintNodeOutOfService)}
			},
		},
		{
			reason: "NodeNotReady", is: func(c *Case, name string) bool { f := c.facts(name); return f != nil && f.NotReady },
			cause: says[string]("The node is not ready, by its kubelet or because that is silent"),
			evidence: func(c *Case, name string) []string {
				return conditionTexts(c.node(name).Status.Conditions, corev1.NodeReady)
			},
			commands: func(_ *Case, name string) []string { return []string{"kubectl describe node " + name} },
		},
		{
			reason: "AgentSilent", is: func(c *Case, name string) bool { return c.State.Silent[name] },
			cause: says[string]("The node agent has not been heard of for too long: what its node has is not known"),
			evidence: func(_ *Case, name string) []string {
				return []string{"the Lease " + name + " of the agents' namespace was not renewed in time"}
			},
			commands: agentCommands,
		},
		{
			reason: "NoInventory", is: func(c *Case, name string) bool { return c.inventory(name) == nil && c.State.Sees(holding.Inventories) },
			cause:    says[string]("No agent has told what the node has: nothing is planned on it"),
			evidence: func(_ *Case, name string) []string { return []string{"there is no AcceleratorInventory " + name} },
			commands: agentCommands,
		},
		{
			reason: "NodeTainted", is: func(c *Case, name string) bool { f := c.facts(name); return f != nil && len(f.Evicting) > 0 },
			cause:    says[string]("The node has a taint that ends pods which do not tolerate it"),
			evidence: func(c *Case, name string) []string { return []string{"taint " + c.facts(name).Evicting[0].ToString()} },
			commands: func(c *Case, name string) []string {
				return []string{commandf("taint nodes %s %s-", name, c.facts(name).Evicting[0].Key)}
			},
		},
		{
			reason: "AllocationsUnknown", is: func(c *Case, name string) bool { return c.said(name, v1alpha1.ConditionAllocationsCurrent) != nil },
			cause: says[string]("The kubelet does not say which pods hold devices, so that none counts as free"),
			evidence: func(c *Case, name string) []string {
				return []string{sentence(c.said(name, v1alpha1.ConditionAllocationsCurrent).Message)}
			},
			commands: agentCommands,
		},
		{
			is:  func(c *Case, name string) bool { return c.outOfUse(name) != nil },
			via: func(c *Case, name string) Answer { return OfDevice(c, c.outOfUse(name)) },
		},
		{
			reason: "TakesWork", is: func(*Case, string) bool { return true },
			cause: says[string]("The node takes work"),
			evidence: func(c *Case, name string) []string {
				counts := map[holding.Condition]int{}
				for i := range c.fleetOf().Devices {
					if d := &c.held.Devices[i]; d.Node == name {
						counts[d.Condition]++
					}
				}
				var texts []string
				for _, condition := range holding.Conditions {
					if n := counts[condition]; n > 0 {
						texts = append(texts, fmt.Sprintf("%s %s", words.Counted(n, "device"), condition))
					}
				}
				return texts
			},
			commands: func(_ *Case, name string) []string {
				return []string{"kubectl rankwright top devices -l " + corev1.LabelHostname + "=" + name}
			},
		},
	}
}

// facts are what planning takes from a Node; nil where it is not known.
func (c *Case) facts(name string) *fleet.NodeFacts {
	node := c.node(name)
	if node == nil {
		return nil
	}
	facts := fleet.FactsOf(node)
	return &facts
}

// said is a condition of a node's inventory that is not True; nil where it is.
func (c *Case) said(node, kind string) *metav1.Condition {
	inventory := c.inventory(node)
	if inventory == nil {
		return nil
	}
	if is := meta.FindStatusCondition(inventory.Status.Conditions, kind); is != nil && is.Status != metav1.ConditionTrue {
		return is
	}
	return nil
}

// outOfUse is the first device of a node that nobody may have.
func (c *Case) outOfUse(node string) *holding.Device {
	return found(c.fleetOf().Devices, func(d *holding.Device) bool { return d.Node == node && d.Condition == holding.OutOfUse })
}

func conditionTexts(conditions []corev1.NodeCondition, kind corev1.NodeConditionType) []string {
	for _, is := range conditions {
		if is.Type == kind {
			return lines(sentence(fmt.Sprintf("condition %s is %s: %s, %s", is.Type, is.Status, is.Reason, is.Message)))
		}
	}
	return []string{"the node has no condition " + string(kind)}
}

func agentCommands(_ *Case, name string) []string {
	return []string{commandf("get pods -A -l app.kubernetes.io/name=rankwright,app.kubernetes.io/component=node-agent --field-selector spec.nodeName=%s", name)}
}
