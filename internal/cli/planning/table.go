package planning

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/shape"
)

// show writes a plan and its mesh; nothing where there is none, since the reason goes to the errors.
func (d *decision) show(p *term.Page, output term.Format) {
	if d.plan == nil {
		return
	}
	p.Sheet(d.summary())
	if output == term.FormatExplain && d.why != nil {
		d.explain(p)
		return
	}
	rejected := d.plan.Spec.Rejected
	if !output.Wide() {
		rejected = alternativesAmong(rejected)
	}
	p.Paragraph()
	d.printStages(p)
	p.Paragraph()
	d.printRows(p)
	p.Paragraph()
	d.printMesh(p)
	p.Paragraph()
	printRejected(p, rejected)
}

// alternativesAmong are the rejected plans that would fit as well.
func alternativesAmong(rejected []v1alpha1.RejectedPlan) []v1alpha1.RejectedPlan {
	var list []v1alpha1.RejectedPlan
	for _, r := range rejected {
		switch r.Reason {
		case shape.ReasonWorse, shape.ReasonAsGood, shape.ReasonMoreDevices, shape.ReasonLimit:
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
		term.RowIf(d.standing.inForce() != nil, "In force", d.standingText()),
		{"Takes", fmt.Sprintf("%s on %s, %s in all", words.Counted(int(s.Totals.Devices), "device"), words.Counted(int(s.Totals.Nodes), "node"), s.Totals.Memory)},
	}
	if e := s.Estimate; e != nil {
		rows = append(rows, estimateRows(e)...)
	}
	if d.byCost() {
		rows = append(rows, d.unpriced())
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

// byCost says whether the plan is to be the cheapest.
func (d *decision) byCost() bool {
	in := d.placement.Spec.Workload.Inference
	return in != nil && in.Objective == v1alpha1.ObjectiveCost
}

// unpriced is the row that says that the devices of a plan have no known price, and by what they were ranked; nothing where they have one.
func (d *decision) unpriced() [2]string {
	e := d.plan.Spec.Estimate
	text := "no price is known of these devices"
	if d.byCost() {
		text += ": the plan takes the fewest device-seconds a token"
	}
	return term.RowIf(e != nil && !d.training() && e.MicroUSDPerMillionTokens == 0, "Price", text)
}

// estimateRows are the numbers of an estimate with their ranges, what they rest on, and the price.
func estimateRows(e *v1alpha1.Estimate) [][2]string {
	digits := words.Digits(float64(e.TokensPerSecond.Low), float64(e.TokensPerSecond.High))
	price := fmt.Sprintf("%s USD a million tokens", words.Figure(float64(e.MicroUSDPerMillionTokens)/1e6, digits))
	if e.PriceBasis != "" {
		price += "; " + e.PriceBasis
	}
	latency := e.TTFTMillis.Value > 0 || e.TPOTMicros.Value > 0
	without := e.Uncalibrated
	if without == nil {
		without = &v1alpha1.UncalibratedEstimate{}
	}
	return [][2]string{
		term.RowIf(e.StepMillis.Value > 0, "Step", ranged(e.StepMillis, 1e-3, "s")),
		{"Throughput", moved(e.TokensPerSecond, without.TokensPerSecond, 1, "tokens/s")},
		term.RowIf(latency, "TTFT", moved(e.TTFTMillis, without.TTFTMillis, 1, "ms")),
		term.RowIf(latency, "TPOT", moved(e.TPOTMicros, without.TPOTMicros, 1e-3, "ms")),
		term.RowIf(without.Source != "", "Measured", without.Source),
		term.RowIf(e.MicroUSDPerMillionTokens > 0, "Price", price),
		term.RowIf(e.LoadSeconds > 0, "Load", fmt.Sprintf("%d s at least to load the weights", e.LoadSeconds)),
		term.RowIf(e.Basis != "", "Basis", e.Basis),
	}
}

// moved is a number in a larger unit, with what it was without the measurements of the site where these moved it.
func moved(e, without v1alpha1.Expected, unit float64, name string) string {
	if without.Value == 0 {
		return ranged(e, unit, name)
	}
	return term.Here(float64(without.Value)*unit, float64(e.Value)*unit, float64(e.Low)*unit, float64(e.High)*unit, name)
}

// ranged is a number in a larger unit, with its range where that is known.
func ranged(e v1alpha1.Expected, unit float64, name string) string {
	return term.Expected(float64(e.Value)*unit, float64(e.Low)*unit, float64(e.High)*unit, name)
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
func (d *decision) printStages(p *term.Page) {
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
	p.ShapeTable(header, parts)
}

// leastAvailable is what the engine may take of the fullest device of a stage in bytes, over all copies of a shape; 0 where none of them is known. A plan in
// force may have devices that are gone.
func (d *decision) leastAvailable(planned *v1alpha1.PlanShape, stage int32) int64 {
	var offers []int64
	for _, row := range d.stretches() {
		if row.Stage != stage || !planned.Has(row.Replica) {
			continue
		}
		for _, id := range row.Devices {
			if device := d.device(row.Node, id); device != nil {
				offers = append(offers, memory.Available(d.plan.Spec.Engine, d.training(), d.plan.Spec.Serving.Permille(), deviceMemory(device)))
			}
		}
	}
	if len(offers) == 0 {
		return 0
	}
	return slices.Min(offers)
}

// device is a device of the plan; nil where its node has none of the id.
func (d *decision) device(node string, id v1alpha1.DeviceID) *v1alpha1.Device {
	if inventory := d.hosts[node].Inventory; inventory != nil {
		return inventory.Device(id)
	}
	return nil
}

// deviceMemory is the memory of a device, as far as it is known.
func deviceMemory(d *v1alpha1.Device) memory.Device {
	if d.Memory == nil {
		return memory.Device{}
	}
	return memory.Device{
		Vendor: d.Vendor, Product: d.Product, TotalBytes: d.Memory.TotalMiB << 20, OthersBytes: max(0, d.Memory.TotalMiB-d.FreeMiB()) << 20,
	}
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

func (d *decision) printRows(p *term.Page) {
	p.Table([]string{"NODE", "COPY", "DATA", "STAGE", "TENSOR", "DEVICES"}, term.Rows(d.stretches(), func(row *v1alpha1.PlanRow) []any {
		tensor := fmt.Sprint(row.TensorRank)
		if n := len(row.Devices); n > 1 {
			tensor += fmt.Sprintf("-%d", int(row.TensorRank)+n-1)
		}
		return []any{row.Node, row.Replica, row.Data, row.Stage, tensor, term.IDs(row.Devices)}
	}))
}

func (d *decision) printMesh(p *term.Page) {
	s := &d.mesh.Spec
	p.Linef("Mesh %s: %s, order %s", s.Shape, term.WorldsText(s), s.Order)
	var parts []term.ShapeRows
	for _, shape := range s.Shapes() {
		parts = append(parts, term.ShapeRows{First: shape.FirstReplica, Copies: shape.Replicas, Rows: term.Rows(shape.Groups, func(g *v1alpha1.ProcessGroups) []any {
			return []any{g.Name, g.Count, g.Size, g.Library, d.slowestLink(g.Name), term.RanksText(g.Ranks, false)}
		})})
	}
	p.ShapeTable([]string{"GROUP", "COUNT", "SIZE", "LIBRARY", "SLOWEST LINK", "RANKS"}, parts)
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

func printRejected(p *term.Page, rejected []v1alpha1.RejectedPlan) {
	p.Table([]string{"REJECTED", "REASON", "MESSAGE"}, term.Rows(rejected, func(r *v1alpha1.RejectedPlan) []any {
		return []any{r.Strategy, r.Reason, r.Message}
	}))
}
