package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
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
	// MaxModelLen is the tokens of the longest sequence; 0 in training.
	MaxModelLen int64
	// Mean is the tokens that a running request holds in the mean, Most what it holds at most 99 % of the time where that is the
	// mean over all of a copy; 0 where all are held at full length.
	Mean, Most int64
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

func goal(t *shape.Problem) Goal {
	in := t.Workload.Inference
	if in == nil {
		return Goal{Measure: "s a step"}
	}
	g := Goal{Objective: t.Objective(), Input: t.Input(), Output: t.Output(), Sequences: int64(max(1, in.MaxSequences)), MaxModelLen: int64(in.MaxModelLen)}
	if l, ok := t.Lengths(); ok {
		held := l.Held()
		g.Mean, g.Most = int64(math.Round(held.Mean)), int64(math.Round(held.Mean+2.326*held.Deviation/math.Sqrt(float64(g.Sequences))))
	}
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
	a, pools := e.Tier, e.pools
	if len(e.spec.OtherShapes) > 0 { // copies that differ are ranked one by one, on devices of one vendor
		a = e.Problem.Alone().Tier(e.Setting)
		vendor := e.Problem.Cluster.Class(e.Problem.Cluster.Device(e.copies[0][0][0][0]).Class).Vendor
		pools = slices.DeleteFunc(slices.Clone(pools), func(p *shape.Pool) bool { return p.Vendor != vendor })
	}
	candidates := a.Candidates(pools)
	kept := shape.KeepingLimits(candidates)
	r := review{explainer: e, goal: &found.Goal, kept: len(kept)}
	ranked := search.Rank(a.Problem, slices.Clone(kept))
	for c := ranked.Next(); c != nil; c = ranked.Next() {
		r.order = append(r.order, c)
	}
	shapes := e.spec.Shapes()
	r.chosen = slices.IndexFunc(r.order, func(c *shape.Candidate) bool { return e.isOf(c, &shapes[0]) })
	if r.chosen >= 0 && r.order[r.chosen].Ends == nil { // the stages were found with the devices
		c := r.order[r.chosen]
		c.Ends, _ = shape.EndsOf(e.spec.Stages, c.Footprint.Layers)
		a.Crowd(c, func(stage int) int64 { return search.LeastOffer(e.Problem, e.portion(&shapes[0]), stage) })
		a.Evaluate(c)
	}
	found.Shapes = len(candidates)
	found.Considered = r.list()
	for _, c := range nearest(e.Tier, candidates, mostLate) {
		made := r.considered(c)
		made.Verdict = c.Why()
		found.Considered = append(found.Considered, made)
	}
	found.Choice = r.choice(len(candidates))
	found.Next = r.next()
}

// nearest returns the candidates that come nearest to keeping the limits which they miss, the nearest first, up to a
// number.
func nearest(a *shape.Tier, candidates []*shape.Candidate, most int) []*shape.Candidate {
	late := slices.DeleteFunc(slices.Clone(candidates), func(c *shape.Candidate) bool { return c.Verdict == shape.Yes })
	slices.SortStableFunc(late, func(x, y *shape.Candidate) int { return cmp.Compare(excess(a.Problem, x), excess(a.Problem, y)) })
	return late[:min(most, len(late))]
}

// excess returns the larger of a candidate's times, each as a multiple of its limit.
func excess(t *shape.Problem, c *shape.Candidate) float64 {
	in := t.Workload.Inference
	worst := 0.0
	if in.MaxTTFTMillis != nil {
		worst = c.Times.TTFT * 1e3 / float64(max(1, *in.MaxTTFTMillis))
	}
	if in.MaxTPOTMillis != nil {
		worst = max(worst, c.Times.TPOT*1e3/float64(max(1, *in.MaxTPOTMillis)))
	}
	return worst
}

