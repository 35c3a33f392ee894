package plan

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Constants of the roofline, uncalibrated. Sources: decode reaches 0.78 to 0.88 of a device's bandwidth and prefill 0.71
// to 0.76 of its FLOPS in Vidur's profiles of GEMMs, of which attention and the rest of a step take their share; an
// all-reduce of a decode step takes about 12 us on NVLink, a transfer between stages about 10 us.
const (
	bandwidthShare   = 0.8
	flopsShare       = 0.6
	trainingShare    = 0.4
	allReduceSeconds = 12e-6
	transferSeconds  = 10e-6
	estimateBasis    = "roofline, not calibrated"
)

// estimate computes what a solution should deliver: in decoding every stage reads its weights and cache once a step, in
// prefill it computes 2 operations for each active weight and token. It is nil where the devices' peak rates are not
// known.
func (t *task) estimate(s *solution) *v1alpha1.Estimate {
	bandwidth, flops := t.cluster.slowest(s)
	if bandwidth <= 0 || flops <= 0 {
		return nil
	}
	active := float64(t.model.ActiveParameters())
	if t.workload.Training != nil {
		devices := float64(len(s.instances) * s.devices())
		return &v1alpha1.Estimate{TokensPerSecond: whole(devices * flops * trainingShare / (6 * max(1, active))), Basis: estimateBasis}
	}
	in := t.workload.Inference
	input, output := int64(in.MaxModelLen)/2, int64(in.MaxModelLen)/2
	if in.InputTokens != nil {
		input = int64(*in.InputTokens)
	}
	if in.OutputTokens != nil {
		output = int64(*in.OutputTokens)
	}
	input = max(1, input)
	batch := sequences(in)
	micro := (batch + int64(s.stages) - 1) / int64(s.stages)
	context := float64(min(input+output/2, int64(in.MaxModelLen))) / float64(in.MaxModelLen)
	step, start := 0.0, 0
	for _, end := range s.ends {
		u := s.prints.use(start, end)
		read := float64(u.WeightsBytes)*t.touched(micro) + float64(u.KVCacheBytes)*context*float64(micro)/float64(batch)
		step += read / (bandwidth * bandwidthShare)
		if s.tensor > 1 {
			step += 2 * float64(end-start) * allReduceSeconds
		}
		if end < s.prints.layers {
			step += transferSeconds
		}
		start = end
	}
	prefill := 2 * active * float64(input) / (float64(s.tensor) * flops * flopsShare)
	return &v1alpha1.Estimate{
		TokensPerSecond: whole(float64(batch) * float64(len(s.instances)) / step),
		TTFTMillis:      whole((prefill + step) * 1e3),
		TPOTMicros:      whole(step * 1e6),
		Basis:           estimateBasis,
	}
}

// touched is the share of the weights that a step of some tokens reads: all of a dense model, of a mixture the experts
// that at least one token visits.
func (t *task) touched(tokens int64) float64 {
	moe := t.model.Architecture.MoE
	if moe == nil {
		return 1
	}
	visited := 1 - math.Pow(1-float64(moe.ActiveExperts)/float64(max(1, moe.Experts)), float64(tokens))
	active := float64(t.model.ActiveParameters()) / float64(max(1, t.model.Parameters()))
	return min(1, max(active, visited))
}

// slowest is the least bandwidth in bytes per second and the least rate in FLOPS of a solution's devices; 0 where one of
// them is not known. Weights that the device cannot compute with are expanded to 16 bits.
func (c *Cluster) slowest(s *solution) (bandwidth, flops float64) {
	bandwidth, flops = math.Inf(1), math.Inf(1)
	for _, instance := range s.instances {
		for _, stage := range instance {
			for _, at := range stage {
				cl := &c.classes[c.device(at).class]
				rate := cl.rate(s.format)
				if rate == 0 {
					rate = max(cl.rate(v1alpha1.BF16), cl.rate(v1alpha1.FP16))
				}
				bandwidth, flops = min(bandwidth, float64(cl.bandwidth)*1e6), min(flops, float64(rate)*1e9)
			}
		}
	}
	return bandwidth, flops
}

// whole rounds to an integer that fits the API.
func whole(x float64) int64 { return int64(math.Round(min(max(x, 0), 1e15))) }
