package cost

import "math"

// collect returns the time of the collectives of a layer: two all-reduces over tensor ranks.
func (s *stepper) collect(local float64) float64 {
	if s.tensor <= 1 {
		return 0
	}
	sent := 2 * (s.tensor - 1) / s.tensor * local * s.p.hidden * 2
	return 2 * (s.tensorStart + sent/s.link)
}

// exchange returns what a mixture takes in addition under attention data parallelism: it gathers the tokens of all groups
// and scatters the results, in 16 bits. With whole experts on a rank, only tokens that visit one of them are sent there. A token crosses
// the network once for each island that it visits, by one of the ranks there, and reaches the others over their link at the same time,
// as DeepEP and NCCL do it.
func (s *stepper) exchange(total float64) float64 {
	if s.data <= 1 {
		return 0
	}
	sent := (s.data - 1) / s.data * total * s.p.hidden * 2 / s.tensor * s.visits
	if s.islands <= 1 {
		return 2 * (s.dataStart + sent/s.link)
	}
	crossed := (s.islands - 1) * total / s.ranks * s.p.hidden * 2 * s.crossings
	return 2 * (s.dataStart + soft(sent/s.link, crossed/s.network))
}

// merges is the number of collectives of merge.
const merges = 3

// merge returns what decoding takes in addition where tensor ranks share out the tokens of the cache: a layer gathers the queries of all of
// them, each in 16 bits, and how much the tokens of each count, and scatters the parts of the results. Source: vLLM 0.19,
// v1/attention/ops/common.py (cp_lse_ag_out_rs).
func (s *stepper) merge(sequences float64) float64 {
	if s.decode <= 1 || sequences == 0 {
		return 0
	}
	a := &s.p.attention
	sent := (s.decode - 1) * sequences * math.Ceil(a.heads/s.tensor) * (a.query + a.result) * 2
	return merges*s.decodeStart + sent/s.link
}
