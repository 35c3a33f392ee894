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
	text := fmt.Sprintf("%d more free %s", enough, t.cluster.classes[t.cluster.islands[model].class].name())
	if len(t.ladder) > 1 {
		text += fmt.Sprintf(" in %s", t.ladder[len(t.ladder)-1].format)
	}
	return text
}

// commonest is the largest island of the commonest class that matches and could hold work.
func (t *task) commonest() (int32, bool) {
	c := t.cluster
	counts := make([]int, len(c.classes))
	for i := range c.devices {
		if d := &c.devices[i]; d.refusal != RefusedCPU && d.refusal != RefusedMemory && t.require.refuseNode(&c.nodes[d.node]) == "" {
			counts[d.class]++
		}
	}
	last := t.ladder[len(t.ladder)-1]
	r := poolRequest{format: last.format, native: last.native}
	best := int32(-1)
	for i := range c.islands {
		is := &c.islands[i]
		cl := &c.classes[is.class]
		if counts[is.class] == 0 || t.require.refuseClass(cl) != "" || !r.suits(cl) || t.require.refuseNode(&c.nodes[c.devices[is.devices[0]].node]) != "" {
			continue
		}
		if best < 0 || c.compareIslands(is, &c.islands[best], counts) < 0 {
			best = int32(i)
		}
	}
	return best, best >= 0
}

func (c *Cluster) compareIslands(a, b *island, counts []int) int {
	x, y := &c.classes[a.class], &c.classes[b.class]
	return cmp.Or(cmp.Compare(counts[b.class], counts[a.class]), cmp.Compare(y.total, x.total), cmp.Compare(x.vendor, y.vendor),
		cmp.Compare(x.product, y.product), cmp.Compare(len(b.devices), len(a.devices)))
}

// expand is the cluster with further free devices, on nodes as large as the island's and labelled as its first one. The
// new nodes share a value of the topology levels, but for the level of single nodes.
func (c *Cluster) expand(model int32, more int, levels ...string) *Cluster {
	is := &c.islands[model]
	template := &c.nodes[c.devices[is.devices[0]].node]
	size := int(template.widest)
	total := c.classes[is.class].total
	larger := &Cluster{
		nodes: slices.Clip(c.nodes), devices: slices.Clip(c.devices), classes: c.classes, islands: slices.Clip(c.islands),
	}
	for n := 0; more > 0; n++ {
		labels := maps.Clone(template.labels)
		for _, level := range levels {
			if level == "kubernetes.io/hostname" {
				labels[level] = fmt.Sprint("~", n)
			} else if level != "" && labels != nil {
				labels[level] = "~"
			}
		}
		added := island{class: is.class, link: is.link}
		first := int32(len(larger.devices))
		for range min(size, more) {
			added.devices = append(added.devices, int32(len(larger.devices)))
			larger.devices = append(larger.devices, device{
				node: int32(len(larger.nodes)), class: is.class, island: int32(len(larger.islands)), free: total,
			})
		}
		more -= min(size, more)
		larger.islands = append(larger.islands, added)
		larger.nodes = append(larger.nodes, node{name: fmt.Sprint("~", n), labels: labels, first: first, last: int32(len(larger.devices))})
	}
	return larger
}
