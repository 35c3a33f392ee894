package remedy

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

const (
	// maxMoreDevices bounds the number of further devices that is suggested.
	maxMoreDevices = 4096
	// maxTemplates and maxVendors bound the kinds of devices that are tried and the suggestions that are made.
	maxTemplates = 8
	maxVendors   = 3
	// hostSlots is how many accelerators a host is taken to have room for where no link domain joins them.
	hostSlots = 8
)

// moreDevices is how many further devices would do, of each vendor of the class that needs the fewest: on a node that has
// room for them, or else on new nodes like one that is there.
func moreDevices(t *shape.Problem, _ []search.Family) []Remedy {
	best := map[string]*extension{}
	enough := t.Enough()
	for _, m := range templates(t) {
		vendor := t.Cluster.Class(t.Cluster.Island(m).Class).Vendor
		limit := maxMoreDevices
		if b := best[vendor]; b != nil {
			limit = b.Devices - 1
		}
		if e := fewestMore(t, enough, m, limit); e != nil {
			best[vendor] = e
		}
	}
	var found []*extension
	for _, e := range best {
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b *extension) int {
		return cmp.Or(cmp.Compare(a.Devices, b.Devices), compareTemplates(t.Cluster, a.Template, b.Template))
	})
	var remedies []Remedy
	for _, e := range found[:min(len(found), maxVendors)] {
		if made, _ := search.Best(t.On(e.cluster)); made != nil {
			remedies = append(remedies, extended(t, e, made.Tier.Weights))
		}
	}
	return remedies
}

// extension is a number of further devices like those of an island.
type extension struct {
	Template fleet.IslandRef
	Devices  int
	InPlace  bool // on the node itself
	cluster  *fleet.Cluster
}

// extended returns the remedy of an extension on which the model fits in a format.
func extended(t *shape.Problem, e *extension, format v1alpha1.Precision) Remedy {
	name := t.Cluster.Nodes()[e.Template.Node].Name
	text := fmt.Sprintf("%d more free %s", e.Devices, nameOf(t.Cluster.Class(t.Cluster.Island(e.Template).Class), e.Devices))
	if slices.ContainsFunc(t.Ladder, func(s shape.Format) bool { return s.Weights != format }) {
		text += fmt.Sprintf(" in %s", format)
	}
	if e.InPlace {
		text += " on node " + name
	} else {
		size := int(t.Cluster.Nodes()[e.Template.Node].Widest)
		text += fmt.Sprintf(" on %s like %s", words.Counted((e.Devices+size-1)/size, "new node"), name)
	}
	return Remedy{Kind: KindDevices, Change: text, Cluster: e.cluster, More: e}
}

// nameOf names devices of a class, and of partitions what they are parts of, and their size.
func nameOf(c *fleet.Class, devices int) string {
	if c.Partition == "" {
		return c.Name()
	}
	parts := "slice"
	if devices != 1 {
		parts += "s"
	}
	return fmt.Sprintf("%s %s of %s of %s", c.Partition, parts, words.HumanBytes(c.TotalBytes), c.Name())
}

// templates returns the islands that further devices are modelled on: for each class that matches, an island with the
// most devices, and among these one with the most free devices. The commonest classes come first.
func templates(t *shape.Problem) []fleet.IslandRef {
	c := t.Cluster
	classes, nodes := t.RefusedClasses(), t.RefusedNodes()
	best := map[int32]fleet.IslandRef{}
	for i, n := range c.Nodes() {
		if nodes.Refuse(int32(i)) {
			continue
		}
		for j := range n.Islands {
			m := fleet.IslandRef{Node: int32(i), Island: int32(j)}
			class := n.Islands[j].Class
			if classes[class] != "" || c.Listed(class) == 0 {
				continue
			}
			if b, ok := best[class]; !ok || compareIslands(c, m, b) < 0 {
				best[class] = m
			}
		}
	}
	var templates []fleet.IslandRef
	for _, m := range best {
		templates = append(templates, m)
	}
	slices.SortFunc(templates, func(a, b fleet.IslandRef) int { return compareTemplates(c, a, b) })
	return templates[:min(len(templates), maxTemplates)]
}

// compareIslands orders islands of a class as templates.
func compareIslands(c *fleet.Cluster, a, b fleet.IslandRef) int {
	x, y := c.Island(a), c.Island(b)
	return cmp.Or(cmp.Compare(c.Reach(y), c.Reach(x)), cmp.Compare(len(y.Free), len(x.Free)), a.Compare(b))
}

// compareTemplates orders templates of several classes.
func compareTemplates(c *fleet.Cluster, a, b fleet.IslandRef) int {
	i, j := c.Island(a).Class, c.Island(b).Class
	x, y := c.Class(i), c.Class(j)
	return cmp.Or(cmp.Compare(c.Listed(j), c.Listed(i)), cmp.Compare(y.TotalBytes, x.TotalBytes), cmp.Compare(x.Vendor, y.Vendor),
		cmp.Compare(x.Product, y.Product), a.Compare(b))
}

