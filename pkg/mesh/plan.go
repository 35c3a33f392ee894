package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Bounds of the explicit lists in a DeviceMesh.
const (
	maxListedRanks   = 512
	maxMemberDevices = 1024
)

// seat is who sits on a rank.
type seat struct {
	node   string
	device v1alpha1.DeviceID
}

// FromPlan numbers the devices of a plan in the order of its engine and lists their process groups: world, tp, pp, dp,
// and cp and ep where they are above 1. addresses are the nodes' addresses by name; a node may lack one. It refuses a plan
// that leaves a rank of a copy without a device, gives a rank or a device twice, mixes vendors in a copy, or names a place
// outside of its own degrees.
func FromPlan(planName string, plan *v1alpha1.ShardingPlanSpec, addresses map[string]string) (*v1alpha1.DeviceMeshSpec, error) {
	m, err := forStrategy(plan.Engine, plan.Strategy)
	if err != nil {
		return nil, fmt.Errorf("mesh of plan %s: %w", planName, err)
	}
	seats, err := seatsOf(m, plan)
	if err != nil {
		return nil, fmt.Errorf("mesh of plan %s: %w", planName, err)
	}
	library := libraryFor(seats[0][0].device)
	groups, err := processGroups(m, plan, library)
	if err != nil {
		return nil, fmt.Errorf("mesh of plan %s: %w", planName, err)
	}
	return &v1alpha1.DeviceMeshSpec{
		Placement:  plan.Placement,
		Plan:       planName,
		Engine:     plan.Engine,
		Order:      m.Order(),
		Dimensions: m.Dimensions(),
		Shape:      m.Shape(),
		WorldSize:  int32(m.WorldSize()),
		Replicas:   int32(len(seats)),
		Library:    library.name,
		Members:    membersOf(seats, addresses),
		Groups:     groups,
	}, nil
}

// forStrategy is the mesh of one copy. Experts have no dimension of their own: they reuse ranks of the others.
func forStrategy(engine v1alpha1.Engine, s v1alpha1.Strategy) (*Mesh, error) {
	order, err := orderFor(engine, int(s.Context))
	if err != nil {
		return nil, err
	}
	return New(order, map[string]int{"tp": int(s.Tensor), "pp": int(s.Pipeline), "dp": int(s.Data), "cp": int(s.Context)})
}

// seatsOf gives every rank of every copy its device. A plan's rows have no context rank: where context parallelism is
// above 1 their tensor rank counts on through the context ranks, tensor first, as all orders have it.
func seatsOf(m *Mesh, plan *v1alpha1.ShardingPlanSpec) ([][]seat, error) {
	s := plan.Strategy
	if s.Replicas < 1 {
		return nil, fmt.Errorf("strategy.replicas is %d: it must be at least 1", s.Replicas)
	}
	if total := int(s.Replicas) * m.WorldSize(); total > MaxWorldSize {
		return nil, fmt.Errorf("%d copies of %d ranks are more than %d", s.Replicas, m.WorldSize(), MaxWorldSize)
	}
	seats := make([][]seat, s.Replicas)
	for i := range seats {
		seats[i] = make([]seat, m.WorldSize())
	}
	holders := map[seat]bool{}
	for i := range plan.Nodes {
		row := &plan.Nodes[i]
		if row.Replica < 0 || row.Replica >= s.Replicas {
			return nil, fmt.Errorf("nodes[%d].replica is %d: the plan has copies 0 to %d", i, row.Replica, s.Replicas-1)
		}
		for j, device := range row.Devices {
			rank, err := rankOf(m, s, row, j)
			if err != nil {
				return nil, fmt.Errorf("nodes[%d].devices[%d]: %w", i, j, err)
			}
			taken, here := &seats[row.Replica][rank], seat{row.Node, device}
			if taken.device != "" {
				return nil, fmt.Errorf("nodes[%d].devices[%d]: rank %d of copy %d has two devices, %s on %s and %s on %s", i, j, rank, row.Replica,
					taken.device, taken.node, device, row.Node)
			}
			if holders[here] {
				return nil, fmt.Errorf("nodes[%d].devices[%d]: device %s on %s has two ranks", i, j, device, row.Node)
			}
			holders[here] = true
			*taken = here
		}
	}
	return seats, checkSeats(seats)
}

