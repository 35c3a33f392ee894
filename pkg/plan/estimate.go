package plan

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// estimate is what a solution should deliver over all copies, with the range in which a measurement is expected; nil where
// the devices' rates are not known.
func (t *task) estimate(s *solution) *v1alpha1.Estimate {
	var sum v1alpha1.Estimate
	for i := range s.portions {
		one := t.estimateOf(s, &s.portions[i])
		if one == nil {
			return nil
		}
		sum = together(sum, *one)
	}
	sum.LoadSeconds = t.loading(s)
	return &sum
}

// together returns the estimate of two portions that run side by side: the sum of their tokens, and the times of the
// slower portion.
func together(a, b v1alpha1.Estimate) v1alpha1.Estimate {
	sum := b
	sum.TokensPerSecond += a.TokensPerSecond
	sum.TokensPerSecondLow += a.TokensPerSecondLow
	sum.TokensPerSecondHigh += a.TokensPerSecondHigh
	if a.TPOTMicros > b.TPOTMicros {
		sum.TTFTMillis, sum.TTFTMillisLow, sum.TTFTMillisHigh = a.TTFTMillis, a.TTFTMillisLow, a.TTFTMillisHigh
		sum.TPOTMicros, sum.TPOTMicrosLow, sum.TPOTMicrosHigh = a.TPOTMicros, a.TPOTMicrosLow, a.TPOTMicrosHigh
	}
	if a.StepMillis > b.StepMillis {
		sum.StepMillis, sum.StepMillisLow, sum.StepMillisHigh = a.StepMillis, a.StepMillisLow, a.StepMillisHigh
	}
	sum.MicroUSDPerMillionTokens, sum.PriceBasis = priceTogether(&a, &b)
	return sum
}

// priceTogether is the mean price of a million tokens of two portions, each counted by its tokens; 0 where one is not known.
func priceTogether(a, b *v1alpha1.Estimate) (micro int64, basis string) {
	switch {
	case a.TokensPerSecond == 0:
		return b.MicroUSDPerMillionTokens, b.PriceBasis
	case a.MicroUSDPerMillionTokens == 0 || b.MicroUSDPerMillionTokens == 0:
		return 0, ""
	}
	of := func(e *v1alpha1.Estimate) float64 {
		return float64(e.MicroUSDPerMillionTokens) * float64(e.TokensPerSecond)
	}
	micro, basis = whole((of(a)+of(b))/float64(a.TokensPerSecond+b.TokensPerSecond)), a.PriceBasis
	if b.PriceBasis != basis {
		basis += "; " + b.PriceBasis
	}
	return micro, words.Shorten(basis, 256)
}

func (t *task) estimateOf(s *solution, p *portion) *v1alpha1.Estimate {
	a := s.attempt
	c := &candidate{shape: p.shape, prints: p.prints, ends: p.ends, lane: t.laneOf(p), inside: t.insideOf(p)}
	class := t.classes[c.lane.class]
	f := &class.facts
	if !f.judged {
		return nil
	}
	rates := f.device(c.lane.wires, p.tensor)
	device := &rates
	e := a.rated(device).estimator
	copies := float64(p.copies())
	if w := t.workload.Training; w != nil {
		step, basis := e.Train(a.trainingOf(c, device))
		tokens := float64(w.GlobalBatch) * float64(w.SequenceLength) * copies
		return &v1alpha1.Estimate{
			TokensPerSecond: whole(tokens / step.Value), TokensPerSecondLow: whole(tokens / step.High), TokensPerSecondHigh: whole(tokens / step.Low),
			StepMillis: whole(step.Value * 1e3), StepMillisLow: whole(step.Low * 1e3), StepMillisHigh: whole(step.High * 1e3),
			Basis: string(basis),
		}
	}
	q := a.query(c, device)
	if p.stages > 1 {
		if q.Stages = a.stages(p); q.Stages == nil {
			return nil
		}
	}
	out := a.delivers(c, &q, e)
	made := v1alpha1.Estimate{
		TokensPerSecond:     whole(out.OutputTokensPerSecond.Value * copies),
		TokensPerSecondLow:  whole(out.OutputTokensPerSecond.Low * copies),
		TokensPerSecondHigh: whole(out.OutputTokensPerSecond.High * copies),
		TTFTMillis:          whole(out.TTFT.Value * 1e3), TTFTMillisLow: whole(out.TTFT.Low * 1e3), TTFTMillisHigh: whole(out.TTFT.High * 1e3),
		TPOTMicros: whole(out.TPOT.Value * 1e6), TPOTMicrosLow: whole(out.TPOT.Low * 1e6), TPOTMicrosHigh: whole(out.TPOT.High * 1e6),
		Basis: t.basis(out.Basis, &q),
	}
	if hour, ok := t.price(c.lane.class); ok && out.OutputTokensPerSecond.Value > 0 {
		made.MicroUSDPerMillionTokens = whole(float64(hour.MicroUSDPerHour) * float64(c.total()) / 3600 / out.OutputTokensPerSecond.Value * 1e6)
		text := make(wording, 0, 256).fixed(float64(hour.MicroUSDPerHour)/1e6, 2)
		made.PriceBasis = words.Shorten(text.text(" USD an hour and device: ").text(hour.Instance).text(", ").text(hour.Date).String(), 256)
	}
	return &made
}

// delivers estimates a query of a candidate. Equal stages were judged already, so their times are not computed again.
func (a *attempt) delivers(c *candidate, q *cost.Query, e *cost.Estimator) cost.Estimate {
	if len(q.Stages) > 0 {
		return e.Serve(q)
	}
	return e.Around(q, a.serve(c, q.Device))
}

// loading is how many seconds the slowest node takes to load its weights: each node reads what its devices hold, once and
// no more than the model; 0 where no node says how fast it reads.
func (t *task) loading(s *solution) int64 {
	c := t.cluster
	all := t.model.WeightBytes(s.attempt.step.format)
	type load struct {
		node, device int64
		at           int32
	}
	loads := map[*fleet.NodeEntry]*load{}
	for i := range s.portions {
		p := &s.portions[i]
		for _, instance := range p.instances {
			first := 0
			for stage, devices := range instance {
				weights := p.prints.perDevice(first, p.ends[stage]).WeightsBytes
				for _, at := range devices {
					l := loads[c.NodeOf(at)]
					if l == nil {
						l = &load{at: at}
						loads[c.NodeOf(at)] = l
					}
					l.node, l.device = min(all, l.node+weights), max(l.device, weights)
				}
				first = p.ends[stage]
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
			NodeBytes: float64(l.node), DeviceBytes: float64(l.device), Storage: float64(w.Source), HostLink: t.classes[d.Class].facts.pcie,
		}.Seconds())
	}
	return int64(math.Ceil(slowest))
}

// basis says what the numbers rest on, and at how many requests they hold.
func (t *task) basis(b cost.Basis, q *cost.Query) string {
	text := make(wording, 0, 256).text(string(b)).text("; ").counted(int(q.Workload.Concurrency), "request").text(" at once in a copy, ")
	text = text.counted(int(q.Workload.Input), "token").text(" in and ").counted(int(q.Workload.Output), "token").text(" out")
	return words.Shorten(text.String(), 256)
}
