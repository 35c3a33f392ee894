package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/shape"
)

// best are the ways that the rule allows: of those whose times are known where there are any, those within the tolerance
// of the best value, of them those with the fewest devices, and of them those of the best value. Where no times are known,
// one tensor group comes before a pipeline.
func (x *exhaustive) best(ways []seating) []seating {
	judged := slices.ContainsFunc(ways, func(w seating) bool { return w.Judged })
	var left []seating
	value := math.Inf(1)
	for _, w := range ways {
		if w.Judged == judged {
			left, value = append(left, w), min(value, w.Value)
		}
	}
	near := math.Inf(1)
	if tolerance := x.problem.Tolerance(judged); !math.IsInf(tolerance, 1) {
		near = value * (1 + tolerance)
	}
	left = slices.DeleteFunc(left, func(w seating) bool { return w.Value > near })
	if grouped := func(w seating) bool { return w.Stages == 1 }; !judged && slices.ContainsFunc(left, grouped) {
		left = slices.DeleteFunc(left, func(w seating) bool { return !grouped(w) })
	}
	fewest := slices.MinFunc(left, func(a, b seating) int { return cmp.Compare(a.total(), b.total()) })
	left = slices.DeleteFunc(left, func(w seating) bool { return w.total() > fewest.total() })
	least := slices.MinFunc(left, func(a, b seating) int { return cmp.Compare(a.Value, b.Value) })
	return slices.DeleteFunc(left, func(w seating) bool { return w.Value > least.Value })
}

// disagreement says what of a plan the exhaustive search says otherwise; empty where nothing is. What is the kind of answer.
func (x *exhaustive) disagreement(spec *v1alpha1.ShardingPlanSpec) (what, why string) {
	for _, s := range x.problem.Ladder {
		for _, lean := range []bool{false, true} {
			x.tier = x.problem.Tier(shape.Setting{Format: s, Variant: shape.Variant{Lean: lean}})
			for _, level := range x.levels() {
				x.setZones(level != "")
				if what, why = x.disagreementHere(spec); what != "none" {
					return what, why
				}
			}
		}
	}
	if spec != nil && spec.Strategy.DecodeContext <= 1 { // ways that share out the tokens of a cache are not tried
		return "none", "nothing fits, and the plan is " + spec.Strategy.Summary
	}
	return "none", ""
}

// levels are the topology levels in the order in which they are tried.
func (x *exhaustive) levels() []string {
	if x.problem.Prefer != "" {
		return []string{x.problem.Prefer, x.problem.Require.Level}
	}
	return []string{x.problem.Require.Level}
}

// disagreementHere compares a plan with every way to place the model in one format, batch and topology level.
func (x *exhaustive) disagreementHere(spec *v1alpha1.ShardingPlanSpec) (what, why string) {
	copies := x.problem.Copies
	if ways := x.uniform(copies); len(ways) > 0 {
		return "uniform", x.against(spec, append(ways, x.leaner(x.best(ways)[0].total())...))
	}
	for _, other := range []struct {
		what string
		may  func(int) bool
	}{{"different", x.different}, {"mixed", x.mixed}} {
		if (copies == 1 && other.what == "different") || !other.may(copies) {
			continue
		}
		if spec == nil || spec.Quantization != x.tier.Weights {
			return other.what, "copies of " + other.what + " kind fit, and no plan was found"
		}
		return other.what, ""
	}
	return "none", ""
}

// leaner are the ways that lean batches allow on fewer devices than some.
func (x *exhaustive) leaner(devices int) []seating {
	if x.tier.Lean {
		return nil
	}
	before := x.tier
	defer func() { x.tier = before }()
	x.tier = x.problem.Tier(shape.Setting{Format: before.Format, Variant: shape.Variant{Lean: true}})
	return slices.DeleteFunc(x.uniform(x.problem.Copies), func(w seating) bool { return w.total() >= devices })
}

// against holds a plan to the ways that the rule allows.
func (x *exhaustive) against(spec *v1alpha1.ShardingPlanSpec, ways []seating) string {
	best := x.best(ways)
	if spec == nil {
		return fmt.Sprintf("%s fits, and no plan was found", best[0].String())
	}
	if len(spec.OtherShapes) > 0 {
		return fmt.Sprintf("%s fits, and the plan has copies of %d shapes", best[0].String(), 1+len(spec.OtherShapes))
	}
	got := shape.Shape{Tensor: int(spec.Strategy.Tensor), Stages: int(spec.Strategy.Pipeline), Data: int(spec.Strategy.Data), Expert: int(spec.Strategy.Expert)}
	kind := x.kindOf(spec)
	if slices.ContainsFunc(best, func(w seating) bool { return w.Shape == got && w.kind == kind }) {
		return ""
	}
	var list []string
	chosen := fmt.Sprintf("%s on %s, which does not fit", spec.Strategy.Summary, kind)
	for _, w := range ways {
		list = append(list, w.String())
		if w.Shape == got && w.kind == kind {
			chosen = w.String()
		}
	}
	return fmt.Sprintf("the rule says %s, the plan is %s; of\n%s", best[0].String(), chosen, strings.Join(list, "\n"))
}

// kindOf is the kind of a plan's devices.
func (x *exhaustive) kindOf(spec *v1alpha1.ShardingPlanSpec) string {
	kinds := map[string]bool{}
	for _, row := range spec.Nodes {
		for _, id := range row.Devices {
			at := slices.IndexFunc(x.spots, func(s spot) bool { return s.node == row.Node && s.id == id })
			if at < 0 {
				return "a device that is not free"
			}
			kinds[x.spots[at].kind] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(kinds)), " and ")
}
