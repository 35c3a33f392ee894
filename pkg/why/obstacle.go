package why

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/shape"
)

// obstacle is something in a cluster without which a placement may fit.
type obstacle struct {
	reason string
	// cause ends the sentence that begins with how many devices the obstacle keeps.
	cause string
	// keeps says whether it keeps a device from new plans.
	keeps func(*Case, *holding.Device) bool
	// evidence and commands are about one such device.
	evidence, commands func(*Case, *holding.Device) []string
	// What the cluster would be without it. Both are given a copy that is no deep one, and say whether they changed it.
	inventory func(*Case, *v1alpha1.AcceleratorInventory) bool
	node      func(*corev1.Node) bool
	plans     func(*Case, *v1alpha1.ShardingPlan) bool
	agents    bool
}

// obstacles are in order of what their removal costs.
var obstacles = []obstacle{
	{
		reason: "Cordoned", cause: "cordoned",
		keeps: func(c *Case, d *holding.Device) bool { return d.Cordoned && c.repair(d) == nil },
		evidence: func(c *Case, d *holding.Device) []string {
			return []string{deviceName(d) + " is in spec.cordonedDevices of its inventory"}
		},
		commands: func(c *Case, d *holding.Device) []string { return OfDevice(c, d).Commands },
		inventory: func(_ *Case, i *v1alpha1.AcceleratorInventory) bool {
			cordoned := len(i.Spec.CordonedDevices) > 0
			i.Spec.CordonedDevices = nil
			return cordoned
		},
	},
	{
		reason: "NodeDrained", cause: "on nodes that take no new work",
		keeps: func(c *Case, d *holding.Device) bool { return c.closed(d.Node) != "" },
		evidence: func(c *Case, d *holding.Device) []string {
			return append(OfNode(c, d.Node).Evidence, d.Node+": "+c.closed(d.Node))
		},
		commands: func(c *Case, d *holding.Device) []string { return OfNode(c, d.Node).Commands },
		agents:   true,
		node: func(n *corev1.Node) bool {
			closed := n.Spec.Unschedulable || len(n.Spec.Taints) > 0
			n.Spec.Unschedulable, n.Spec.Taints = false, nil
			n.Status.Conditions = slices.Clone(n.Status.Conditions)
			for i := range n.Status.Conditions {
				if is := &n.Status.Conditions[i]; is.Type == corev1.NodeReady && is.Status != corev1.ConditionTrue {
					is.Status, closed = corev1.ConditionTrue, true
				}
			}
			return closed
		},
	},
	{
		reason: "TakenByStrangers", cause: "held by pods of no placement",
		keeps:    func(c *Case, d *holding.Device) bool { return len(c.strangers(d)) > 0 },
		evidence: func(c *Case, d *holding.Device) []string { return c.strangersText(d) },
		commands: func(c *Case, d *holding.Device) []string { return c.endStrangers(d) },
		inventory: func(c *Case, i *v1alpha1.AcceleratorInventory) bool {
			all := len(i.Status.Allocations)
			i.Status.Allocations = slices.DeleteFunc(slices.Clone(i.Status.Allocations), func(a v1alpha1.Allocation) bool { return !c.planned(a.Namespace, a.Pod) })
			return len(i.Status.Allocations) < all
		},
	},
	{
		reason: "MemoryOfOthers", cause: "with memory that processes of no pod use",
		keeps: func(_ *Case, d *holding.Device) bool { return d.Memory.OthersMiB > 0 },
		evidence: func(_ *Case, d *holding.Device) []string {
			return []string{fmt.Sprintf("processes of no pod use %s of %s on %s", words.HumanMiB(d.Memory.OthersMiB), words.HumanMiB(d.Memory.TotalMiB), deviceName(d))}
		},
		commands: func(_ *Case, d *holding.Device) []string {
			return []string{commandf("debug node/%s -it --profile=sysadmin --image=busybox", d.Node) + " # and look for who uses " + string(d.ID)}
		},
		inventory: func(_ *Case, i *v1alpha1.AcceleratorInventory) (used bool) {
			i.Status.Devices = slices.Clone(i.Status.Devices)
			for k := range i.Status.Devices {
				if m := i.Status.Devices[k].Memory; m != nil && m.UsedByOthersMiB != 0 {
					unused := *m
					unused.UsedByOthersMiB = 0
					i.Status.Devices[k].Memory, used = &unused, true
				}
			}
			return used
		},
	},
	{
		reason: "Unhealthy", cause: "not healthy",
		keeps:    func(c *Case, d *holding.Device) bool { return unusable(d) || c.repair(d) != nil },
		evidence: func(_ *Case, d *holding.Device) []string { return lines(d.Node + ": " + healthText(d)) },
		commands: func(c *Case, d *holding.Device) []string { return OfDevice(c, d).Commands },
		inventory: func(_ *Case, i *v1alpha1.AcceleratorInventory) bool {
			ill := len(i.Status.Repairs) > 0
			i.Status.Repairs, i.Status.Devices = nil, slices.Clone(i.Status.Devices)
			for k := range i.Status.Devices {
				if health := &i.Status.Devices[k].Health; health.State != v1alpha1.Healthy {
					*health, ill = v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, true
				}
			}
			return ill
		},
	},
	{
		reason: "TakenByPlacements", cause: "held by other placements",
		keeps:    func(_ *Case, d *holding.Device) bool { return len(d.Seats) > 0 },
		evidence: func(_ *Case, d *holding.Device) []string { return seatsText(d)[:1] },
		commands: func(_ *Case, d *holding.Device) []string {
			return []string{suspend(d.Seats[0].Namespace, d.Seats[0].Placement)}
		},
		plans: func(*Case, *v1alpha1.ShardingPlan) bool { return true },
		inventory: func(_ *Case, i *v1alpha1.AcceleratorInventory) bool {
			held := len(i.Status.Allocations) > 0
			i.Status.Allocations = nil
			return held
		},
	},
}

