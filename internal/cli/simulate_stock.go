package cli

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// productStock is what there is of a product.
type productStock struct {
	Product string `json:"product"`
	Nodes   int    `json:"nodes"`
	Devices int    `json:"devices"`
	// FreeBefore and FreeAfter are the devices that new work can use, before and after the placements.
	FreeBefore int `json:"freeBefore"`
	FreeAfter  int `json:"freeAfter"`
	// StrandedBefore and StrandedAfter are how many of those lie on islands with fewer free devices than the widest tensor
	// group needs.
	StrandedBefore int `json:"strandedBefore"`
	StrandedAfter  int `json:"strandedAfter"`
}

// islandKey is a set of devices that a tensor group can be drawn from: those of a product in a link domain or a fabric, or
// those of a host that are in none.
type islandKey struct {
	product, node, domain string
	fabric                v1alpha1.Fabric
}

// stock counts the devices of a cluster and which of them are free.
type stock struct {
	products map[string]*productStock
	before   map[islandKey]int                          // free devices
	after    map[islandKey]int                          // what placements left of them
	islands  map[string]map[v1alpha1.DeviceID]islandKey // by node
}

func newStock(nodes []fleet.Node) *stock {
	s := &stock{products: map[string]*productStock{}, before: map[islandKey]int{}, islands: map[string]map[v1alpha1.DeviceID]islandKey{}}
	for i := range nodes {
		s.add(&nodes[i])
	}
	s.after = maps.Clone(s.before)
	return s
}

func (s *stock) add(n *fleet.Node) {
	status := &n.Inventory.Status
	held := map[v1alpha1.DeviceID]bool{}
	for _, a := range status.Allocations {
		held[a.Device] = true
	}
	seen := map[string]bool{}
	islands := make(map[v1alpha1.DeviceID]islandKey, len(status.Devices))
	for i := range status.Devices {
		d := &status.Devices[i]
		p := s.products[d.Product]
		if p == nil {
			p = &productStock{Product: d.Product}
			s.products[d.Product] = p
		}
		if !seen[d.Product] {
			seen[d.Product] = true
			p.Nodes++
		}
		p.Devices++
		islands[d.ID] = islandOf(n, d)
		if !n.Unschedulable && !held[d.ID] && d.Usable() {
			p.FreeBefore++
			p.FreeAfter++
			s.before[islands[d.ID]]++
		}
	}
	s.islands[n.Name] = islands
}

// islandOf is the island of a device: a synthetic node has at most one link domain, which has all its devices.
func islandOf(n *fleet.Node, d *v1alpha1.Device) islandKey {
	for _, domain := range n.Inventory.Status.Links.Domains {
		switch {
		case !slices.Contains(domain.Members, d.ID):
		case domain.Fabric != nil:
			return islandKey{product: d.Product, fabric: *domain.Fabric}
		default:
			return islandKey{product: d.Product, node: n.Name, domain: domain.Name}
		}
	}
	return islandKey{product: d.Product, node: n.Name}
}

// take counts the devices of a plan out and returns how many of each product they are.
func (s *stock) take(spec *v1alpha1.ShardingPlanSpec) map[string]int {
	taken := map[string]int{}
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		for _, id := range row.Devices {
			island := s.islands[row.Node][id]
			taken[island.product]++
			s.after[island]--
			s.products[island.product].FreeAfter--
		}
	}
	return taken
}

// list is the stock by product, with what is stranded for tensor groups of a width.
func (s *stock) list(tensor int) []productStock {
	before, after := stranded(s.before, tensor), stranded(s.after, tensor)
	list := make([]productStock, 0, len(s.products))
	for p := range maps.Values(s.products) {
		p.StrandedBefore, p.StrandedAfter = before[p.Product], after[p.Product]
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b productStock) int { return cmp.Compare(a.Product, b.Product) })
	return list
}

// stranded counts by product the free devices of islands that have too few for a tensor group.
func stranded(free map[islandKey]int, tensor int) map[string]int {
	sums := map[string]int{}
	for island, n := range free {
		if n < tensor {
			sums[island.product] += n
		}
	}
	return sums
}
