package explain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Explanation is why a plan is as it is, with the arithmetic.
type Explanation struct {
	// Devices are the free devices that could be taken, Refused the counts of those that could not.
	Devices []DeviceKind
	Refused []RefusedCount
	// Settings are what came of the settings of the request, in the order in which they are tried. Lean batches of formats
	// that were not needed are left out.
	Settings []SettingOutcome
	Goal     Goal
	// Considered are the best shapes that fit in the chosen precision, in the order in which they were tried, followed by
	// some that miss a limit; Shapes is how many there were in all.
	Considered []Considered
	Shapes     int
	// Next is the benchmark that would tell most about the two best shapes; nil where there are no two.
	Next *Next
	// Choice says in sentences why the plan's shape was chosen.
	Choice []string
	// Parts are the plan's copies, grouped by shape.
	Parts []PartExplanation
}

// PartExplanation is the arithmetic of the copies of one shape.
type PartExplanation struct {
	// Strategy is the degrees, FirstReplica the index of the first of the Copies that have them, from 0.
	Strategy             string
	FirstReplica, Copies int
	Memory               []StageMemory
	// Times is nil where the rates of a device are not known.
	Times *Times
	// Seats are the tensor groups, or blocks of them, of the first copies; Rule says how they were found.
	Seats []Seat
	Rule  string
	Links []GroupLink
}

// explainer is a plan with the request and the cluster that it is explained from.
type explainer struct {
	*shape.Tier
	spec   *v1alpha1.ShardingPlanSpec
	pools  []*shape.Pool // those that the plan was found in
	copies [][][][]int32
}

// Explain says why Plan gave a plan for a request, in the same cluster: the plan's own devices must be free in it. It is
// computed anew from the plan, so that searching costs nothing for it. The error says that the plan is not one of this
// request or cluster.
func Explain(cluster *fleet.Cluster, request shape.Request, spec *v1alpha1.ShardingPlanSpec) (*Explanation, error) {
	t, err := shape.New(cluster, request)
	if err != nil {
		return nil, err
	}
	asked := t
	if t.Open {
		if t = t.With(t.InCopies(int(spec.Copies()))); t == nil {
			return nil, errOtherCopies
		}
	}
	at := slices.IndexFunc(t.Ladder, func(s shape.Format) bool { return s.Weights == spec.Quantization && s.Cache == spec.KVCacheType })
	if at < 0 {
		return nil, fmt.Errorf("quantization %s with a KV cache in %s is not what the request asks for: give the plan that was made for it", spec.Quantization, spec.KVCacheType)
	}
	e := &explainer{spec: spec, copies: t.CopiesOf(spec)}
	if err := e.find(t, at); err != nil {
		return nil, err
	}
	e.pools = e.Levels[e.level()]
	found := &Explanation{Settings: e.settings(at), Goal: goal(t)}
	found.Devices, found.Refused = e.census()
	e.consider(found)
	found.Choice = append(numberTexts(asked, spec), found.Choice...)
	for _, planned := range spec.Shapes() {
		part, err := e.part(&planned)
		if err != nil {
			return nil, err
		}
		found.Parts = append(found.Parts, part)
	}
	return found, nil
}

var errOtherCopies = errors.New("the plan has other copies than its request: give the plan that was made for it")

// find sets the tier, among those of a format, whose memory arithmetic gives the plan's bytes.
func (e *explainer) find(t *shape.Problem, at int) error {
	s := &e.spec.Strategy
	divided := t.Workload.Training != nil && t.Asked.Context == 0 && s.Context > 1
	for _, how := range t.Variants() {
		if how.Divided != divided {
			continue
		}
		e.Tier = t.Tier(shape.Setting{Format: t.Ladder[at], Variant: how})
		if err := e.check(); err != nil {
			return err
		}
		if e.matches() {
			return nil
		}
	}
	return errors.New("the plan's stages need other amounts than its request: give the plan that was made for it")
}

