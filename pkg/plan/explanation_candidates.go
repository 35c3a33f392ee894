package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Goal is what shapes are compared by.
type Goal struct {
	// Objective is empty in training.
	Objective v1alpha1.Objective
	// Measure is the unit of Considered.Value; More says that a higher value is better.
	Measure string
	More    bool
	// Input and Output are the tokens of a request; Sequences is how many requests run at once in a copy.
	Input, Output, Sequences int64
	// MaxTTFTMillis and MaxTPOTMillis are limits; 0 where there is none.
	MaxTTFTMillis, MaxTPOTMillis int64
}

// Considered is a shape that fits in memory.
type Considered struct {
	Strategy, Product string
	// Devices is the number of devices of a copy.
	Devices int
	// Known says that the times, which are in seconds, are known.
	Known                       bool
	TTFT, TPOT, TokensPerSecond float64
	Step                        float64 // of training
	// MicroUSD is the price of a million tokens in millionths of a US dollar; 0 where the price of the devices is not
	// known.
	MicroUSD int64
	// Value is what the goal compares, in Goal.Measure.
	Value float64
	Taken bool
	// Verdict is why it was not taken.
	Verdict string
}

// mostConsidered is how many shapes an explanation lists, mostLate how many shapes that miss a limit.
const (
	mostConsidered = 12
	mostLate       = 4
)

func (t *task) goal() Goal {
	in := t.workload.Inference
	if in == nil {
		return Goal{Measure: "s a step"}
	}
	g := Goal{Objective: t.objective(), Input: t.input(), Output: t.output(), Sequences: int64(max(1, in.MaxSequences))}
	if in.MaxTTFTMillis != nil {
		g.MaxTTFTMillis = int64(*in.MaxTTFTMillis)
	}
	if in.MaxTPOTMillis != nil {
		g.MaxTPOTMillis = int64(*in.MaxTPOTMillis)
	}
	switch g.Objective {
	case v1alpha1.ObjectiveLatency:
		g.Measure = "s an answer"
	case v1alpha1.ObjectiveCost:
		g.Measure = "USD a million tokens"
	default:
		g.Measure, g.More = "tokens/s a device", true
	}
	return g
}

// consider lists the shapes that fit and says why the plan's is taken.
func (e *explainer) consider(found *Explanation) {
	a, pools := e.attempt, e.pools
	if len(e.spec.OtherShapes) > 0 { // copies that differ are ranked one by one, on devices of one vendor
		single, one := *e.task, *e.attempt
		single.copies, one.task = 1, &single
		vendor := e.task.cluster.Class(e.task.cluster.Device(e.copies[0][0][0][0]).Class).Vendor
		a, pools = &one, slices.DeleteFunc(slices.Clone(pools), func(p *pool) bool { return p.vendor != vendor })
	}
	candidates := a.all(pools)
	kept := keeping(candidates)
	r := review{explainer: e, goal: &found.Goal, kept: len(kept)}
	ranked := rank(a.task, slices.Clone(kept))
	for c := ranked.next(); c != nil; c = ranked.next() {
		r.order = append(r.order, c)
	}
	r.chosen = slices.IndexFunc(r.order, func(c *candidate) bool { return e.isOf(c, &e.spec.Strategy, 0) })
	found.Shapes = len(candidates)
	found.Considered = r.list()
	for _, c := range e.nearest(candidates, mostLate) {
		made := r.considered(c)
		made.Verdict = e.task.missedText(c)
		found.Considered = append(found.Considered, made)
	}
	found.Choice = r.choice(len(candidates))
}

// nearest returns the candidates that come nearest to keeping the limits which they miss, the nearest first, up to a
// number.
func (a *attempt) nearest(candidates []*candidate, most int) []*candidate {
	late := slices.DeleteFunc(slices.Clone(candidates), func(c *candidate) bool { return c.missed == noLimit })
	slices.SortStableFunc(late, func(x, y *candidate) int { return cmp.Compare(a.task.excess(x), a.task.excess(y)) })
	return late[:min(most, len(late))]
}

