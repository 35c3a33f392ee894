package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
)

// maxMoreDevices is how many additional devices are thought of.
const maxMoreDevices = 4096

// moreDevices says how many further devices of the commonest matching class would do, on nodes like those that have it.
func (t *task) moreDevices() string {
	model, ok := t.commonest()
	if !ok {
		return ""
	}
	fits := func(n int) bool {
		other := *t
		other.cluster = t.cluster.expand(model, n, t.require.level, t.prefer)
		other.pooled = map[string]pooled{}
		other.ladder = t.ladder[len(t.ladder)-1:]
		return other.fits()
	}
	enough := 1
	for !fits(enough) {
		if enough *= 2; enough > maxMoreDevices {
			return ""
		}
	}
	if enough > 2 {
		enough = enough/2 + 1 + sort.Search(enough/2-1, func(i int) bool { return fits(enough/2 + 1 + i) })
	}
	text := fmt.Sprintf("%d more free %s", enough, t.cluster.classes[t.cluster.islandOf(model).class].name())
	if len(t.ladder) > 1 {
		text += fmt.Sprintf(" in %s", t.ladder[len(t.ladder)-1].format)
	}
	return text
}

func (c *Cluster) islandOf(m member) *island { return &c.nodes[m.node].islands[m.island] }

// commonest is the largest island of the commonest class that matches and could hold work.
func (t *task) commonest() (member, bool) {
	c := t.cluster
	last := t.ladder[len(t.ladder)-1]
	r := poolRequest{requirements: t.require, format: last.format, native: last.native}
	classes, nodes := c.judgeClasses(&r), c.judgeNodes(&r)
	counts := c.counts.listed
	if nodes != nil {
		counts = slices.Clone(counts)
		for i, n := range c.nodes {
			for j := range n.devices {
				if d := &n.devices[j]; d.counts() && nodes.refuse(int32(i)) {
					counts[d.class]--
				}
			}
		}
	}
	best, found := member{}, false
	for i, n := range c.nodes {
		if nodes.refuse(int32(i)) {
			continue
		}
		for j := range n.islands {
			is, m := &n.islands[j], member{int32(i), int32(j)}
			if classes[is.class] != "" || counts[is.class] == 0 {
				continue
			}
			if !found || c.compareIslands(m, best, counts) < 0 {
				best, found = m, true
			}
		}
	}
	return best, found
}

func (c *Cluster) compareIslands(a, b member, counts []int) int {
	i, j := c.islandOf(a), c.islandOf(b)
	x, y := &c.classes[i.class], &c.classes[j.class]
	return cmp.Or(cmp.Compare(counts[j.class], counts[i.class]), cmp.Compare(y.total, x.total), cmp.Compare(x.vendor, y.vendor),
		cmp.Compare(x.product, y.product), cmp.Compare(c.reach(j), c.reach(i)))
}

// reach is how many devices an island has, with those on other nodes.
func (c *Cluster) reach(is *island) int32 {
	if is.fabric != nil {
		if f := c.fabrics[fabricKey{*is.fabric, is.class}]; f != nil && f.spans() {
			return f.size
		}
	}
	return is.size
}

// expand is the cluster with further free devices, on nodes as large as the island's and labelled as its first one. The
// new nodes share a value of the topology levels, but for the level of single nodes.
func (c *Cluster) expand(model member, more int, levels ...string) *Cluster {
	is, template := c.islandOf(model), c.nodes[model.node]
	size := int(template.widest)
	total := c.classes[is.class].total
	larger := c.Clone()
	for n := 0; more > 0; n++ {
		// A tilde comes after all that names of nodes are made of, so that the other nodes keep their places.
		added := &node{name: fmt.Sprintf("~%04d", n), labels: maps.Clone(template.labels)}
		for _, level := range levels {
			switch {
			case level == "" || added.labels == nil:
			case level == "kubernetes.io/hostname":
				added.labels[level] = added.name
			default:
				added.labels[level] = "~"
			}
		}
		for range min(size, more) {
			added.devices = append(added.devices, device{class: is.class, free: total})
		}
		added.islands = []island{{class: is.class, domain: -1, wires: is.wires}}
		added.prepare()
		more -= min(size, more)
		larger.put(added)
	}
	return larger
}
