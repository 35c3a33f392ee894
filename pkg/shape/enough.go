package shape

// Enough says without a search which problems cannot fit: those for whose copies there is no room for what each of them holds at least
// whatever its shape, weights and cache once. It takes further free devices into account, so that one of a cluster does for all that
// differ from it by these.
type Enough struct {
	problem *Problem
	needs   []need // by format
}

// need is what copies hold in a format, and where there is room for them.
type need struct {
	format Format
	// held is the bytes of a copy; where the number of copies is open, of all of them together.
	held   int64
	copies int
	pools  map[string]*room // by vendor
}

// room is the free bytes of a vendor's devices.
type room struct {
	all   int64
	zones []zone // empty where a copy may be anywhere
	// copies is how many copies the zones may hold.
	copies int
}

// More is further free devices of a class that have so many bytes free each.
type More struct {
	Class     int32
	Devices   int
	FreeBytes int64
	// Zone is that of the problem's topology level; any number below 0 for one that the cluster does not have.
	Zone int32
}

// Enough returns what tells problems that cannot fit on the problem's cluster, or on one with more devices.
func (t *Problem) Enough() *Enough {
	e := &Enough{problem: t}
	for _, s := range t.Decisive() {
		if last := len(e.needs) - 1; last >= 0 && e.needs[last].format == s.Format {
			continue // whatever the limits of a step
		}
		n := need{format: s.Format, copies: t.Copies, pools: map[string]*room{}}
		if f := t.tier(s).Footprint(-1, Shape{Tensor: 1, Stages: 1, Data: 1, Expert: 1}); f != nil {
			n.held = f.Held()
		}
		if t.Open {
			n.held, n.copies = n.held*int64(t.Copies), 1
		}
		for _, p := range t.Match(s.Format, t.Require.Level).pools {
			r := &room{all: p.Free}
			if !t.Open && n.held > 0 {
				r.zones = p.Zones
			}
			for i := range r.zones {
				r.copies += int(r.zones[i].Free / n.held)
			}
			n.pools[p.Vendor] = r
		}
		e.needs = append(e.needs, n)
	}
	return e
}

// May says whether the problem may fit with further devices.
func (e *Enough) May(more ...More) bool {
	for i := range e.needs {
		if n := &e.needs[i]; n.held == 0 || e.hold(n, more) {
			return true
		}
	}
	return false
}

// hold says whether the devices of some vendor may hold all copies in a format.
func (e *Enough) hold(n *need, more []More) bool {
	further := map[string]map[int32]int64{} // bytes by vendor and zone
	for vendor := range n.pools {
		further[vendor] = nil
	}
	for _, m := range more {
		if !e.problem.suits(n.format, int(m.Class)) {
			continue
		}
		vendor := e.problem.Cluster.Class(m.Class).Vendor
		if further[vendor] == nil {
			further[vendor] = map[int32]int64{}
		}
		further[vendor][m.Zone] += int64(m.Devices) * e.problem.Offer(m.Class, m.FreeBytes)
	}
	for vendor, zones := range further {
		r := n.pools[vendor]
		if r == nil {
			r = &room{}
		}
		if r.mayHold(n, zones, e.problem.Require.Level != "" && !e.problem.Open) {
			return true
		}
	}
	return false
}

// mayHold says whether there is room for all copies with further bytes in some zones; each copy within one where they are apart.
func (r *room) mayHold(n *need, further map[int32]int64, apart bool) bool {
	all, copies := r.all, r.copies
	for zone, free := range further {
		was := int64(0)
		if apart && zone >= 0 && int(zone) < len(r.zones) {
			was = r.zones[zone].Free
		}
		all, copies = all+free, copies+int((was+free)/n.held-was/n.held)
	}
	return all/int64(n.copies) >= n.held && (!apart || copies >= n.copies)
}

// ZoneOf returns the zone of a node at the required topology level; 0 where none is required.
func (t *Problem) ZoneOf(node int32) int32 {
	if t.Require.Level == "" {
		return 0
	}
	return t.Cluster.Level(t.Require.Level).Zones[node]
}