// check returns an error where the devices or stages of the plan do not match the cluster and the request.
func (e *explainer) check() error {
	if len(e.copies) == 0 || int(e.spec.Copies()) != len(e.copies) {
		return errOtherCopies
	}
	for i, instances := range e.copies {
		planned, ok := e.spec.ShapeOf(int32(i))
		if !ok || len(instances) == 0 || len(planned.Stages) != len(instances[0]) {
			return fmt.Errorf("copy %d has no stages: give a complete plan", i)
		}
		if _, ok := shape.EndsOf(planned.Stages, int(e.Problem.Model.Architecture.Layers)); !ok {
			return fmt.Errorf("copy %d has not all layers in order: give a complete plan", i)
		}
		for _, stages := range instances {
			for _, devices := range stages {
				if len(devices) != int(planned.Strategy.Tensor*max(1, planned.Strategy.Context)) || slices.Contains(devices, shape.Nowhere) {
					return fmt.Errorf("copy %d has devices that the cluster does not have: explain a plan with the inventories it was made on", i)
				}
			}
		}
	}
	return nil
}

// matches says whether the tier's batches give the bytes of the plan's stages.
func (e *explainer) matches() bool {
	for _, planned := range e.spec.Shapes() {
		f := e.Footprint(e.classOf(&planned), shape.ShapeOf(&planned.Strategy))
		if f == nil {
			return false
		}
		for _, s := range planned.Stages {
			if f.PerDevice(int(s.FirstLayer), int(s.LastLayer)+1) != s.PerDevice {
				return false
			}
		}
	}
	return true
}

// classOf returns the class of a shape's devices; -1 where there are several.
func (e *explainer) classOf(planned *v1alpha1.PlanShape) int32 {
	class := int32(-1)
	for _, at := range e.devicesOf(planned) {
		switch c := e.Problem.Cluster.Device(at).Class; {
		case class < 0:
			class = c
		case class != c:
			return -1
		}
	}
	return class
}

// copiesOf returns the devices of the copies of a shape.
func (e *explainer) copiesOf(planned *v1alpha1.PlanShape) [][][][]int32 {
	first := int(planned.FirstReplica)
	return e.copies[first : first+int(planned.Strategy.Replicas)]
}

func (e *explainer) devicesOf(planned *v1alpha1.PlanShape) []int32 {
	return slices.Concat(slices.Concat(slices.Concat(e.copiesOf(planned)...)...)...)
}

// level returns which of the tier's topology levels the plan keeps to: the preferred one where each copy lies in one
// zone.
func (e *explainer) level() int {
	last := len(e.Levels) - 1
	if last == 0 {
		return 0
	}
	for _, instances := range e.copies {
		var zone string
		for i, at := range slices.Concat(slices.Concat(instances...)...) {
			here := e.Problem.Cluster.NodeOf(at).Labels[e.Problem.Prefer]
			if i == 0 {
				zone = here
			}
			if here == "" || here != zone {
				return last
			}
		}
	}
	return 0
}

// portion returns the copies of a shape as the search makes them.
func (e *explainer) portion(planned *v1alpha1.PlanShape) *search.Portion {
	ends, _ := shape.EndsOf(planned.Stages, int(e.Problem.Model.Architecture.Layers))
	p := &search.Portion{Shape: shape.ShapeOf(&planned.Strategy), Layout: shape.Layout{Ends: ends}, Footprint: e.Footprint(e.classOf(planned), shape.ShapeOf(&planned.Strategy))}
	for _, instances := range e.copiesOf(planned) {
		p.Instances = append(p.Instances, instances...)
	}
	return p
}

// part explains the copies of a shape.
func (e *explainer) part(planned *v1alpha1.PlanShape) (PartExplanation, error) {
	p := e.portion(planned)
	made := PartExplanation{
		Strategy: e.Problem.Summary(p.Shape, p.Copies()), FirstReplica: int(planned.FirstReplica), Copies: p.Copies(),
		Memory: e.memory(p), Seats: e.seats(p), Rule: e.rule(p), Links: e.links(p),
	}
	var err error
	made.Times, err = e.times(p)
	return made, err
}