func rankOf(m *Mesh, s v1alpha1.Strategy, row *v1alpha1.PlanRow, index int) (int, error) {
	tensor := int(row.TensorRank) + index
	at := map[string]int{"tp": tensor % int(s.Tensor), "pp": int(row.Stage)}
	if context := tensor / int(s.Tensor); context > 0 {
		if context >= int(s.Context) {
			return 0, fmt.Errorf("tensor rank %d: the plan has tensor ranks 0 to %d", tensor, s.Tensor*s.Context-1)
		}
		at["cp"] = context
	}
	if row.Data > 0 {
		at["dp"] = int(row.Data)
	}
	return m.Rank(at)
}

// checkSeats says which rank lacks a device and which copy has devices of two vendors.
func checkSeats(seats [][]seat) error {
	vendor := seats[0][0].device.Vendor()
	for replica, copies := range seats {
		for rank, s := range copies {
			if s.device == "" {
				return fmt.Errorf("rank %d of copy %d has no device: every rank needs exactly one", rank, replica)
			}
			if s.device.Vendor() != vendor {
				return fmt.Errorf("rank %d of copy %d is a device of %s, others are of %s: vendors have no communication library in common", rank, replica,
					s.device.Vendor(), vendor)
			}
		}
	}
	return nil
}

// membersOf joins consecutive ranks of a copy on one node.
func membersOf(seats [][]seat, addresses map[string]string) []v1alpha1.MeshMember {
	var members []v1alpha1.MeshMember
	for replica, copies := range seats {
		for rank, s := range copies {
			if rank > 0 && copies[rank-1].node == s.node && len(members[len(members)-1].Devices) < maxMemberDevices {
				last := &members[len(members)-1]
				last.Devices = append(last.Devices, s.device)
				continue
			}
			members = append(members, v1alpha1.MeshMember{
				Node: s.node, Address: addresses[s.node], Replica: int32(replica), FirstRank: int32(rank), Devices: []v1alpha1.DeviceID{s.device},
			})
		}
	}
	return members
}

// processGroups are the groups of one copy. Where an expert group is only a part of the ranks that differ along its
// dimensions, its size says so and the ranks are needed to tell which.
func processGroups(m *Mesh, plan *v1alpha1.ShardingPlanSpec, library libraries) ([]v1alpha1.ProcessGroups, error) {
	groups := []v1alpha1.ProcessGroups{listed("world", m.names, [][]int32{m.World()}, library)}
	for _, name := range []string{"tp", "pp", "dp", "cp"} {
		at := m.index(name)
		if at < 0 || (name == "cp" && m.sizes[at] == 1) {
			continue
		}
		ranks, err := m.Groups(name)
		if err != nil {
			return nil, err
		}
		groups = append(groups, listed(name, []string{name}, ranks, library))
	}
	if expert := int(plan.Strategy.Expert); expert > 1 {
		ranks, over, err := m.ExpertGroups(plan.Engine, expert)
		if err != nil {
			return nil, err
		}
		groups = append(groups, listed("ep", over, ranks, library))
	}
	return groups, nil
}

func listed(name string, dimensions []string, ranks [][]int32, library libraries) v1alpha1.ProcessGroups {
	g := v1alpha1.ProcessGroups{
		Name: name, Dimensions: dimensions, Count: int32(len(ranks)), Size: int32(len(ranks[0])),
		Library: library.name, TorchBackend: library.torch,
	}
	if len(ranks)*len(ranks[0]) > maxListedRanks {
		return g
	}
	for _, r := range ranks {
		g.Ranks = append(g.Ranks, r)
	}
	return g
}
