package planning

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// writeTo prints a plan and its mesh; nothing where there is none, since the reason goes to the errors.
func (d *decision) writeTo(w io.Writer, f term.AnswerFormat) error {
	if d.plan == nil {
		return nil
	}
	summary := func(w io.Writer) error { return term.Sheet(w, d.summary()) }
	if f == term.AnswerExplain && d.why != nil {
		return term.Paragraphs(w, append([]func(io.Writer) error{summary}, d.explainParts()...)...)
	}
	rejected := d.plan.Spec.Rejected
	if f != term.AnswerFormat(term.FormatWide) {
		rejected = alternativesAmong(rejected)
	}
	return term.Paragraphs(w, summary, d.printStages, d.printRows, d.printMesh, func(w io.Writer) error { return printRejected(w, rejected) })
}

// alternativesAmong are the rejected plans that would fit as well.
func alternativesAmong(rejected []v1alpha1.RejectedPlan) []v1alpha1.RejectedPlan {
	var list []v1alpha1.RejectedPlan
	for _, r := range rejected {
		if r.Reason == shape.ReasonWorse || r.Reason == shape.ReasonMoreDevices || r.Reason == shape.ReasonLimit {
			list = append(list, r)
		}
	}
	return list
}

func (d *decision) summary() [][2]string {
	s := &d.plan.Spec
	rows := [][2]string{
		{"Placement", d.name()},
		{"Model", fmt.Sprintf("%s, %s parameters, %d layers", s.Model.Name, term.Grouped(s.Model.Parameters), s.Model.Architecture.Layers)},
		{"Engine", string(s.Engine)},
		{"Precision", d.precisionText()},
		{"Strategy", strategyText(s)},
		{"Takes", fmt.Sprintf("%s on %s, %s in all", words.Counted(int(s.Totals.Devices), "device"), words.Counted(int(s.Totals.Nodes), "node"), s.Totals.Memory)},
	}
	if e := s.Estimate; e != nil {
		rows = append(rows, estimateRows(e)...)
	}
	for _, assumption := range s.Model.Assumptions {
		rows = append(rows, [2]string{"Assumed", assumption})
	}
	return rows
}

// precisionText is how weights are stored and computed, and how the cache is.
func (d *decision) precisionText() string {
	s := &d.plan.Spec
	text := "weights stored in " + string(s.Quantization)
	if s.ComputeType != "" {
		text += ", computed in " + string(s.ComputeType)
	}
	if d.training() {
		return text
	}
	return text + ", KV cache in " + string(s.KVCacheType)
}

func (d *decision) training() bool { return d.placement.Spec.Workload.Training != nil }

// estimateRows are the numbers of an estimate with their ranges, what they rest on, and the price.
func estimateRows(e *v1alpha1.Estimate) [][2]string {
	var rows [][2]string
	if e.StepMillis > 0 {
		rows = append(rows, [2]string{"Step", ranged(e.StepMillis, e.StepMillisLow, e.StepMillisHigh, 1e-3, "s")})
	}
	rows = append(rows, [2]string{"Throughput", ranged(e.TokensPerSecond, e.TokensPerSecondLow, e.TokensPerSecondHigh, 1, "tokens/s")})
	if e.TTFTMillis > 0 || e.TPOTMicros > 0 {
		rows = append(rows,
			[2]string{"TTFT", ranged(e.TTFTMillis, e.TTFTMillisLow, e.TTFTMillisHigh, 1, "ms")},
			[2]string{"TPOT", ranged(e.TPOTMicros, e.TPOTMicrosLow, e.TPOTMicrosHigh, 1e-3, "ms")})
	}
	if e.MicroUSDPerMillionTokens > 0 {
		text := fmt.Sprintf("%s USD a million tokens", dollars(float64(e.MicroUSDPerMillionTokens)/1e6))
		if e.PriceBasis != "" {
			text += "; " + e.PriceBasis
		}
		rows = append(rows, [2]string{"Price", text})
	}
	if e.LoadSeconds > 0 {
		rows = append(rows, [2]string{"Load", fmt.Sprintf("%d s at least to load the weights", e.LoadSeconds)})
	}
	if e.Basis != "" {
		rows = append(rows, [2]string{"Basis", e.Basis})
	}
	return rows
}

