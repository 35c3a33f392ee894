package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
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
func moreDevices(t *task, _ []way) []remedy {
	best := map[string]*extension{}
	for _, m := range t.templates() {
		vendor := t.cluster.Class(t.cluster.Island(m).Class).Vendor
		limit := maxMoreDevices
		if b := best[vendor]; b != nil {
			limit = b.devices - 1
		}
		if e := t.extension(m, limit); e != nil {
			best[vendor] = e
		}
	}
	var found []*extension
	for _, e := range best {
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b *extension) int {
		return cmp.Or(cmp.Compare(a.devices, b.devices), compareTemplates(t.cluster, a.template, b.template))
	})
	var remedies []remedy
	for _, e := range found[:min(len(found), maxVendors)] {
		remedies = append(remedies, t.extended(e))
	}
	return remedies
}

// extension is a number of further devices like those of an island.
type extension struct {
	template fleet.IslandRef
	devices  int
	inPlace  bool // on the node itself
	cluster  *fleet.Cluster
	format   v1alpha1.Precision
}

// extended returns the remedy of an extension.
func (t *task) extended(e *extension) remedy {
	name := t.cluster.Nodes()[e.template.Node].Name
	text := fmt.Sprintf("%d more free %s", e.devices, t.cluster.Class(t.cluster.Island(e.template).Class).Name())
	if slices.ContainsFunc(t.ladder, func(s step) bool { return s.format != e.format }) {
		text += fmt.Sprintf(" in %s", e.format)
	}
	if e.inPlace {
		text += " on node " + name
	} else {
		size := int(t.cluster.Nodes()[e.template.Node].Widest)
		text += fmt.Sprintf(" on %s like %s", words.Counted((e.devices+size-1)/size, "new node"), name)
	}
	return remedy{kind: KindDevices, change: text, cluster: e.cluster, more: e}
}

// templates returns the islands that further devices are modelled on: for each class that matches, an island with the
// most devices, and among these one with the most free devices. The commonest classes come first.
func (t *task) templates() []fleet.IslandRef {
	c := t.cluster
	last := t.ladder[len(t.ladder)-1]
	classes, nodes := t.refusedClasses(last), t.refusedNodes()
	best := map[int32]fleet.IslandRef{}
	for i, n := range c.Nodes() {
		if nodes.refuse(int32(i)) {
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

// extension returns the fewest further devices of an island's class that make the request fit, up to a limit; nil where
// more are needed.
func (t *task) extension(m fleet.IslandRef, limit int) *extension {
	e := t.newNodes(m, limit)
	if e != nil {
		limit = e.devices // on the node itself as many are fewer nodes
	}
	if here := t.sameNode(m, limit); here != nil {
		e = here
	}
	if e == nil {
		return nil
	}
	other := t.on(e.cluster)
	if other == nil {
		return nil
	}
	found, _ := other.search()
	if found == nil {
		return nil
	}
	e.format = found.attempt.step.format
	return e
}

// sameNode returns the fewest further devices on the island's own node, as far as it has room.
func (t *task) sameNode(m fleet.IslandRef, limit int) *extension {
	is := t.cluster.Island(m)
	room := min(limit, hostSlots-int(is.Size))
	if is.Wires.Link || room < 1 || t.cluster.Nodes()[m.Node].Closed {
		return nil
	}
	on := func(n int) *fleet.Cluster { return t.extend(m, n, true) }
	if !t.fitsOn(on(room)) {
		return nil
	}
	n := 1 + sort.Search(room-1, func(i int) bool { return t.fitsOn(on(i + 1)) })
	return &extension{template: m, devices: n, inPlace: true, cluster: on(n)}
}

// newNodes returns the fewest further devices on new nodes. It starts from the number that the memory of pipelines on new
// devices alone gives, which is seldom wrong.
func (t *task) newNodes(m fleet.IslandRef, limit int) *extension {
	on := func(n int) *fleet.Cluster { return t.extend(m, n, false) }
	fits := func(n int) bool { return t.fitsOn(on(n)) }
	guess := min(t.guess(m), limit)
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
	return &extension{template: m, devices: n, cluster: on(n)}
}

// extend returns the cluster with n further devices.
func (t *task) extend(m fleet.IslandRef, n int, inPlace bool) *fleet.Cluster {
	if inPlace {
		return t.cluster.Grow(m, n)
	}
	return t.cluster.Expand(m, n, t.require.level, t.prefer)
}

func (t *task) fitsOn(c *fleet.Cluster) bool {
	other := t.on(c)
	return other != nil && other.fits()
}

// guess returns the number of devices with which pipelines of equal stages hold all copies, on new nodes and the free
// devices of the class; 0 where no number does.
func (t *task) guess(m fleet.IslandRef) int {
	is, size := t.cluster.Island(m), int(t.cluster.Nodes()[m.Node].Widest)
	class := t.cluster.Class(is.Class)
	limit := size
	if t.asked.tensor == 0 {
		limit = tensorLimit(class.Family, is.Wires.Link, int32(size))
	}
	l := &lane{class: is.Class, wires: &is.Wires, limit: limit, devices: maxMoreDevices}
	offer := t.offer(is.Class, class.TotalBytes)
	best := 0
	for _, s := range t.lightest() {
		for _, how := range t.enough() {
			a := t.attempt(s, how)
			for _, d := range t.degrees(s, l, how.divided) {
				perNode := size / d.group()
				stages := a.keeping(l, d, a.stagesFor(is.Class, d, offer))
				if perNode == 0 || stages == 0 {
					continue
				}
				groups := t.instancesOf(d)*stages - t.freeGroups(a, l, d.group(), t.instancesOf(d)*stages)
				if n := groups/perNode*size + groups%perNode*d.group(); n > 0 && (best == 0 || n < best) {
					best = n
				}
			}
		}
	}
	return best
}

// freeGroups returns the most free groups of a class in one lane, up to a number. None counts where new nodes would be
// far from existing ones.
func (t *task) freeGroups(a *attempt, like *lane, group, most int) int {
	if t.require.level != "" {
		return 0
	}
	count := 0
	for _, p := range a.levels[len(a.levels)-1] {
		for _, l := range t.lanesOf(p) {
			if l.class == like.class && *l.wires == *like.wires {
				count = max(count, len(l.pool.groupCaps(group, most)))
			}
		}
	}
	return min(count, most)
}
