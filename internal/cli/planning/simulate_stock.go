package planning

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// ProductStock is what there is of a product.
type ProductStock struct {
	Product string `json:"product"`
	Nodes   int    `json:"nodes"`
	Devices int    `json:"devices"`
	// FreeBefore and FreeAfter are the devices that new work can use, before and after the placements.
	FreeBefore int `json:"freeBefore"`
	FreeAfter  int `json:"freeAfter"`
	// StrandedBefore and StrandedAfter are how many of the free devices lie on islands with fewer free devices than the widest tensor
	// group needs.
	StrandedBefore int `json:"strandedBefore"`
	StrandedAfter  int `json:"strandedAfter"`
}

// stock is what there is of a product at one moment.
type stock struct {
	nodes, devices, free int
	// islands are the free devices of each island that has any.
	islands []int
}

// stockOf counts a cluster by product.
func stockOf(c *fleet.Cluster) map[string]*stock {
	stocks := map[string]*stock{}
	of := func(class int32) *stock {
		product := c.Class(class).Product
		if stocks[product] == nil {
			stocks[product] = &stock{}
		}
		return stocks[product]
	}
	for _, n := range c.Nodes() {
		seen := map[*stock]bool{}
		for i := range n.Devices {
			s := of(n.Devices[i].Class)
			s.devices++
			seen[s] = true
		}
		for s := range seen {
			s.nodes++
		}
	}
	for _, k := range c.Kinds() {
		free := 0
		for _, run := range k.Runs {
			free += int(run.Count)
		}
		of(k.Class).add(free, len(k.Members))
	}
	for _, f := range c.Fabrics() {
		of(f.Class).add(len(f.Free), 1)
	}
	return stocks
}

// add counts islands with so many free devices each.
func (s *stock) add(free, islands int) {
	s.free += free * islands
	s.islands = append(s.islands, slices.Repeat([]int{free}, islands)...)
}

// stranded are the free devices of islands that have too few for a tensor group.
func (s *stock) stranded(tensor int) int {
	sum := 0
	for _, free := range s.islands {
		if free < tensor {
			sum += free
		}
	}
	return sum
}

// compareStocks is the stock by product before and after the placements, with what is stranded for tensor groups of a width.
func compareStocks(before, after map[string]*stock, tensor int) []ProductStock {
	list := make([]ProductStock, 0, len(before))
	for _, product := range slices.Sorted(maps.Keys(before)) {
		b, a := before[product], after[product]
		list = append(list, ProductStock{
			Product: product, Nodes: b.nodes, Devices: b.devices, FreeBefore: b.free, FreeAfter: a.free,
			StrandedBefore: b.stranded(tensor), StrandedAfter: a.stranded(tensor),
		})
	}
	return list
}

// productsOf are the numbers of a plan's devices by product.
func productsOf(c *fleet.Cluster, spec *v1alpha1.ShardingPlanSpec) map[string]int {
	products := map[string]int{}
	for i := range spec.Nodes {
		for _, id := range spec.Nodes[i].Devices {
			if ref, ok := c.Find(spec.Nodes[i].Node, id); ok {
				products[c.Class(c.Device(ref).Class).Product]++
			}
		}
	}
	return products
}