// excess returns the larger of a candidate's times, each as a multiple of its limit.
func (t *task) excess(c *candidate) float64 {
	in := t.workload.Inference
	worst := 0.0
	if in.MaxTTFTMillis != nil {
		worst = c.times.TTFT * 1e3 / float64(max(1, *in.MaxTTFTMillis))
	}
	if in.MaxTPOTMillis != nil {
		worst = max(worst, c.times.TPOT*1e3/float64(max(1, *in.MaxTPOTMillis)))
	}
	return worst
}

// isOf says whether the copies from index first on have a candidate's shape, class and wires.
func (e *explainer) isOf(c *candidate, s *v1alpha1.Strategy, first int) bool {
	at := e.copies[first][0][0][0]
	d, n := e.task.cluster.Device(at), e.task.cluster.NodeOf(at)
	return c.shape == shapeOf(s) && c.lane.class == d.Class && *c.lane.wires == n.Islands[d.Island].Wires
}

// review goes through candidates in the order in which they were tried.
type review struct {
	*explainer
	goal   *Goal
	order  []*candidate
	kept   int
	chosen int // in order; -1 where the plan is none of them
}

// list returns the first candidates and the chosen one.
func (r *review) list() []Considered {
	var list []Considered
	for i, c := range r.order {
		if i >= mostConsidered && i != r.chosen {
			continue
		}
		made := r.considered(c)
		made.Taken = i == r.chosen || r.alsoTaken(c)
		made.Verdict = r.verdict(i)
		list = append(list, made)
	}
	return list
}

// alsoTaken says whether copies of one of the plan's other shapes are of the candidate.
func (r *review) alsoTaken(c *candidate) bool {
	return slices.ContainsFunc(r.spec.OtherShapes, func(s v1alpha1.PlanShape) bool { return r.isOf(c, &s.Strategy, int(s.FirstReplica)) })
}

func (r *review) considered(c *candidate) Considered {
	return Considered{
		Strategy: r.task.summary(c.shape, 1), Product: r.task.cluster.Class(c.lane.class).Name(), Devices: c.total(), Known: c.judged,
		TTFT: c.times.TTFT, TPOT: c.times.TPOT, TokensPerSecond: c.times.OutputTokensPerSecond, Step: c.step, MicroUSD: r.price(c), Value: r.value(c),
	}
}

// price is what a million tokens of a candidate cost, whatever the objective.
func (r *review) price(c *candidate) int64 {
	hour, ok := r.task.prices(r.task.cluster.Class(c.lane.class).Product)
	if !ok || c.times.OutputTokensPerSecond <= 0 {
		return 0
	}
	return whole(float64(hour.MicroUSDPerHour) * float64(c.total()) / 3600 / c.times.OutputTokensPerSecond * 1e6)
}

// value returns a candidate's value in the goal's unit.
func (r *review) value(c *candidate) float64 {
	switch {
	case !c.judged:
		return 0
	case r.goal.More:
		return c.times.OutputTokensPerSecond / float64(c.total())
	case r.goal.Objective == v1alpha1.ObjectiveCost:
		return float64(c.price) / 1e6
	default:
		return c.value
	}
}

// difference is how much better or worse a candidate's value is than the chosen one's.
func (r *review) difference(c *candidate) string {
	mine, other := r.value(c), r.value(r.order[r.chosen])
	if !c.judged || mine <= 0 || other <= 0 {
		return ""
	}
	change := mine/other - 1
	word := "more"
	if change < 0 {
		change, word = -change, "less"
	}
	if change < 0.0005 {
		return "as good"
	}
	return fmt.Sprintf("%.3g %% %s", change*100, word)
}

func (r *review) verdict(i int) string {
	c := r.order[i]
	switch {
	case i == r.chosen:
		return "taken"
	case r.alsoTaken(c):
		return "taken for other copies"
	case r.chosen < 0:
		return "no room for all copies"
	case i < r.chosen:
		return "better, but no room for all copies"
	}
	text := r.difference(c)
	if more := c.total() - r.order[r.chosen].total(); more != 0 && text != "" {
		word := "more"
		if more < 0 {
			more, word = -more, "fewer"
		}
		text += fmt.Sprintf(", %d %s", more, word)
		return text + " " + strings.TrimPrefix(words.Counted(more, "device"), fmt.Sprint(more)+" ")
	}
	return text
}

