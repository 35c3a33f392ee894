package explain

import (
	"cmp"
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Next is the benchmark that would tell most about which of the two best shapes is better.
type Next struct {
	// Strategy and Product are the shape to measure, Other the one that it is compared with.
	Strategy, Product, Other string
	// Shape is that of the strategy, Weights and Cache the precisions.
	Shape          shape.Shape
	Weights, Cache v1alpha1.Precision
	// Model and Engine are what to serve, the model by its id on the hub where it has one, Input and Output the tokens of a request, Concurrency how many requests are in flight in a copy.
	Model                      string
	Engine                     v1alpha1.Engine
	Input, Output, Concurrency int64
	// Apart is how much better the taken shape is than the other one, as a factor less 1; Doubt is the factor less 1 by which that may be off now, and Left
	// what of it would be left.
	Apart, Doubt, Left float64
}

// rival is a shape with what it is expected to deliver.
type rival struct {
	*shape.Candidate
	estimator *cost.Estimator
	query     cost.Query
	figure    cost.Range
}

// next is the benchmark for the taken shape and the best other one whose times are known; nil where there are no two.
func (r *review) next() *Next {
	if r.Problem.Workload.Inference == nil || r.chosen < 0 {
		return nil
	}
	taken := r.rival(r.order[r.chosen])
	var other *rival
	for i := range r.order {
		if other == nil && i != r.chosen && !r.alsoTaken(r.order[i]) {
			other = r.rival(r.order[i])
		}
	}
	if taken == nil || other == nil {
		return nil
	}
	figure := cost.Rate
	if r.goal.Objective == v1alpha1.ObjectiveLatency {
		figure = cost.PerToken
	}
	agreement := taken.estimator.Agreement(&taken.query, other.estimator, &other.query, figure)
	now, withTaken, withOther := cost.Telling(taken.figure.Variance(), other.figure.Variance(), agreement)
	factor := func(variance float64) float64 { return math.Exp(cost.Deviations*math.Sqrt(variance)) - 1 }
	mine, others := r.value(taken.Candidate), r.value(other.Candidate)
	if !r.goal.More {
		mine, others = others, mine
	}
	tell, rest, left := taken, other, withTaken
	if withOther < withTaken {
		tell, rest, left = other, taken, withOther
	}
	stored, _ := r.Problem.Model.Stored(r.Weights)
	return &Next{
		Strategy: r.Problem.Summary(tell.Shape, 1), Product: r.Problem.Cluster.Class(tell.Flavor.Class).Name(), Other: r.Problem.Summary(rest.Shape, 1),
		Shape: tell.Shape, Weights: r.Weights, Cache: r.Cache, Model: cmp.Or(stored, r.Problem.Model.Checkpoint, r.Problem.Model.Name), Engine: r.Problem.Engine.Name, Input: r.goal.Input, Output: r.goal.Output, Concurrency: int64(tell.query.Workload.Clients),
		Apart: mine/others - 1, Doubt: factor(now), Left: factor(left),
	}
}

// rival is a candidate with the range of what shapes are compared by; nil where its times are not known.
func (r *review) rival(c *shape.Candidate) *rival {
	facts := &r.Problem.Classes[c.Flavor.Class].Facts
	if !c.Judged || !facts.Judged {
		return nil
	}
	device := facts.Device(c.Flavor.Wires, c.Tensor)
	e, q := r.Estimator(&device), r.Query(c, &device)
	estimate := e.Around(&q, r.Times(c, &device))
	figure := estimate.OutputTokensPerSecond
	if r.goal.Objective == v1alpha1.ObjectiveLatency {
		figure = estimate.TPOT
	}
	return &rival{c, e, q, figure}
}