// without is the cluster without some obstacles to a placement. What is other than it is has another resource version, by which who follows a cluster
// knows it: most of a large fleet is as it was.
func (c *Case) without(gone ...*obstacle) fleet.State {
	now := c.State.State
	now.Inventories, now.Nodes, now.Plans, now.Pods = slices.Clone(now.Inventories), slices.Clone(now.Nodes), slices.Clone(now.Plans), slices.Clone(now.Pods)
	for _, o := range gone {
		for i := range now.Inventories {
			if is := &now.Inventories[i]; o.inventory != nil && o.inventory(c, is) {
				is.ResourceVersion = otherVersion(is.ResourceVersion, o)
			}
		}
		for i := range now.Nodes {
			if is := &now.Nodes[i]; o.node != nil && o.node(is) {
				is.ResourceVersion = otherVersion(is.ResourceVersion, o)
			}
		}
		if o.plans != nil {
			now.Plans = slices.DeleteFunc(now.Plans, func(p v1alpha1.ShardingPlan) bool { return o.plans(c, &p) })
			now.Pods = nil
		}
		if o.agents {
			now.Silent = nil
		}
	}
	return now
}

// otherVersion is that of an object without an obstacle, and none where it had none: then its content is looked at.
func otherVersion(version string, gone *obstacle) string {
	if version == "" {
		return ""
	}
	return version + " without " + gone.reason
}

// kept are the devices that an obstacle keeps from plans of a placement.
func (c *Case) kept(o *obstacle, s *standing) []*holding.Device {
	if devices, known := s.kept[o]; known {
		return devices
	}
	var devices []*holding.Device
	for _, d := range c.allowed(s) {
		if o.keeps(c, d) {
			devices = append(devices, d)
		}
	}
	if s.kept == nil {
		s.kept = map[*obstacle][]*holding.Device{}
	}
	s.kept[o] = devices
	return devices
}

// allowed are the devices that a placement may have, by their vendor, their product and their node.
func (c *Case) allowed(s *standing) []*holding.Device {
	if s.allowed != nil {
		return s.allowed
	}
	asks := s.Spec.Devices
	if asks == nil {
		asks = &v1alpha1.DeviceRequirements{}
	}
	onNode := func(string) bool { return true }
	if asks.NodeLabelSelector != nil {
		selector, err := asks.NodeLabelSelector.AsSelector()
		onNode = func(name string) bool {
			node := c.node(name)
			return err == nil && node != nil && selector.Matches(labels.Set(node.Labels))
		}
	}
	s.allowed = []*holding.Device{}
	for i := range c.fleetOf().Devices {
		d := &c.held.Devices[i]
		if (len(asks.Vendors) == 0 || slices.Contains(asks.Vendors, d.Vendor)) && (len(asks.Products) == 0 || slices.Contains(asks.Products, d.Product)) && onNode(d.Node) {
			s.allowed = append(s.allowed, d)
		}
	}
	return s.allowed
}

