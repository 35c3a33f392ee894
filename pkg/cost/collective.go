package cost

import "math"

// link is the bandwidth that collectives reach between the ranks of a stage, in bytes per second.
func (s *stepper) link() float64 {
	share := s.c[LinkShare]
	if s.d.HostLink {
		share = s.c[HostLinkShare]
	}
	return max(1, s.d.Link*share)
}

// start is the time before the first byte of a collective over some ranks.
func (s *stepper) start(ranks float64) float64 {
	latency := s.c[ReduceSeconds]
	if s.d.HostLink {
		latency = s.c[HostReduceSeconds]
	}
	return latency * math.Log2(ranks)
}

// collect is the collectives of a step's layers: two all-reduces over tensor ranks a layer; with attention data
// parallel a mixture gathers the tokens of all groups and scatters the results, in 16 bits.
func (s *stepper) collect(local, total float64) float64 {
	t := 0.0
	if s.tensor > 1 {
		sent := 2 * (s.tensor - 1) / s.tensor * local * s.p.hidden * 2
		t += 2 * s.p.layers * (s.start(s.tensor) + sent/s.link())
	}
	if s.data > 1 {
		sent := (s.data - 1) / s.data * total * s.p.hidden * 2 / s.tensor
		if s.expert > 1 { // only tokens that visit a rank's experts go there
			visits := 1 - math.Pow(1-1/s.data, s.p.experts.active)
			sent *= visits
		}
		t += 2 * s.p.experts.layers * (s.start(s.data) + sent/s.link())
	}
	return t
}