// fewestMore returns the fewest further devices of an island's class that make the request fit, up to a limit; nil where
// more are needed.
func fewestMore(t *shape.Problem, enough *shape.Enough, m fleet.IslandRef, limit int) *extension {
	e := newNodes(t, enough, m, limit)
	if e != nil {
		limit = e.Devices // on the node itself as many are fewer nodes
	}
	if here := sameNode(t, enough, m, limit); here != nil {
		e = here
	}
	return e
}

// sameNode returns the fewest further devices on the island's own node, as far as it has room.
func sameNode(t *shape.Problem, enough *shape.Enough, m fleet.IslandRef, limit int) *extension {
	is := t.Cluster.Island(m)
	room := min(limit, hostSlots-int(is.Size))
	if is.Wires.Link || room < 1 || !t.Classes[is.Class].Addable() || t.Cluster.Nodes()[m.Node].Closed {
		return nil
	}
	on := func(n int) *fleet.Cluster { return Extend(t, m, n, true) }
	fits := func(n int) bool { return enough.May(furtherOn(t, m, n, true)...) && fitsOn(t, on(n)) }
	if !fits(room) {
		return nil
	}
	n := 1 + sort.Search(room-1, func(i int) bool { return fits(i + 1) })
	return &extension{Template: m, Devices: n, InPlace: true, cluster: on(n)}
}

// newNodes returns the fewest further devices on new nodes. It starts from the number that the memory of pipelines on new
// devices alone gives, which is seldom wrong.
func newNodes(t *shape.Problem, enough *shape.Enough, m fleet.IslandRef, limit int) *extension {
	on := func(n int) *fleet.Cluster { return Extend(t, m, n, false) }
	fits := func(n int) bool {
		return !t.Stopped() && enough.May(furtherOn(t, m, n, false)...) && fitsOn(t, on(n))
	}
	guess := min(guess(t, m), limit)
	if guess < 1 {
		return nil
	}
	low := 0 // the most that are known to be too few
	for !fits(guess) {
		if low = guess; guess >= limit {
			return nil
		}
		guess = min(2*guess, limit)
	}
	if guess-1 > low && !fits(guess-1) {
		low = guess - 1
	}
	n := low + 1 + sort.Search(guess-low-1, func(i int) bool { return fits(low + 1 + i) })
	return &extension{Template: m, Devices: n, cluster: on(n)}
}

// Extend returns the cluster with n further devices.
func Extend(t *shape.Problem, m fleet.IslandRef, n int, inPlace bool) *fleet.Cluster {
	if inPlace {
		return t.Cluster.Grow(m, n)
	}
	return t.Cluster.Expand(m, n, t.Require.Level, t.Prefer)
}

// furtherOn returns the devices that Extend adds: on new nodes, which share one zone unless each is one.
func furtherOn(t *shape.Problem, m fleet.IslandRef, n int, inPlace bool) []shape.More {
	is := t.Cluster.Island(m)
	more := shape.More{Class: is.Class, Devices: n, FreeBytes: t.Cluster.Class(is.Class).TotalBytes, Zone: -1}
	if inPlace {
		more.Zone = t.ZoneOf(m.Node)
	}
	if inPlace || t.Require.Level != corev1.LabelHostname {
		return []shape.More{more}
	}
	var nodes []shape.More
	for size := int(t.Cluster.Nodes()[m.Node].Widest); n > 0; n -= size {
		more.Devices, more.Zone = min(size, n), more.Zone-1
		nodes = append(nodes, more)
	}
	return nodes
}

func fitsOn(t *shape.Problem, c *fleet.Cluster) bool {
	other := t.On(c)
	return other != nil && search.Fits(other)
}

// guess returns the number of devices with which pipelines of equal stages hold all copies, on new nodes and the free
// devices of the class; 0 where no number does.
func guess(t *shape.Problem, m fleet.IslandRef) int {
	if t.Open {
		return 1
	}
	is, size := t.Cluster.Island(m), int(t.Cluster.Nodes()[m.Node].Widest)
	l := t.Imagined(is.Class, &is.Wires, size, maxMoreDevices)
	best := 0
	for _, s := range t.Decisive() {
		a := t.Tier(s)
		for d, stages := range a.Fewest(l) {
			perNode := size / d.Group()
			if perNode == 0 {
				continue
			}
			groups := t.InstancesOf(d)*stages - freeGroups(t, a, l, d.Group(), t.InstancesOf(d)*stages)
			if n := groups/perNode*size + groups%perNode*d.Group(); n > 0 && (best == 0 || n < best) {
				best = n
			}
		}
	}
	return best
}

// freeGroups returns the most free groups of a class in one flavor, up to a number. None counts where new nodes would be
// far from existing ones.
func freeGroups(t *shape.Problem, a *shape.Tier, like *shape.Flavor, group, most int) int {
	if t.Require.Level != "" {
		return 0
	}
	count := 0
	for _, p := range a.Levels[len(a.Levels)-1] {
		for _, l := range t.FlavorsOf(p) {
			if l.Class == like.Class && *l.Wires == *like.Wires {
				count = max(count, len(l.Pool.GroupCaps(group, most)))
			}
		}
	}
	return min(count, most)
}