// ranged is an integer in a larger unit, with its range where that is known.
func ranged(value, low, high int64, unit float64, name string) string {
	text := term.Three(float64(value)*unit) + " " + name
	if high > 0 {
		text += fmt.Sprintf(" (%s to %s)", term.Three(float64(low)*unit), term.Three(float64(high)*unit))
	}
	return text
}

// dollars is an amount to the cent, or to three digits where that says more.
func dollars(usd float64) string {
	if usd < 1 {
		return strconv.FormatFloat(usd, 'g', 3, 64)
	}
	return fmt.Sprintf("%.2f", usd)
}

// strategyText is the degrees and, where they say more and all copies have the same, the kind of plan.
func strategyText(s *v1alpha1.ShardingPlanSpec) string {
	summary, kind := s.Strategy.Summary, string(s.Strategy.Name)
	if summary == kind || len(s.OtherShapes) > 0 {
		return summary
	}
	return fmt.Sprintf("%s (%s)", summary, kind)
}

// printStages prints what each device of a stage holds, and how much the device that offers least has for it.
func (d *decision) printStages(w io.Writer) error {
	header := []string{"STAGE", "LAYERS", "WEIGHTS", "KV CACHE", "ACTIVATIONS", "OVERHEAD", "PER DEVICE", "AVAILABLE"}
	if d.training() {
		header = []string{"STAGE", "LAYERS", "WEIGHTS", "GRADIENTS, OPTIMIZER, ACTIVATIONS", "OVERHEAD", "PER DEVICE", "AVAILABLE"}
	}
	var parts []term.ShapeRows
	for _, shape := range d.plan.Spec.Shapes() {
		part := term.ShapeRows{First: shape.FirstReplica, Copies: shape.Strategy.Replicas}
		for i, stage := range shape.Stages {
			use := stage.PerDevice
			row := []string{strconv.Itoa(i), fmt.Sprintf("%d-%d", stage.FirstLayer, stage.LastLayer), words.HumanBytes(use.WeightsBytes)}
			if !d.training() {
				row = append(row, "+ "+words.HumanBytes(use.KVCacheBytes))
			}
			part.Rows = append(part.Rows, append(row,
				"+ "+words.HumanBytes(use.ActivationsBytes), "+ "+words.HumanBytes(use.OverheadBytes),
				"= "+words.HumanBytes(use.TotalBytes), "of "+words.HumanBytes(d.leastAvailable(&shape, int32(i)))))
		}
		parts = append(parts, part)
	}
	return term.ShapeTable(w, header, parts)
}

// leastAvailable is what the engine may take of the fullest device of a stage in bytes, over all copies of a shape.
func (d *decision) leastAvailable(planned *v1alpha1.PlanShape, stage int32) int64 {
	var available []int64
	for _, row := range d.stretches() {
		if row.Stage != stage || !planned.Has(row.Replica) {
			continue
		}
		for _, id := range row.Devices {
			available = append(available, memory.Available(d.plan.Spec.Engine, d.training(), 0, d.devices[row.Node][id]))
		}
	}
	if len(available) == 0 {
		return 0
	}
	return slices.Min(available)
}

// stretches are the rows of the plan, each of one stage.
func (d *decision) stretches() []v1alpha1.PlanRow {
	var rows []v1alpha1.PlanRow
	for i := range d.plan.Spec.Nodes {
		row := &d.plan.Spec.Nodes[i]
		planned, _ := d.plan.Spec.ShapeOf(row.Replica)
		rows = append(rows, row.Stretches(&planned.Strategy)...)
	}
	return rows
}

