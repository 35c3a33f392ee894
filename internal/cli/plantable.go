package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
)

// writeTo prints a plan and its mesh; nothing where there is none, since the reason goes to the errors.
func (d *decision) writeTo(w io.Writer, spaced, wide bool) error {
	if d.plan == nil {
		return nil
	}
	if spaced {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	parts := []func(io.Writer) error{
		func(w io.Writer) error { return sheet(w, d.summary()) },
		d.printStages,
		d.printRows,
		d.printMesh,
	}
	if wide && len(d.plan.Spec.Rejected) > 0 {
		parts = append(parts, func(w io.Writer) error { return printRejected(w, d.plan.Spec.Rejected) })
	}
	for i, part := range parts {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := part(w); err != nil {
			return err
		}
	}
	return nil
}

func (d *decision) summary() [][2]string {
	s := &d.plan.Spec
	rows := [][2]string{
		{"Placement", d.name()},
		{"Model", fmt.Sprintf("%s, %s parameters, %d layers", s.Model.Name, grouped(s.Model.Parameters), s.Model.Architecture.Layers)},
		{"Formats", formatsText(s)},
		{"Strategy", strategyText(s)},
		{"Takes", fmt.Sprintf("%s on %s, %s", v1alpha1.Counted(int(s.Totals.Devices), "device"), v1alpha1.Counted(int(s.Totals.Nodes), "node"), s.Totals.Memory)},
	}
	if e := s.Estimate; e != nil {
		rows = append(rows, [2]string{"Estimate", estimateText(e)})
	}
	for _, assumption := range s.Model.Assumptions {
		rows = append(rows, [2]string{"Assumed", assumption})
	}
	return rows
}

func formatsText(s *v1alpha1.ShardingPlanSpec) string {
	weights := "weights " + string(s.Quantization)
	if s.ComputeType != "" && s.ComputeType != s.Quantization {
		weights += " computed in " + string(s.ComputeType)
	}
	return fmt.Sprintf("%s, KV cache %s, for %s", weights, s.KVCacheType, s.Engine)
}

// estimateText is the numbers of an estimate, with their ranges where these are known.
func estimateText(e *v1alpha1.Estimate) string {
	texts := []string{
		fmt.Sprintf("%d tokens/s", e.TokensPerSecond) + rangeText(e.TokensPerSecondLow, e.TokensPerSecondHigh),
		fmt.Sprintf("TTFT %d ms", e.TTFTMillis) + rangeText(e.TTFTMillisLow, e.TTFTMillisHigh),
		fmt.Sprintf("TPOT %d us", e.TPOTMicros) + rangeText(e.TPOTMicrosLow, e.TPOTMicrosHigh),
	}
	return strings.Join(texts, ", ")
}

func rangeText(low, high int64) string {
	if high == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d-%d)", low, high)
}

// strategyText is the degrees and, where they say more and all copies have the same, the kind of plan.
func strategyText(s *v1alpha1.ShardingPlanSpec) string {
	summary, kind := s.Strategy.Summary, string(s.Strategy.Name)
	if summary == kind || len(s.OtherShapes) > 0 {
		return summary
	}
	return fmt.Sprintf("%s (%s)", summary, kind)
}

// printStages prints the arithmetic: what each device of a stage holds, and the least memory that one has free.
func (d *decision) printStages(w io.Writer) error {
	var parts []shapeRows
	for _, shape := range d.plan.Spec.Shapes() {
		part := shapeRows{first: shape.FirstReplica, copies: shape.Strategy.Replicas}
		for i, stage := range shape.Stages {
			use := stage.PerDevice
			part.rows = append(part.rows, []string{
				strconv.Itoa(i), fmt.Sprintf("%d-%d", stage.FirstLayer, stage.LastLayer),
				v1alpha1.HumanBytes(use.WeightsBytes), "+ " + v1alpha1.HumanBytes(use.KVCacheBytes), "+ " + v1alpha1.HumanBytes(use.ActivationsBytes),
				"+ " + v1alpha1.HumanBytes(use.OverheadBytes), "= " + v1alpha1.HumanBytes(use.TotalBytes), "of " + v1alpha1.HumanMiB(d.leastFree(&shape, int32(i))),
			})
		}
		parts = append(parts, part)
	}
	return shapeTable(w, []string{"STAGE", "LAYERS", "WEIGHTS", "KV CACHE", "ACTIVATIONS", "OVERHEAD", "PER DEVICE", "FREE"}, parts)
}

