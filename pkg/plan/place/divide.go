package place

import (
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/pipeline"
	"github.com/rankwright/rankwright/pkg/shape"
)

// stageTime is how many seconds a device of a class takes for a run of layers in a step of decoding.
type stageTime func(class int32, first, end int) float64

// seconds returns the times of a candidate's stages; nil in training, and where the rates of a class are not known.
func seconds(c *shape.Candidate) stageTime {
	a := c.Tier
	if a.Problem.Workload.Training != nil {
		return nil
	}
	times := map[int32]*cost.StageTimes{}
	for _, kind := range c.Flavor.Pool.Kinds {
		part := &c.Flavor.Pool.Parts[kind[0]]
		class := part.Class
		f := &a.Problem.Classes[class].Facts
		if !f.Judged {
			return nil
		}
		if times[class] == nil {
			rates := f.Device(part.Wires, c.Tensor)
			q := a.Query(c, &rates)
			times[class] = cost.NewStageTimes(&q, a.Constants(&rates))
		}
	}
	return func(class int32, first, end int) float64 { return times[class].Seconds(first, end) }
}

// stageKind is a kind of tensor group in the division of a pipeline.
type stageKind struct {
	class    int32
	capacity int64
}

// fitByTime orders groups of several classes and divides the layers so that the slowest stage is as fast as possible. It
// returns nil where no division uses all groups, or where there are too many to look at.
func (w *placer) fitByTime(groups []group) *chain {
	if w.seconds == nil {
		return nil
	}
	var kinds []stageKind
	var of [][]int // groups by kind
	for i, g := range groups {
		k := stageKind{w.problem.Cluster.Device(g.devices[0]).Class, g.capacity}
		at := slices.Index(kinds, k)
		if at < 0 {
			at = len(kinds)
			kinds, of = append(kinds, k), append(of, nil)
		}
		of[at] = append(of[at], i)
	}
	if len(kinds) < 2 {
		return nil
	}
	seconds := w.seconds()
	if seconds == nil {
		return nil
	}
	counts := make([]int, len(kinds))
	for i := range of {
		counts[i] = len(of[i])
	}
	division, err := pipeline.Split(pipeline.Chain{
		Layers: w.footprint.Layers, Devices: counts, MaxStages: len(groups),
		Seconds: func(kind, first, end int) float64 {
			if w.footprint.Bytes(first, end) > kinds[kind].capacity {
				return math.Inf(1)
			}
			return seconds(kinds[kind].class, first, end)
		},
	})
	if err != nil || len(division.Stages) != len(groups) {
		return nil
	}
	found := &chain{}
	for _, s := range division.Stages {
		found.groups = append(found.groups, groups[of[s.Class][0]])
		found.ends = append(found.ends, s.End)
		of[s.Class] = of[s.Class][1:]
	}
	return found
}
