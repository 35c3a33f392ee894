package mesh

// LayOut puts devices on the ranks of a mesh so that its groups along some dimensions, the ones that talk most, are blocks
// of arrange: as many of them as can be lie in one link domain, else on one node, else in one fabric. Where those are the
// fastest dimensions of the order, consecutive ranks get consecutive devices. Without dimensions no groups are preferred.
// It refuses what Groups and NewLayout refuse.
func LayOut(m *Mesh, seats []Seat, hosts Hosts, along ...string) (*Layout, error) {
	groups := [][]int32{m.World()}
	inner := 1
	if len(along) > 0 {
		var err error
		if groups, err = m.Groups(along...); err != nil {
			return nil, err
		}
		inner = len(groups[0])
	}
	arranged, err := arrange(seats, hosts, inner)
	if err != nil {
		return nil, err
	}
	if len(arranged) != m.world {
		return NewLayout(m, arranged)
	}
	dealt := make([]Seat, m.world)
	next := 0
	for _, group := range groups {
		for _, rank := range group {
			dealt[rank] = arranged[next]
			next++
		}
	}
	return NewLayout(m, dealt)
}
