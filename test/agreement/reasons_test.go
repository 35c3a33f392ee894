package agreement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
)

// reason is why a choice is not the recipe's.
type reason string

// The reasons, in the order in which they are looked for. The last three are none.
const (
	asRecipe   reason = "the recipe's degrees"
	asMeasured reason = "measured: as good or better than the recipe's"
	notHeld    reason = "the recipe's degrees do not hold the load"
	more       reason = "better than the recipe's by more than the range"
	fewer      reason = "fewer devices, each as good or better"
	noTelling  reason = "within the range of the recipe's"
	elsewhere  reason = "refused here, and held by others of the devices that the recipe names"
	against    reason = "measured: the recipe's is better"
	worse      reason = "worse than the recipe's by the estimate"
	refused    reason = "refused, for one request too"
)

var (
	reasons  = []reason{asRecipe, asMeasured, notHeld, more, fewer, noTelling, elsewhere, against, worse, refused}
	noReason = map[reason]bool{against: true, worse: true, refused: true}
)

// placeElsewhere finds the refusals of commands that other devices of the recipe hold: a command is for one kind of those that it names, or for
// one of all that are verified where it names none.
func placeElsewhere(outcomes []outcome) {
	type of struct {
		recipe    string
		command   command
		objective v1alpha1.Objective
	}
	held := map[of]bool{}
	key := func(o *outcome) of { return of{o.recipe, o.command, o.objective} }
	for i := range outcomes {
		held[key(&outcomes[i])] = held[key(&outcomes[i])] || outcomes[i].reason != refused
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.reason == refused && held[key(o)] {
			o.reason = elsewhere
		}
	}
}

// tolerance is what a choice with fewer devices may be worse by, as docs/internals/planner/search.md says of each objective.
var tolerance = map[v1alpha1.Objective]float64{v1alpha1.ObjectiveThroughput: 0.03, v1alpha1.ObjectiveLatency: 0.10}

// units are those of value.
var units = map[v1alpha1.Objective]string{v1alpha1.ObjectiveThroughput: "tokens/s a device", v1alpha1.ObjectiveLatency: "answers/h"}

// speculative are words of headings of commands that decode speculatively.
var speculative = regexp.MustCompile(`MTP|Speculative|EAGLE|Eagle`)

// outcome is how a choice compares with a recipe's.
type outcome struct {
	choice
	reason       reason
	ours, theirs string
	// values are the estimates of ours and the recipe's, gain what ours is better by: 1 is twice as good.
	values [2]float64
	gain   float64
	why    string
}

func (o *outcome) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", &o.choice, o.ours, o.reason, o.why)
}

// compare leaves a choice to the planner and says why it is not the recipe's.
func (c *choice) compare(t *testing.T, rows []measuredRow) outcome {
	t.Helper()
	o := outcome{choice: *c, ours: "-"}
	ours, err := c.plan(loadSequences, nil, "")
	var cache v1alpha1.Precision
	if err == nil {
		o.ours, cache = ours.Strategy.Summary, ours.KVCacheType
	}
	theirs, notRun := c.plan(loadSequences, c.degrees(), cache)
	if err != nil || notRun != nil {
		o.reason, o.why = notHeld, cmp.Or(err, notRun).Error()
		if _, err := c.plan(1, c.degrees(), ""); err != nil {
			o.reason, o.why = refused, err.Error()
		}
		return o
	}
	value1, low, _ := value(ours, c.objective)
	value2, _, high := value(theirs, c.objective)
	o.theirs, o.values, o.gain = theirs.Strategy.Summary, [2]float64{value1, value2}, value1/value2-1
	o.why = fmt.Sprintf("%.0f %s, %s %.0f", value1, units[c.objective], o.theirs, value2)
	if speculative.MatchString(c.command.Under) {
		o.why += "; the command decodes speculatively, which is not planned"
	}
	if sameShape(&ours.Strategy, &theirs.Strategy) {
		o.reason = asRecipe
		return o
	}
	if text, ratio, ok := measured(rows, c, &ours.Strategy, &theirs.Strategy); ok {
		o.why += "; " + text
		if o.reason = asMeasured; ratio < 1-tolerance[c.objective] {
			o.reason = against
		}
		return o
	}
	less := devicesOf(&ours.Strategy) < devicesOf(&theirs.Strategy)
	switch {
	case low > high:
		o.reason = more
	case less && o.gain >= -tolerance[c.objective]:
		o.reason = fewer
	case o.gain >= -tolerance[v1alpha1.ObjectiveThroughput]:
		o.reason = noTelling
	default:
		o.reason = worse
	}
	return o
}