// short are the reasons of placements for which there is too little that is free.
var short = []string{shape.ReasonNoneFree, shape.ReasonTooLarge, shape.ReasonTooFewDevices, shape.ReasonLimit}

// obstacleCauses are the obstacles each of which alone keeps a placement from a plan, then all of them together.
func obstacleCauses() []cause[*standing] {
	rows := make([]cause[*standing], 0, len(obstacles)+1)
	for i := range obstacles {
		rows = append(rows, obstacleCause(obstacles[i].reason, obstacles[i:i+1]))
	}
	return append(rows, obstacleCause("SeveralObstacles", obstacles))
}

// obstacleCause answers where a placement would fit without some obstacles, as far as they are there.
func obstacleCause(reason string, some []obstacle) cause[*standing] {
	there := func(c *Case, s *standing) []*obstacle {
		var list []*obstacle
		for i := range some {
			if len(c.kept(&some[i], s)) > 0 {
				list = append(list, &some[i])
			}
		}
		return list
	}
	return cause[*standing]{
		reason: reason,
		is: func(c *Case, s *standing) bool {
			if !slices.Contains(short, s.placed.Reason) || c.Fits == nil {
				return false
			}
			gone := there(c, s)
			return len(gone) > 0 && c.Fits(s.ModelPlacement, c.without(gone...))
		},
		cause: func(c *Case, s *standing) string {
			var texts []string
			for _, o := range there(c, s) {
				texts = append(texts, words.Counted(len(c.kept(o, s)), "device")+" "+o.cause)
			}
			return "No plan, and there would be one without this: " + strings.Join(texts, ", ")
		},
		evidence: func(c *Case, s *standing) []string {
			return append(perDevice(c, s, there(c, s), func(o *obstacle) func(*Case, *holding.Device) []string { return o.evidence }), s.said())
		},
		commands: func(c *Case, s *standing) []string {
			return append(perDevice(c, s, there(c, s), func(o *obstacle) func(*Case, *holding.Device) []string { return o.commands }), s.patches()...)
		},
	}
}

// mostTexts is how many devices evidence and commands are told of: the cause counts all of them.
const mostTexts = 20

// perDevice are texts of the first devices that obstacles keep, each once.
func perDevice(c *Case, s *standing, gone []*obstacle, of func(*obstacle) func(*Case, *holding.Device) []string) []string {
	var texts []string
	for _, o := range gone {
		for _, d := range c.kept(o, s) {
			if len(texts) >= mostTexts {
				return texts
			}
			for _, text := range of(o)(c, d) {
				if !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}

// linked is a cluster of which all devices are in one link domain that goes over its nodes.
var linked = obstacle{reason: "NoLinkDomain", inventory: func(_ *Case, i *v1alpha1.AcceleratorInventory) bool {
	domain := v1alpha1.LinkDomain{Name: "all", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Fabric: &v1alpha1.Fabric{ClusterUUID: "all"}}
	for k := range i.Status.Devices {
		domain.Members = append(domain.Members, i.Status.Devices[k].ID)
	}
	i.Status.Links = v1alpha1.Links{Domains: []v1alpha1.LinkDomain{domain}}
	return true
}}

// lacksLinks says whether a placement would fit if all devices were in one link domain.
func lacksLinks(c *Case, s *standing) bool {
	return slices.Contains(short, s.placed.Reason) && c.Fits != nil && c.Fits(s.ModelPlacement, c.without(&linked))
}

// linkedText says how many free devices there are, and how many of them are in one link domain or, without one, on one node.
func linkedText(c *Case, s *standing) string {
	free, most, where := 0, 0, ""
	together := map[string]int{}
	for _, d := range c.allowed(s) {
		if d.Condition != holding.Idle {
			continue
		}
		at := "node " + d.Node
		if domain := c.domain(d); domain != "" {
			at = "link domain " + domain + " of " + at
		}
		free, together[at] = free+1, together[at]+1
		if together[at] > most {
			most, where = together[at], at
		}
	}
	return fmt.Sprintf("%s free, of which at most %d reach each other: %s", words.Counted(free, "device"), most, where)
}

// domain is the name of the largest link domain of its node that has a device; empty where none does.
func (c *Case) domain(d *holding.Device) string {
	size, name := 0, ""
	if inventory := c.inventory(d.Node); inventory != nil {
		for _, domain := range inventory.Status.Links.Domains {
			if len(domain.Members) > size && slices.Contains(domain.Members, d.ID) {
				size, name = len(domain.Members), domain.Name
			}
		}
	}
	return name
}