// leastFree is the memory in MiB that strangers leave on the fullest device of a stage, over all copies of a shape.
func (d *decision) leastFree(shape *v1alpha1.PlanShape, stage int32) int64 {
	var free []int64
	for _, row := range d.plan.Spec.Nodes {
		if row.Stage != stage || !shape.Has(row.Replica) {
			continue
		}
		for _, id := range row.Devices {
			free = append(free, d.free[row.Node][id])
		}
	}
	if len(free) == 0 {
		return 0
	}
	return slices.Min(free)
}

func (d *decision) printRows(w io.Writer) error {
	s := &d.plan.Spec
	rows := make([][]string, len(s.Nodes))
	for i, row := range s.Nodes {
		tensor := strconv.Itoa(int(row.TensorRank))
		if last := int(row.TensorRank) + len(row.Devices) - 1; len(row.Devices) > 1 {
			tensor += "-" + strconv.Itoa(last)
		}
		rows[i] = []string{
			row.Node, strconv.Itoa(int(row.Replica)), strconv.Itoa(int(row.Data)), strconv.Itoa(int(row.Stage)), tensor, ids(row.Devices),
		}
	}
	return table(w, []string{"NODE", "COPY", "DATA", "STAGE", "TENSOR", "DEVICES"}, rows)
}

func (d *decision) printMesh(w io.Writer) error {
	s := &d.mesh.Spec
	shapes := s.Shapes()
	if _, err := fmt.Fprintf(w, "Mesh %s: %s, order %s\n", s.Shape, worldsText(s), s.Order); err != nil {
		return err
	}
	parts := make([]shapeRows, len(shapes))
	for i, shape := range shapes {
		parts[i] = shapeRows{first: shape.FirstReplica, copies: shape.Replicas}
		for _, g := range shape.Groups {
			groups := make([][]int32, len(g.Ranks))
			for j, ranks := range g.Ranks {
				groups[j] = ranks
			}
			parts[i].rows = append(parts[i].rows,
				[]string{g.Name, strconv.Itoa(int(g.Count)), strconv.Itoa(int(g.Size)), g.Library, ranksText(groups, false)})
		}
	}
	return shapeTable(w, []string{"GROUP", "COUNT", "SIZE", "LIBRARY", "RANKS"}, parts)
}

func printRejected(w io.Writer, rejected []v1alpha1.RejectedPlan) error {
	if len(rejected) == 0 {
		return nil
	}
	rows := make([][]string, len(rejected))
	for i, r := range rejected {
		rows[i] = []string{r.Strategy, r.Reason, r.Message}
	}
	return table(w, []string{"REJECTED", "REASON", "MESSAGE"}, rows)
}

// printShortfall prints the numbers of a model that does not fit, and what was tried.
func printShortfall(w io.Writer, why *plan.Unplaceable) error {
	s := &why.Shortfall
	rows := [][2]string{{"Reason", why.Reason}}
	if s.NeededMiB > 0 {
		rows = append(rows, [2]string{"Needed", v1alpha1.HumanMiB(s.NeededMiB) + " for one copy"})
	}
	rows = append(rows,
		[2]string{"Free", fmt.Sprintf("%s on %s", v1alpha1.HumanMiB(s.FreeMiB), v1alpha1.Counted(int(s.FreeDevices), "device"))},
		[2]string{"Largest", v1alpha1.HumanMiB(s.LargestDeviceMiB) + " on one device"})
	if err := sheet(w, rows); err != nil {
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
	return table(w, []string{"WOULD FIT BY", "CHANGE"}, rows)
}