// measuredRow is a row of InferenceX's measurements at the load of the comparison.
type measuredRow struct {
	id, backend string
	model       *model.Model
	product     string
	weights     v1alpha1.Precision
	tensor      int32
	experts     bool
	ttft, tpot  float64 // ms
	tokens      float64 // per second and GPU
}

// measuredProducts and measuredFormats are InferenceX's words.
var (
	measuredProducts = map[string]string{"h100_sxm": "NVIDIA H100 80GB HBM3", "h200_sxm": "NVIDIA H200", "b200_sxm": "NVIDIA B200", "b300_sxm": "NVIDIA B300 SXM6 AC"}
	measuredFormats  = map[string]v1alpha1.Precision{"bf16": v1alpha1.BF16, "fp8": v1alpha1.FP8, "fp4": v1alpha1.NVFP4, "int4": v1alpha1.INT4}
)

// measuredRows reads the rows at the load of the comparison, of models that the catalogue has.
func measuredRows(t *testing.T) []measuredRow {
	t.Helper()
	var table struct {
		Columns []string
		Rows    [][]json.RawMessage
	}
	facts.Decode(t, "truth/inferencex_latency.json.gz", &table)
	var rows []measuredRow
	for _, raw := range table.Rows {
		cells := map[string]json.RawMessage{}
		for i, name := range table.Columns {
			cells[name] = raw[i]
		}
		text := func(name string) string {
			var s string
			_ = json.Unmarshal(cells[name], &s) // a null is empty
			return s
		}
		number := func(name string) float64 {
			var n float64
			_ = json.Unmarshal(cells[name], &n)
			return n
		}
		if number("isl") != loadInput || number("osl") != loadOutput || number("concurrency") != loadSequences || number("pp") > 1 {
			continue
		}
		m, _, err := model.Find(text("model"))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, measuredRow{
			id: text("id"), backend: text("backend"), model: m, product: measuredProducts[text("system")], weights: measuredFormats[text("precision")],
			tensor: int32(number("tp")), experts: number("moe_ep") > 1,
			ttft: number("ttft_ms"), tpot: number("tpot_ms"), tokens: number("derived_output_tok_s_per_gpu"),
		})
	}
	return rows
}

// value is what a row is judged by.
func (r *measuredRow) value(objective v1alpha1.Objective) float64 {
	if objective == v1alpha1.ObjectiveLatency {
		return 3600e3 / (r.ttft + (loadOutput-1)*r.tpot)
	}
	return r.tokens
}

// measured compares the degrees of two plans by rows of one engine, vLLM's before others: it returns the rows in words and how many times as good
// the first is; false where there are no rows of both.
func measured(rows []measuredRow, c *choice, ours, theirs *v1alpha1.Strategy) (text string, ratio float64, ok bool) {
	best := func(backend string, s *v1alpha1.Strategy) *measuredRow {
		var found *measuredRow
		for i := range rows {
			r := &rows[i]
			if r.backend == backend && r.product == c.product.Name && r.weights == c.weights && plan.SameArchitecture(r.model.Architecture, c.model.Architecture) &&
				r.tensor == s.Tensor && r.experts == (s.Expert > 1) && s.Pipeline == 1 && s.Data == 1 && (found == nil || r.value(c.objective) > found.value(c.objective)) {
				found = r
			}
		}
		return found
	}
	for _, backend := range []string{"vllm", "sglang", "trtllm"} {
		a, b := best(backend, ours), best(backend, theirs)
		if a != nil && b != nil {
			x, y := a.value(c.objective), b.value(c.objective)
			return fmt.Sprintf("measured %.0f (%s) and %.0f (%s)", x, a.id, y, b.id), x / y, true
		}
	}
	return "", 0, false
}
