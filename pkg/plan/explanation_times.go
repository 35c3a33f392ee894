package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/cost"
)

// Times is the arithmetic of what one copy delivers. Exactly one of Serving and Training is set.
type Times struct {
	// Family names the calibrated constants, Basis says what they rest on.
	Family cost.Family
	Basis  cost.Basis
	// Product is the device that the times are computed for; Bandwidth and Link are its peaks in bytes per second.
	Product         string
	Bandwidth, Link float64
	Constants       cost.Constants
	Query           *cost.Query
	Serving         *cost.Breakdown
	Estimate        *cost.Estimate
	Job             *cost.Training
	Training        *cost.TrainingBreakdown
	Step            *cost.Range
	// MicroUSDPerHour is the price of a device in millionths of a US dollar an hour, from the source that PriceBasis
	// names; 0 where it is not known.
	MicroUSDPerHour int64
	PriceBasis      string
}

// times explains what a copy of a portion delivers; nil where rates are not known.
func (e *explainer) times(p *portion) (*Times, error) {
	t := e.task
	c := &candidate{shape: p.shape, prints: p.prints, ends: p.ends, lane: t.laneOf(p), inside: t.insideOf(p)}
	class := t.classes[c.lane.class]
	if !class.facts.judged {
		return nil, nil
	}
	rates := class.facts.device(c.lane.wires, p.tensor)
	estimator := e.rated(&rates).estimator
	made := &Times{
		Family:  e.family(&rates),
		Product: class.Name(), Bandwidth: rates.Bandwidth, Link: rates.Link, Constants: *estimator.Constants(),
	}
	if t.workload.Training != nil {
		made.Job = e.trainingOf(c, &rates)
		if err := made.Job.Check(); err != nil {
			return nil, fmt.Errorf("estimate: %w", err)
		}
		broken := made.Job.Break(&made.Constants)
		step, basis := estimator.Train(made.Job)
		made.Training, made.Step, made.Basis = &broken, &step, basis
		return made, nil
	}
	query := e.query(c, &rates)
	made.Query = &query
	if p.stages > 1 {
		if made.Query.Stages = e.stages(p); made.Query.Stages == nil {
			return nil, nil
		}
	}
	if err := made.Query.Check(); err != nil {
		return nil, fmt.Errorf("estimate: %w", err)
	}
	broken, estimate := cost.Break(made.Query, &made.Constants), estimator.Serve(made.Query)
	made.Serving, made.Estimate, made.Basis = &broken, &estimate, estimate.Basis
	if hour, ok := t.prices(class.Product); ok {
		made.MicroUSDPerHour = hour.MicroUSDPerHour
		made.PriceBasis = fmt.Sprintf("%s, %s", hour.Instance, hour.Date)
	}
	return made, nil
}
