package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// part is what of an island matches a request in one zone: its devices from the largest capacity to the smallest.
type part struct {
	class    int32
	zone     int32
	site     int32 // parts with equal sites are on one node, or in one link domain that spans nodes
	kind     int32 // parts of one kind are interchangeable
	limit    int   // largest tensor degree
	link     bool
	previous bool // has devices of the previous plan
	devices  []int32
	caps     []int64 // bytes that a plan may use, of each device
}

// pool is what matches a request, of one vendor.
type pool struct {
	vendor string
	parts  []part
	kinds  [][]int32 // parts by kind, in order
	free   int64     // bytes
	zones  []zone
}

// zone is a value of the topology level.
type zone struct {
	parts   []int32
	devices int
}

// census counts what was looked at, for people.
type census struct {
	refused map[Refusal]int
	matched int
	free    int64
	largest int64
}

// poolRequest is what a pool is made for.
type poolRequest struct {
	requirements
	format v1alpha1.Precision
	native bool // the format must be computed natively
	// capacity is what a plan may use of a device of a class with so many free bytes; it does not fall as they grow.
	capacity func(class int32, free int64) int64
	level    string
	any      bool           // a user-given tensor degree lifts the limit of hosts
	keep     map[int32]bool // devices of the previous plan
}

// pools collects the matching free devices by vendor, in order of vendor.
func (c *Cluster) pools(r *poolRequest) ([]*pool, census) {
	count := census{refused: map[Refusal]int{}}
	classes := make([]Refusal, len(c.classes))
	for i := range c.classes {
		if classes[i] = r.refuseClass(&c.classes[i]); classes[i] == "" && !r.suits(&c.classes[i]) {
			classes[i] = refusedFormat
		}
	}
	nodes, zones, zoneCount := c.judgeNodes(r)
	byVendor := map[string]*pool{}
	for i := range c.islands {
		is := &c.islands[i]
		free := c.freeOn(is, nodes, classes[is.class], &count)
		if len(free) == 0 {
			continue
		}
		vendor := c.classes[is.class].vendor
		p := byVendor[vendor]
		if p == nil {
			p = &pool{vendor: vendor}
			byVendor[vendor] = p
		}
		c.addParts(p, r, is, int32(i), free, zones)
	}
	order := slices.SortedFunc(maps.Values(byVendor), func(a, b *pool) int { return cmp.Compare(a.vendor, b.vendor) })
	for _, p := range order {
		p.finish(zoneCount)
		for i := range p.parts {
			count.matched += len(p.parts[i].caps)
			count.largest = max(count.largest, p.parts[i].caps[0])
		}
		count.free += p.free
	}
	return order, count
}

// judgeNodes says of each node why nothing on it matches and, where there is a topology level, in which zone it is.
func (c *Cluster) judgeNodes(r *poolRequest) (refused []Refusal, zones []int32, zoneCount int) {
	refused, zones = make([]Refusal, len(c.nodes)), make([]int32, len(c.nodes))
	numbers := map[string]int32{}
	for i := range c.nodes {
		n := &c.nodes[i]
		refused[i] = r.refuseNode(n)
		if r.level == "" {
			continue
		}
		value := n.labels[r.level]
		if value == "" && refused[i] == "" {
			refused[i] = refusedLevel
		}
		at, ok := numbers[value]
		if !ok {
			at = int32(len(numbers))
			numbers[value] = at
		}
		zones[i] = at
	}
	return refused, zones, len(numbers)
}

// suits says whether the class can hold weights in the format. A class whose formats are not known is taken to compute
// 16 bits and no less.
func (r *poolRequest) suits(c *class) bool {
	switch {
	case r.native:
		return c.computes(r.format)
	case r.format == v1alpha1.BF16:
		return !c.known() || c.computes(v1alpha1.BF16)
	}
	return true
}

func (c *Cluster) freeOn(is *island, nodes []Refusal, class Refusal, count *census) []int32 {
	free := make([]int32, 0, len(is.devices))
	for _, at := range is.devices {
		d := &c.devices[at]
		if why := cmp.Or(d.refusal, nodes[d.node], class); why != "" {
			count.refused[why]++
			continue
		}
		free = append(free, at)
	}
	return free
}

// addParts divides an island's free devices by zone.
func (c *Cluster) addParts(p *pool, r *poolRequest, is *island, index int32, free, zones []int32) {
	limit := c.limit(is)
	if r.any {
		limit = len(is.devices)
	}
	for len(free) > 0 {
		z := zones[c.devices[free[0]].node]
		part := part{class: is.class, zone: z, limit: limit, link: is.link, site: c.devices[free[0]].node}
		if is.spans {
			// Sites of nodes and of domains that span nodes must not be confused.
			part.site = int32(len(c.nodes)) + index
		}
		var rest []int32
		for _, at := range free {
			if zones[c.devices[at].node] != z {
				rest = append(rest, at)
				continue
			}
			part.devices = append(part.devices, at)
			part.previous = part.previous || r.keep[at]
		}
		slices.SortStableFunc(part.devices, func(a, b int32) int {
			return cmp.Or(cmp.Compare(c.devices[b].free, c.devices[a].free), keepFirst(r.keep, a, b))
		})
		part.caps = make([]int64, len(part.devices))
		for i, at := range part.devices {
			part.caps[i] = r.capacity(is.class, c.devices[at].free)
			p.free += part.caps[i]
		}
		p.parts = append(p.parts, part)
		free = rest
	}
}

func keepFirst(keep map[int32]bool, a, b int32) int {
	switch {
	case keep[a] == keep[b]:
		return 0
	case keep[a]:
		return -1
	default:
		return 1
	}
}

// finish finds the kinds and the zones.
func (p *pool) finish(zones int) {
	var key strings.Builder
	kinds := map[string]int32{}
	p.zones = make([]zone, zones)
	for i := range p.parts {
		part := &p.parts[i]
		key.Reset()
		writeInt(&key, int64(part.class))
		writeInt(&key, int64(part.limit))
		if part.link {
			key.WriteByte('l')
		}
		for _, capacity := range part.caps {
			writeInt(&key, capacity)
		}
		at, ok := kinds[key.String()]
		if !ok {
			at = int32(len(kinds))
			kinds[key.String()] = at
			p.kinds = append(p.kinds, nil)
		}
		part.kind = at
		p.kinds[at] = append(p.kinds[at], int32(i))
		if zones > 0 {
			p.zones[part.zone].parts = append(p.zones[part.zone].parts, int32(i))
			p.zones[part.zone].devices += len(part.caps)
		}
	}
	for _, parts := range p.kinds {
		slices.SortStableFunc(parts, func(a, b int32) int { return previousFirst(p.parts[a].previous, p.parts[b].previous) })
	}
}

func previousFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// writeInt appends a number of fixed length, so that no two lists of numbers read the same.
func writeInt(b *strings.Builder, n int64) {
	for range 8 {
		b.WriteByte(byte(n))
		n >>= 8
	}
}
