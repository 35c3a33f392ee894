package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// grower makes the tree of a placement.
type grower struct {
	state   *holding.State
	devices map[deviceKey]*holding.Device
}

// deviceKey is a device of a node.
type deviceKey struct {
	node string
	id   v1alpha1.DeviceID
}

func growing(s *holding.State) *grower {
	g := &grower{s, map[deviceKey]*holding.Device{}}
	devices := holding.Of(s).Devices
	for i := range devices {
		g.devices[deviceKey{devices[i].Node, devices[i].ID}] = &devices[i]
	}
	return g
}

func (g *grower) placement(p *v1alpha1.ModelPlacement) branch {
	b := branch{Kind: "ModelPlacement", Name: p.Name, State: reasonOf(p.Status.Conditions, v1alpha1.ConditionReady), About: cmp.Or(p.Status.Model, "not looked at yet")}
	if ready := p.Status.Summary.Pods; ready != "" {
		b.About += ", " + ready + " pods as planned"
	}
	for i := range g.state.Plans {
		if plan := &g.state.Plans[i]; plan.Namespace == p.Namespace && plan.Spec.Placement.Is(p) {
			b.Branches = append(b.Branches, g.plan(p, plan))
		}
	}
	return b
}

func (g *grower) plan(p *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan) branch {
	s := &plan.Spec
	b := branch{Kind: "ShardingPlan", Name: plan.Name, State: "Pending", About: fmt.Sprintf("%s in %s, %s of %s on %s, %s", s.Strategy.Summary, s.Quantization,
		s.Totals.Memory, words.Counted(s.Totals.Devices, "device"), words.Counted(s.Totals.Nodes, "node"), strings.ToLower(string(s.Enforcement)))}
	switch {
	case !plan.DeletionTimestamp.IsZero():
		b.State = "Going"
	case plan.InForce():
		b.State = "Active"
	}
	for i := range g.state.Meshes {
		if m := &g.state.Meshes[i]; m.Namespace == plan.Namespace && m.Spec.Plan == plan.Name {
			b.Branches = append(b.Branches, g.mesh(p, m))
		}
	}
	return b
}

func (g *grower) mesh(p *v1alpha1.ModelPlacement, m *v1alpha1.DeviceMesh) branch {
	b := branch{Kind: "DeviceMesh", Name: m.Name, State: reasonOf(m.Status.Conditions, v1alpha1.ConditionReady), About: m.Spec.Shape + ", " + term.WorldsText(&m.Spec)}
	if m.Spec.Library != "" {
		b.About += ", " + m.Spec.Library
	}
	if verified := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionVerified); verified != nil {
		b.About += ", verification: " + verified.Reason
	}
	seats, err := launch.Pods(&m.Spec, p.Spec.Launch.PodDevices(), p.Spec.Launch.Starter())
	if err != nil {
		b.Branches = append(b.Branches, branch{Kind: "Pods", Name: "-", State: "NotCut", About: err.Error()})
	}
	for i := range seats {
		b.Branches = append(b.Branches, g.pod(m, &seats[i]))
	}
	for i := range m.Spec.Groups {
		if m.Spec.Groups[i].Size > 1 { // others have no links
			b.Branches = append(b.Branches, links(m, &m.Spec.Groups[i]))
		}
	}
	return b
}

// pod is a place of a mesh with the pod that has it.
func (g *grower) pod(m *v1alpha1.DeviceMesh, seat *launch.Pod) branch {
	b := branch{Kind: "Pod", Name: fmt.Sprintf("(index %d)", seat.Index), Node: seat.Node, State: "Missing", About: seat.Node + ", " + ranksText(seat.Ranks)}
	if m.Spec.Replicas > 1 {
		b.About += fmt.Sprintf(" of copy %d", seat.Copy)
	}
	if !g.state.Sees(holding.Pods) {
		b.State = "Unknown"
	}
	for i := range g.state.Pods {
		pod := &g.state.Pods[i]
		if pod.Namespace == m.Namespace && pod.Labels[v1alpha1.LabelPlacement] == m.Spec.Placement.Name && pod.Labels[binding.LabelIndex] == strconv.Itoa(seat.Index) {
			b.Name, b.State = pod.Name, podState(pod)
			if pod.Spec.NodeName != "" && pod.Spec.NodeName != seat.Node {
				b.State += ", on " + pod.Spec.NodeName
			}
		}
	}
	for i, id := range seat.Devices {
		b.Branches = append(b.Branches, g.device(seat.Node, id, seat.Ranks[i]))
	}
	return b
}

func podState(pod *corev1.Pod) string {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return "Terminating"
	case len(pod.Spec.SchedulingGates) > 0:
		return "Gated"
	case ready:
		return string(pod.Status.Phase) + ", ready"
	default:
		return string(pod.Status.Phase)
	}
}

func (g *grower) device(node string, id v1alpha1.DeviceID, rank int) branch {
	b := branch{Kind: "Device", Name: string(id), Node: node, State: "Unknown", About: fmt.Sprintf("rank %d", rank)}
	d := g.devices[deviceKey{node, id}]
	if d == nil {
		return b
	}
	b.State = string(d.Condition)
	if d.Health.State != "" && d.Health.State != v1alpha1.Healthy {
		b.State += ", " + strings.TrimSuffix(string(d.Health.State)+" "+d.Health.Reason, " ")
	}
	if d.Cordoned {
		b.State += ", cordoned"
	}
	if d.Memory.TotalMiB > 0 {
		b.About += fmt.Sprintf(", %s of %s", words.HumanMiB(d.Memory.PlannedMiB), words.HumanMiB(d.Memory.TotalMiB))
	} else if d.Why != "" {
		b.About += ", " + d.Why
	}
	return b
}

// links are those of a kind of process groups: the slowest one by what the inventories say, what verification measured, and what it found wrong.
func links(m *v1alpha1.DeviceMesh, group *v1alpha1.ProcessGroups) branch {
	b := branch{Kind: "Links", Name: group.Name, About: fmt.Sprintf("%s of %s", words.Counted(group.Count, "group"), words.Counted(group.Size, "rank"))}
	for _, slowest := range m.Status.SlowestLinks {
		if slowest.Group == group.Name && len(slowest.Ranks) == 2 {
			b.About += ", " + strings.TrimSpace(slowest.Kind+" "+rate(slowest.MBps)) + fmt.Sprintf(" between ranks %d and %d", slowest.Ranks[0], slowest.Ranks[1])
		}
	}
	for _, measured := range m.Status.Verified {
		if measured.Group == group.Name && measured.MBps > 0 {
			b.About += ", measured " + rate(measured.MBps)
		}
	}
	for _, finding := range m.Status.Findings {
		if finding.Group == group.Name {
			b.Branches = append(b.Branches, branch{Kind: "Finding", Name: string(finding.Reason), About: finding.Message})
		}
	}
	return b
}

// rate is a rate in words; nothing where it is not known.
func rate(mbps int64) string {
	if mbps == 0 {
		return ""
	}
	return term.InUnits(float64(mbps)*1e6, "B/s")
}

func ranksText(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return fmt.Sprintf("ranks %s", mesh.RanksOf(ranks))
}

// reasonOf is the reason of a condition; a word for its absence where it is not there.
func reasonOf(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return "New"
}