func (d *decision) printRows(w io.Writer) error {
	stretches := d.stretches()
	rows := make([][]string, len(stretches))
	for i, row := range stretches {
		tensor := strconv.Itoa(int(row.TensorRank))
		if last := int(row.TensorRank) + len(row.Devices) - 1; len(row.Devices) > 1 {
			tensor += "-" + strconv.Itoa(last)
		}
		rows[i] = []string{
			row.Node, strconv.Itoa(int(row.Replica)), strconv.Itoa(int(row.Data)), strconv.Itoa(int(row.Stage)), tensor, term.IDs(row.Devices),
		}
	}
	return term.Table(w, []string{"NODE", "COPY", "DATA", "STAGE", "TENSOR", "DEVICES"}, rows)
}

func (d *decision) printMesh(w io.Writer) error {
	s := &d.mesh.Spec
	shapes := s.Shapes()
	if _, err := fmt.Fprintf(w, "Mesh %s: %s, order %s\n", s.Shape, term.WorldsText(s), s.Order); err != nil {
		return err
	}
	parts := make([]term.ShapeRows, len(shapes))
	for i, shape := range shapes {
		parts[i] = term.ShapeRows{First: shape.FirstReplica, Copies: shape.Replicas}
		for _, g := range shape.Groups {
			groups := make([][]int32, len(g.Ranks))
			for j, ranks := range g.Ranks {
				groups[j] = ranks
			}
			parts[i].Rows = append(parts[i].Rows, []string{
				g.Name, strconv.Itoa(int(g.Count)), strconv.Itoa(int(g.Size)), g.Library, d.slowestLink(g.Name), term.RanksText(groups, false),
			})
		}
	}
	return term.ShapeTable(w, []string{"GROUP", "COUNT", "SIZE", "LIBRARY", "SLOWEST LINK", "RANKS"}, parts)
}

// slowestLink is the slowest link of a kind of group, over all copies.
func (d *decision) slowestLink(group string) string {
	for _, l := range d.mesh.Status.SlowestLinks {
		if l.Group == group {
			return mesh.Link{Kind: l.Kind, MBps: l.MBps}.String()
		}
	}
	return "-"
}

func printRejected(w io.Writer, rejected []v1alpha1.RejectedPlan) error {
	if len(rejected) == 0 {
		return nil
	}
	rows := make([][]string, len(rejected))
	for i, r := range rejected {
		rows[i] = []string{r.Strategy, r.Reason, r.Message}
	}
	return term.Table(w, []string{"REJECTED", "REASON", "MESSAGE"}, rows)
}

// printShortfall prints the numbers of a model that does not fit, and what was tried.
func printShortfall(w io.Writer, why *plan.Unplaceable) error {
	s := &why.Shortfall
	rows := [][2]string{{"Reason", why.Reason}}
	if s.NeededMiB > 0 {
		rows = append(rows, [2]string{"Needed", words.HumanMiB(s.NeededMiB) + " for one copy"})
	}
	rows = append(rows,
		[2]string{"Free", fmt.Sprintf("%s on %s", words.HumanMiB(s.FreeMiB), words.Counted(int(s.FreeDevices), "device"))},
		[2]string{"Largest", words.HumanMiB(s.LargestDeviceMiB) + " on one device"})
	if err := term.Sheet(w, rows); err != nil {
		return err
	}
	if err := printSuggestions(w, s.Suggestions); err != nil {
		return err
	}
	return printRejected(w, why.Rejected)
}

// printSuggestions lists the changes each of which alone would make the model fit, from the one that costs least.
func printSuggestions(w io.Writer, suggestions []v1alpha1.Suggestion) error {
	if len(suggestions) == 0 {
		return nil
	}
	rows := make([][]string, len(suggestions))
	for i, s := range suggestions {
		rows[i] = []string{s.Kind, s.Change}
	}
	return term.Table(w, []string{"WOULD FIT BY", "CHANGE"}, rows)
}