// choice says why the plan's shape is taken.
func (r *review) choice(shapes int) []string {
	var text []string
	text = append(text, r.objectiveText())
	counted := fmt.Sprintf("%s in memory.", shapesFit(shapes))
	if late := shapes - r.kept; late > 0 {
		counted = fmt.Sprintf("%s in memory, %d of them %s the limits.", shapesFit(shapes), r.kept, keeps(r.kept))
	}
	text = append(text, counted)
	if r.chosen < 0 {
		return append(text, r.exceptional())
	}
	chosen := r.order[r.chosen]
	if r.chosen > 0 {
		text = append(text, fmt.Sprintf("%s rank before it and have no room for all copies.", words.Counted(r.chosen, "shape")))
	}
	text = append(text, r.ruleText(r.order[r.chosen:], chosen))
	if len(r.spec.OtherShapes) > 0 {
		text = append(text, "No shape has room for all copies: as many as fit are of the best shape, the others of the next best that has room.")
	}
	return text
}

func shapesFit(n int) string {
	if n == 1 {
		return "1 shape fits"
	}
	return fmt.Sprintf("%d shapes fit", n)
}

func keeps(n int) string {
	if n == 1 {
		return "keeps"
	}
	return "keep"
}

// objectiveText names what is compared.
func (r *review) objectiveText() string {
	g := r.goal
	load := fmt.Sprintf("%s at once in a copy, %d tokens in and %d out", words.Counted(int(g.Sequences), "request"), g.Input, g.Output)
	switch {
	case g.Objective == "":
		return "Training has no objective but to fit: the fewest devices, and of equally many the fastest step."
	case g.Objective == v1alpha1.ObjectiveLatency && r.task.limited():
		return fmt.Sprintf("Latency within limits: whatever keeps them will do, with the fewest devices; %s.", load)
	case g.Objective == v1alpha1.ObjectiveLatency:
		return fmt.Sprintf("Latency: the time for an answer, TTFT + %d × TPOT; %s.", g.Output-1, load)
	case g.Objective == v1alpha1.ObjectiveCost:
		return fmt.Sprintf("Cost: the price of a million output tokens; %s.", load)
	default:
		return fmt.Sprintf("Throughput: output tokens a second from each device; %s.", load)
	}
}

// ruleText says which rule chose among the shapes that were left.
func (r *review) ruleText(left []*candidate, chosen *candidate) string {
	if !chosen.judged {
		return fmt.Sprintf("The rates of the devices are not known, so the fewest devices are taken, and of equally many the smallest: %s.", r.title(chosen))
	}
	best := left[0]
	for _, c := range left {
		if c.judged && c.value < best.value {
			best = c
		}
	}
	tolerance := r.task.tolerance(true)
	if math.IsInf(tolerance, 1) {
		return fmt.Sprintf("The fewest devices are taken: %s.", r.title(chosen))
	}
	near := 0
	for _, c := range left {
		if c.judged && c.value <= best.value*(1+tolerance) {
			near++
		}
	}
	text := fmt.Sprintf("The best is %s with %s.", r.title(best), r.valueText(best))
	if near == 1 {
		return text + fmt.Sprintf(" No other is within %.0f %% of it.", tolerance*100)
	}
	text += fmt.Sprintf(" %d are within %.0f %% of the best; of these the fewest devices are taken, then the better value, then the simpler shape", near, tolerance*100)
	if chosen == best {
		return text + ": the best itself."
	}
	return text + fmt.Sprintf(": %s with %s.", r.title(chosen), r.valueText(chosen))
}

// valueText is a candidate's value with its unit.
func (r *review) valueText(c *candidate) string {
	v := r.value(c)
	if v >= 100 {
		return fmt.Sprintf("%.0f %s", v, r.goal.Measure)
	}
	return fmt.Sprintf("%.3g %s", v, r.goal.Measure)
}

// exceptional says why the plan's shape is none of the candidates on devices of one kind.
func (r *review) exceptional() string {
	if r.classOf(&r.spec.Shapes()[0]) < 0 {
		return "None of them has room for all copies on devices of one kind: a pipeline over several kinds is taken, with the fewest devices, and layers are divided so that the slowest stage is as fast as can be."
	}
	return "The copies of the plan before that still hold are kept where they are."
}
