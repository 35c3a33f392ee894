package plan

import (
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/pipeline"
)

// seconds returns how long a device of each class takes for a run of layers in a step of decoding; nil in training, and
// where the rates of a class are not known.
func (a *attempt) seconds(c *candidate) func(class int32, first, end int) float64 {
	if a.task.workload.Training != nil {
		return nil
	}
	times := map[int32]*cost.StageTimes{}
	for _, kind := range c.lane.pool.kinds {
		part := &c.lane.pool.parts[kind[0]]
		class := part.class
		f := &a.task.classes[class].facts
		if !f.judged {
			return nil
		}
		if times[class] == nil {
			rates := f.device(part.wires, c.tensor)
			q := a.query(c, &rates)
			times[class] = cost.NewStageTimes(&q, a.constants(&rates))
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
		k := stageKind{w.task.cluster.Device(g.devices[0]).Class, g.capacity}
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
	counts := make([]int, len(kinds))
	for i := range of {
		counts[i] = len(of[i])
	}
	division, err := pipeline.Split(pipeline.Chain{
		Layers: w.prints.layers, Devices: counts, MaxStages: len(groups),
		Seconds: func(kind, first, end int) float64 {
			if w.prints.bytes(first, end) > kinds[kind].capacity {
				return math.Inf(1)
			}
			return w.seconds(kinds[kind].class, first, end)
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
