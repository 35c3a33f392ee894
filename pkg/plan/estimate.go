package plan

import (
	"cmp"
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// estimate is what a solution should deliver over all copies, with the range in which a measurement is expected; nil where
// the devices' rates are not known.
func estimate(t *shape.Problem, s *search.Solution) *v1alpha1.Estimate {
	var sum v1alpha1.Estimate
	for i := range s.Portions {
		one := estimateOf(t, s, &s.Portions[i])
		if one == nil {
			return nil
		}
		sum = together(sum, *one)
	}
	sum.LoadSeconds = loading(t, s)
	return &sum
}

// together returns the estimate of two portions that run side by side: the sum of their tokens, and the times of the
// slower portion.
func together(a, b v1alpha1.Estimate) v1alpha1.Estimate {
	sum := b
	sum.TokensPerSecond.Value += a.TokensPerSecond.Value
	sum.TokensPerSecond.Low += a.TokensPerSecond.Low
	sum.TokensPerSecond.High += a.TokensPerSecond.High
	if a.TPOTMicros.Value > b.TPOTMicros.Value {
		sum.TTFTMillis, sum.TPOTMicros = a.TTFTMillis, a.TPOTMicros
	}
	if a.StepMillis.Value > b.StepMillis.Value {
		sum.StepMillis = a.StepMillis
	}
	sum.MicroUSDPerMillionTokens, sum.PriceBasis = priceTogether(&a, &b)
	sum.Uncalibrated = uncalibratedTogether(&a, &b)
	return sum
}

// uncalibratedTogether is what two portions would be estimated to deliver without the site's measurements; nil where these changed neither.
func uncalibratedTogether(a, b *v1alpha1.Estimate) *v1alpha1.UncalibratedEstimate {
	if a.Uncalibrated == nil && b.Uncalibrated == nil {
		return nil
	}
	of := func(e *v1alpha1.Estimate) v1alpha1.Estimate {
		if u := e.Uncalibrated; u != nil {
			return v1alpha1.Estimate{TokensPerSecond: u.TokensPerSecond, TTFTMillis: u.TTFTMillis, TPOTMicros: u.TPOTMicros}
		}
		return v1alpha1.Estimate{TokensPerSecond: e.TokensPerSecond, TTFTMillis: e.TTFTMillis, TPOTMicros: e.TPOTMicros}
	}
	sum := together(of(a), of(b))
	return &v1alpha1.UncalibratedEstimate{
		TokensPerSecond: sum.TokensPerSecond, TTFTMillis: sum.TTFTMillis, TPOTMicros: sum.TPOTMicros,
		Source: cmp.Or(b.Uncalibrated, a.Uncalibrated).Source,
	}
}

// priceTogether is the mean price of a million tokens of two portions, each counted by its tokens; 0 where one is not known.
func priceTogether(a, b *v1alpha1.Estimate) (micro int64, basis string) {
	switch {
	case a.TokensPerSecond.Value == 0:
		return b.MicroUSDPerMillionTokens, b.PriceBasis
	case a.MicroUSDPerMillionTokens == 0 || b.MicroUSDPerMillionTokens == 0:
		return 0, ""
	}
	of := func(e *v1alpha1.Estimate) float64 {
		return float64(e.MicroUSDPerMillionTokens) * float64(e.TokensPerSecond.Value)
	}
	micro, basis = shape.Rounded((of(a)+of(b))/float64(a.TokensPerSecond.Value+b.TokensPerSecond.Value)), a.PriceBasis
	if b.PriceBasis != basis {
		basis += "; " + b.PriceBasis
	}
	return micro, words.Shorten(basis, 256)
}

func estimateOf(t *shape.Problem, s *search.Solution, p *search.Portion) *v1alpha1.Estimate {
	a := s.Tier
	c := &shape.Candidate{Shape: p.Shape, Footprint: p.Footprint, Ends: p.Ends, Flavor: search.FlavorOf(t, p), Inside: search.InsideOf(t, p)}
	a.Crowd(c, func(stage int) int64 { return search.LeastOffer(t, p, stage) })
	class := t.Classes[c.Flavor.Class]
	f := &class.Facts
	if !f.Judged {
		return nil
	}
	rates := f.Device(c.Flavor.Wires, p.Tensor)
	device := &rates
	e := a.Estimator(device)
	copies := float64(p.Copies())
	if w := t.Workload.Training; w != nil {
		step, basis := e.Train(a.TrainingOf(c, device))
		tokens := float64(w.GlobalBatch) * float64(w.SequenceLength) * copies
		return &v1alpha1.Estimate{
			TokensPerSecond: expected(cost.Range{Value: 1 / step.Value, Low: 1 / step.High, High: 1 / step.Low}, tokens),
			StepMillis:      expected(step, 1e3),
			Basis:           basis.String(),
		}
	}
	q := a.Query(c, device)
	var out cost.Estimate
	if search.OneKind(t, p) {
		out = e.Around(&q, a.Times(c, device)) // as it was ranked
	} else {
		if q.Stages = search.Stages(a, p); q.Stages == nil {
			return nil
		}
		out = e.Serve(&q)
	}
	made := v1alpha1.Estimate{
		TokensPerSecond: expected(out.OutputTokensPerSecond, copies),
		TTFTMillis:      expected(out.TTFT, 1e3),
		TPOTMicros:      expected(out.TPOT, 1e6),
		Basis:           basis(out.Basis, &q),
	}
	if without := out.Without; without != nil {
		made.Uncalibrated = &v1alpha1.UncalibratedEstimate{
			TokensPerSecond: expected(without.OutputTokensPerSecond, copies), TTFTMillis: expected(without.TTFT, 1e3), TPOTMicros: expected(without.TPOT, 1e6),
			Source: out.Source,
		}
	}
	if hour, ok := t.Price(c.Flavor.Class); ok && out.OutputTokensPerSecond.Value > 0 {
		made.MicroUSDPerMillionTokens = shape.Rounded(float64(hour.MicroUSDPerHour) * float64(c.Total()) / 3600 / out.OutputTokensPerSecond.Value * 1e6)
		text := make(words.Wording, 0, 256).Fixed(float64(hour.MicroUSDPerHour)/1e6, 2)
		made.PriceBasis = words.Shorten(text.Text(" USD an hour and device: ").Text(hour.Instance).Text(", ").Text(hour.Date).String(), 256)
	}
	return &made
}

// expected counts a range in a unit of which one has so many.
func expected(r cost.Range, units float64) v1alpha1.Expected {
	return v1alpha1.Expected{Value: shape.Rounded(r.Value * units), Low: shape.Rounded(r.Low * units), High: shape.Rounded(r.High * units)}
}

// loading is how many seconds the slowest node takes to load its weights: each node reads what its devices hold, once and
// no more than the model; 0 where no node says how fast it reads.
func loading(t *shape.Problem, s *search.Solution) int64 {
	c := t.Cluster
	all := t.Model.WeightBytes(s.Tier.Weights)
	type load struct {
		node, device int64
		at           int32
	}
	loads := map[*fleet.NodeEntry]*load{}
	for i := range s.Portions {
		p := &s.Portions[i]
		for _, instance := range p.Instances {
			first := 0
			for stage, devices := range instance {
				weights := p.Footprint.PerDevice(first, p.Ends[stage]).WeightsBytes
				for _, at := range devices {
					l := loads[c.NodeOf(at)]
					if l == nil {
						l = &load{at: at}
						loads[c.NodeOf(at)] = l
					}
					l.node, l.device = min(all, l.node+weights), max(l.device, weights)
				}
				first = p.Ends[stage]
			}
		}
	}
	slowest := 0.0
	for n, l := range loads {
		d := c.Device(l.at)
		w := &n.Islands[d.Island].Wires
		if w.Source == 0 {
			return 0
		}
		slowest = max(slowest, cost.Loading{
			NodeBytes: float64(l.node), DeviceBytes: float64(l.device), Storage: float64(w.Source), HostLink: t.Classes[d.Class].Facts.HostLink,
		}.Seconds())
	}
	return int64(math.Ceil(slowest))
}

// basis says what the numbers rest on, and at how many requests they hold.
func basis(b cost.Basis, q *cost.Query) string {
	text := make(words.Wording, 0, 256).Text(b.String()).Text("; ").Counted(int(q.Workload.Clients), "request").Text(" at once in a copy, ")
	text = text.Counted(int(q.Workload.Input), "token").Text(" in and ").Counted(int(q.Workload.Output), "token").Text(" out")
	return words.Shorten(text.String(), 256)
}
