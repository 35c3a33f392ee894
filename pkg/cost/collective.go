package cost

// collect returns the time of the collectives of a layer: two all-reduces over tensor ranks.
func (s *stepper) collect(local float64) float64 {
	if s.tensor <= 1 {
		return 0
	}
	sent := 2 * (s.tensor - 1) / s.tensor * local * s.p.hidden * 2
	return 2 * (s.tensorStart + sent/s.link)
}

// exchange returns what a mixture takes in addition under attention data parallelism: it gathers the tokens of all groups
// and scatters the results, in 16 bits. With whole experts on a rank, only tokens that visit one of them are sent there.
func (s *stepper) exchange(total float64) float64 {
	if s.data <= 1 {
		return 0
	}
	sent := (s.data - 1) / s.data * total * s.p.hidden * 2 / s.tensor * s.visits
	return 2 * (s.dataStart + sent/s.link)
}