// isOf says whether the copies of a shape of the plan are on devices of a candidate's kind alone, in its degrees.
func (e *explainer) isOf(c *shape.Candidate, planned *v1alpha1.PlanShape) bool {
	at := e.copies[planned.FirstReplica][0][0][0]
	d, n := e.Problem.Cluster.Device(at), e.Problem.Cluster.NodeOf(at)
	return c.Shape == shape.ShapeOf(&planned.Strategy) && c.Flavor.Class == e.classOf(planned) && *c.Flavor.Wires == n.Islands[d.Island].Wires
}

// review goes through candidates in the order in which they were tried.
type review struct {
	*explainer
	goal   *Goal
	order  []*shape.Candidate
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
func (r *review) alsoTaken(c *shape.Candidate) bool {
	return slices.ContainsFunc(r.spec.OtherShapes, func(s v1alpha1.PlanShape) bool { return r.isOf(c, &s) })
}

func (r *review) considered(c *shape.Candidate) Considered {
	return Considered{
		Strategy: r.Problem.Summary(c.Shape, 1), Product: r.Problem.Cluster.Class(c.Flavor.Class).Name(), Devices: c.Total(), Known: c.Judged,
		TTFT: c.Times.TTFT, TPOT: c.Times.TPOT, TokensPerSecond: c.Times.OutputTokensPerSecond, Step: c.Step, MicroUSD: r.price(c), Value: r.value(c),
	}
}

// price is what a million tokens of a candidate cost, whatever the objective.
func (r *review) price(c *shape.Candidate) int64 {
	hour, ok := r.Problem.Price(c.Flavor.Class)
	if !ok || c.Times.OutputTokensPerSecond <= 0 {
		return 0
	}
	return shape.Rounded(float64(hour.MicroUSDPerHour) * float64(c.Total()) / 3600 / c.Times.OutputTokensPerSecond * 1e6)
}

// value returns a candidate's value in the goal's unit.
func (r *review) value(c *shape.Candidate) float64 {
	switch {
	case !c.Judged:
		return 0
	case r.goal.More:
		return c.Times.OutputTokensPerSecond / float64(c.Total())
	case r.goal.Objective == v1alpha1.ObjectiveCost:
		return float64(c.Price) / 1e6
	default:
		return c.Value
	}
}

// difference is how much better or worse a candidate's value is than the chosen one's.
func (r *review) difference(c *shape.Candidate) string {
	mine, other := r.value(c), r.value(r.order[r.chosen])
	if !c.Judged || mine <= 0 || other <= 0 {
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
	if more := c.Total() - r.order[r.chosen].Total(); more != 0 && text != "" {
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
	case g.Objective == v1alpha1.ObjectiveLatency && r.Problem.Limited():
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
func (r *review) ruleText(left []*shape.Candidate, chosen *shape.Candidate) string {
	if !chosen.Judged {
		return fmt.Sprintf("The rates of the devices are not known, so the fewest devices are taken, and of equally many the smallest: %s.", r.Title(chosen))
	}
	best := left[0]
	for _, c := range left {
		if c.Judged && c.Value < best.Value {
			best = c
		}
	}
	tolerance := r.Problem.Tolerance(true)
	if math.IsInf(tolerance, 1) {
		return fmt.Sprintf("The fewest devices are taken: %s.", r.Title(chosen))
	}
	near, apart := 0, ""
	for _, c := range left {
		if c.Judged && c.Value <= best.Value*(1+tolerance) {
			near++
			if c.Decode > 1 {
				apart = " then those whose ranks share no tokens of the cache,"
			}
		}
	}
	text := fmt.Sprintf("The best is %s with %s.", r.Title(best), r.valueText(best))
	if near == 1 {
		return text + fmt.Sprintf(" No other is within %.0f %% of it.", tolerance*100)
	}
	text += fmt.Sprintf(" %d are within %.0f %% of the best; of these the fewest devices are taken,%s then the better value, then the simpler shape", near, tolerance*100, apart)
	if chosen == best {
		return text + ": the best itself."
	}
	return text + fmt.Sprintf(": %s with %s.", r.Title(chosen), r.valueText(chosen))
}

// valueText is a candidate's value with its unit.
func (r *review) valueText(c *shape.Candidate) string {
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
