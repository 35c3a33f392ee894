package explain

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Times is the arithmetic of what one copy delivers. Exactly one of Serving and Training is set.
type Times struct {
	// Family names the calibrated constants, Basis says what the times rest on, and Beyond which degree or link was not measured.
	Family cost.Family
	Basis  cost.Basis
	Beyond string
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
func (e *explainer) times(p *search.Portion) (*Times, error) {
	t := e.Problem
	c := &shape.Candidate{Shape: p.Shape, Footprint: p.Footprint, Ends: p.Ends, Flavor: search.FlavorOf(t, p), Inside: search.InsideOf(t, p)}
	e.Crowd(c, func(stage int) int64 { return search.LeastOffer(t, p, stage) })
	class := t.Classes[c.Flavor.Class]
	if !class.Facts.Judged {
		return nil, nil
	}
	rates := class.Facts.Device(c.Flavor.Wires, p.Tensor)
	estimator := e.Estimator(&rates)
	made := &Times{
		Family:  e.Family(&rates),
		Product: class.Name(), Bandwidth: rates.Bandwidth, Link: rates.Link, Constants: *estimator.Constants(),
	}
	if t.Workload.Training != nil {
		made.Job = e.TrainingOf(c, &rates)
		if err := made.Job.Check(); err != nil {
			return nil, fmt.Errorf("estimate: %w", err)
		}
		broken := made.Job.Break(estimator.TrainingConstants())
		step, basis := estimator.Train(made.Job)
		made.Training, made.Step, made.Basis, made.Beyond = &broken, &step, basis, estimator.BeyondTraining(made.Job)
		return made, nil
	}
	query := e.Query(c, &rates)
	made.Query = &query
	if !search.OneKind(t, p) {
		if made.Query.Stages = search.Stages(e.Tier, p); made.Query.Stages == nil {
			return nil, nil
		}
	}
	if err := made.Query.Check(); err != nil {
		return nil, fmt.Errorf("estimate: %w", err)
	}
	*made.Query = estimator.Corrected(made.Query)
	broken, estimate := cost.Break(made.Query, &made.Constants), estimator.Serve(made.Query)
	made.Serving, made.Estimate, made.Basis, made.Beyond = &broken, &estimate, estimate.Basis, estimator.Beyond(made.Query)
	if hour, ok := t.Price(c.Flavor.Class); ok {
		made.MicroUSDPerHour = hour.MicroUSDPerHour
		made.PriceBasis = fmt.Sprintf("%s, %s", hour.Instance, hour.Date)
	}
	return made, nil
}
