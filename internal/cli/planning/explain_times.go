package planning

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explainTimesOf writes what a copy delivers and why.
func explainTimesOf(p *term.Page, e *explain.PartExplanation) {
	switch t := e.Times; {
	case t == nil:
		p.Line("The memory bandwidth or the peak rates of a device are not known, so nothing is estimated: add its product to the catalogue.")
	case t.Training != nil:
		p.Line(basisText(t))
		explainTraining(p, t)
	default:
		p.Line(basisText(t))
		explainServing(p, e, t)
	}
}

// basisText says what the constants rest on.
func basisText(t *explain.Times) string {
	family := fmt.Sprintf("%s, %s, %s", t.Family.Architecture, t.Family.Engine, t.Family.Class)
	text := "Basis: " + t.Basis.String() + ". "
	switch {
	case t.Basis == cost.SameCell:
		return text + fmt.Sprintf("The model was measured on %s with %s in this shape, at loads like this one.", t.Product, t.Family.Engine)
	case t.Basis == cost.SameModel:
		return text + fmt.Sprintf("The model was measured on %s with %s, in another shape, other formats or at another load.", t.Product, t.Family.Engine)
	case t.Basis == cost.SameFamily:
		return text + "Other models or products of " + family + " were measured, and the constants are fitted to them."
	case t.Beyond != "" && t.Basis == cost.Related:
		return text + "Nothing of " + family + " was measured with " + t.Beyond + ": other families were, and the range is theirs."
	case t.Beyond != "":
		return text + "Nothing was measured with " + t.Beyond + ": its part of the times is computed from rates alone, and the range is the widest."
	case t.Basis == cost.Related:
		return text + "Nothing of " + family + " was measured: the constants are those of related families, and the ranges wide."
	default:
		return text + "Neither the architecture nor the engine of " + family + " was measured: a roofline with the constants of all others, and wide ranges."
	}
}

func explainServing(p *term.Page, e *explain.PartExplanation, t *explain.Times) {
	decode := &t.Serving.Decode
	slowest := slowestOf(decode.Stages)
	p.Line(decodeText(decode, &t.Query.Workload, slowest))
	stage := &decode.Stages[slowest]
	rows := term.Rows(stage.Operators, func(o *cost.Operator) []any { return []any{o.Name, term.Duration(o.Seconds), operatorText(o)} })
	if stage.Transfer > 0 {
		rows = append(rows, []string{"transfer", term.Duration(stage.Transfer), "to the next stage"})
	}
	rows = append(rows,
		[]string{"devices", term.Duration(stage.Seconds), "sum"},
		[]string{"step", term.Duration(decode.Seconds), stepText(decode, stage, &t.Constants)})
	p.Table([]string{"PART", "TIME", "ARITHMETIC"}, rows)
	p.Sheet(servingRows(e, t))
}

func slowestOf(stages []cost.StageStep) int {
	at := 0
	for i := range stages {
		if stages[i].Seconds > stages[at].Seconds {
			at = i
		}
	}
	return at
}

func decodeText(decode *cost.Step, load *cost.Workload, slowest int) string {
	before := load.Input + load.Output/2
	if stages := len(decode.Stages); stages > 1 {
		stage := &decode.Stages[slowest]
		return fmt.Sprintf("A step that decodes, for one of %d shares of %.0f sequences with %.0f tokens before them in the mean, on each device of the slowest stage, %d (layers %d to %d):",
			stages, decode.Sequences, before, slowest, stage.First, stage.End-1)
	}
	return fmt.Sprintf("A step that decodes, for %.0f sequences with %.0f tokens before them in the mean, on each device:", decode.Sequences, before)
}

// operatorText is the arithmetic of an operator. What is read and computed at the same time takes the smooth maximum.
func operatorText(o *cost.Operator) string {
	var parts []string
	add := func(what string, amount, rate float64, unit, rateUnit string) {
		if amount > 0 && rate > 0 {
			parts = append(parts, fmt.Sprintf("%s%s / %s = %s", what, term.InUnits(amount, unit), term.InUnits(rate, rateUnit), term.Duration(amount/rate)))
		}
	}
	if o.Fixed > 0 && o.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%d × %s to start", o.Messages, term.Duration(o.Fixed/float64(o.Messages))))
	} else if o.Fixed > 0 {
		parts = append(parts, fmt.Sprintf("%d layers × %s", o.Layers, term.Duration(o.Fixed/float64(o.Layers))))
	}
	add("", o.Bytes, o.ReadRate, "B", "B/s")
	add("", o.Operations, o.ComputeRate, "FLOP", "FLOP/s")
	add("sends ", o.Sent, o.SendRate, "B", "B/s")
	return strings.Join(parts, ", ")
}

// stepText says how the devices' time becomes the time of a step.
func stepText(s *cost.Step, slowest *cost.StageStep, c *cost.Constants) string {
	devices := term.Duration(slowest.Seconds)
	if s.Rounds > 1 {
		devices = fmt.Sprintf("%s / %s of the time in which stages work", devices, term.Three(c[cost.StageShare]))
	}
	text := fmt.Sprintf("%s, with %s of the host's work beside it, + %s of it between steps", devices, term.Duration(s.Host), term.Duration(s.Fixed))
	if s.Rounds > 1 {
		return fmt.Sprintf("%d rounds × (%s)", s.Rounds, text)
	}
	return text
}

// servingRows are the times that are estimated.
func servingRows(p *explain.PartExplanation, t *explain.Times) [][2]string {
	b, e, r := t.Serving, t.Estimate, t.Estimate.OutputTokensPerSecond
	rate := fmt.Sprintf("%s requests that a batch keeps up / %s", term.Three(b.Running), term.Duration(b.Pace))
	if b.Correction.Pace != 0 {
		rate += fmt.Sprintf(" / %s%s", term.Three(math.Exp(b.Correction.Pace)), nearby)
	}
	rate += " = " + term.Expected(r.Value, r.Low, r.High, "tokens/s")
	if p.Copies > 1 {
		n := float64(p.Copies)
		rate += fmt.Sprintf("; × %d copies = %s", p.Copies, term.Expected(n*r.Value, n*r.Low, n*r.High, "tokens/s"))
	}
	hour := float64(t.MicroUSDPerHour) / 1e6
	devices := float64(t.Query.Strategy.Tensor * t.Query.Strategy.Pipeline * t.Query.Strategy.AttentionData)
	return [][2]string{
		term.RowIf(b.MixedSteps > 0, "Mixed step", fmt.Sprintf("%s, with %.0f tokens of others' prompts", term.Duration(b.Mixed.Seconds), b.Mixed.Prompt)),
		{"TPOT", tpotText(b) + correctedText(b.TPOT, b.Correction.Pace) + term.Durations(e.TPOT.Value, e.TPOT.Low, e.TPOT.High)},
		{"Prompt alone", promptText(b, t.Query.Strategy.AttentionData)},
		{"TTFT", ttftText(b) + correctedText(b.TTFT, b.Correction.First) + term.Durations(e.TTFT.Value, e.TTFT.Low, e.TTFT.High)},
		{"Throughput", rate},
		term.RowIf(t.MicroUSDPerHour > 0, "Price", fmt.Sprintf("%.0f × %.2f USD an hour / 3600 s / %s tokens/s = %s USD a million tokens; %s",
			devices, hour, term.Three(r.Value), words.Figure(devices*hour/3600/r.Value*1e6, words.Digits(r.Low, r.High)), t.PriceBasis)),
	}
}

// nearby says what a factor is.
const nearby = " (measured of this model and device)"

// correctedText says what a time is before and by which factor it is corrected; empty where it is not.
func correctedText(seconds, correction float64) string {
	if correction == 0 {
		return ""
	}
	factor := math.Exp(correction)
	return fmt.Sprintf("%s × %s%s = ", term.Duration(seconds/factor), term.Three(factor), nearby)
}

func tpotText(b *cost.Breakdown) string {
	if b.MixedSteps == 0 {
		return ""
	}
	if decode := b.Output - b.MixedSteps; decode > 0 {
		return fmt.Sprintf("(%s mixed steps × %s + %s × %s) / %.0f tokens = ", term.Three(b.MixedSteps), term.Duration(b.Mixed.Seconds), term.Three(decode), term.Duration(b.Decode.Seconds), b.Output)
	}
	return fmt.Sprintf("%s mixed steps × %s / %.0f tokens = ", term.Three(b.MixedSteps), term.Duration(b.Mixed.Seconds), b.Output)
}

// promptText is the time to read a prompt, with its largest parts.
func promptText(b *cost.Breakdown, data int) string {
	parts := map[string]float64{}
	for i := range b.Chunk.Stages {
		for _, o := range b.Chunk.Stages[i].Operators {
			parts[o.Name] += o.Seconds
		}
		if transfer := b.Chunk.Stages[i].Transfer; transfer > 0 {
			parts["transfers"] += transfer
		}
	}
	names := slices.SortedFunc(maps.Keys(parts), func(x, y string) int { return cmp.Or(cmp.Compare(parts[y], parts[x]), cmp.Compare(x, y)) })
	listed := make([]string, 0, mostParts)
	for _, name := range names[:min(mostParts, len(names))] {
		listed = append(listed, name+" "+term.Duration(parts[name]))
	}
	of := fmt.Sprintf("%.0f tokens", b.Chunk.Prompt)
	if data > 1 {
		of = fmt.Sprintf("%d × %.0f tokens, a prompt on each data rank", data, b.Chunk.Prompt/float64(data))
	}
	if b.Chunks > 1 {
		return fmt.Sprintf("%s in %s chunks, each of %s: %s …", term.Duration(b.Prompt), term.Three(b.Chunks), of, strings.Join(listed, ", "))
	}
	return fmt.Sprintf("%s for %s: %s …", term.Duration(b.Prompt), of, strings.Join(listed, ", "))
}

// mostParts is how many parts of a prompt's time are listed.
const mostParts = 5

func ttftText(b *cost.Breakdown) string {
	text := fmt.Sprintf("%s to start + %s × (1 + %s prompts ahead)", term.Duration(b.Start), term.Duration(b.Prompt), term.Three(b.Ahead))
	if b.Joining > 0 {
		text += fmt.Sprintf(" + %s of the running step", term.Duration(b.Joining))
	}
	if b.Queue > 0 {
		text += fmt.Sprintf(" + %s until a place is free", term.Duration(b.Queue))
	}
	return text + " = "
}

func explainTraining(p *term.Page, t *explain.Times) {
	b, job := t.Training, t.Job
	p.Linef("A step of %.0f sequences of %.0f tokens: %s micro-batches of %.0f on each of %d replicas, through %s. %s operations are counted for a step, with what is computed again.",
		job.Batch, job.Sequence, term.Three(b.MicroBatches), job.MicroBatch, max(1, job.Replicas), words.Counted(b.Stages, "stage"), term.InUnits(b.Operations, "FLOP"))
	pass := b.Compute + b.Gather - b.Hidden + b.Transfer
	rows := [][]string{{"matrices", term.Duration(b.Matrices), fmt.Sprintf("products in a micro-batch at %s", term.InUnits(b.Rate, "FLOP/s"))}}
	for _, part := range []struct {
		name    string
		seconds float64
		text    string
	}{
		{"attention", b.Attention, "products of attention"},
		{"traffic", b.Traffic, "what is read and written between matrices and for the loss"},
		{"launches", b.Launches, "starting kernels, layer by layer"},
		{"collectives", b.Collectives, collectivesText(job)},
		{"gathers", b.Gather, fmt.Sprintf("of weights, and gradients reduced to shares, in 16 bits at %s", term.InUnits(b.ReduceRate, "B/s"))},
		{"hidden", -b.Hidden, "part of the gathers that is done beside the above"},
		{"transfer", b.Transfer, "to the next stage, and gradients back"},
	} {
		if part.seconds > 0 {
			rows = append(rows, []string{part.name, term.Duration(part.seconds), part.text})
		} else if part.seconds < 0 {
			rows = append(rows, []string{part.name, "-" + term.Duration(-part.seconds), part.text})
		}
	}
	rows = append(rows, []string{"micro-batch", term.Duration(pass), "sum"})
	if b.Reduce > 0 {
		rows = append(rows, []string{"gradients", term.Duration(b.Reduce), fmt.Sprintf("what is left of reducing them in 16 bits over %d replicas at %s", job.Replicas, term.InUnits(b.ReduceRate, "B/s"))})
	}
	step := fmt.Sprintf("(%s + %s of waiting) × %s + %s + %s of the optimizer", term.Three(b.MicroBatches), term.Three(b.Bubble), term.Duration(pass), term.Duration(b.Reduce), term.Duration(b.Update))
	p.Table([]string{"PART", "TIME", "ARITHMETIC"}, append(rows,
		[]string{"step", term.Durations(t.Step.Value, t.Step.Low, t.Step.High), step},
		[]string{"tokens/s", term.Three(job.Batch * job.Sequence / t.Step.Value), fmt.Sprintf("%.0f × %.0f tokens / %s", job.Batch, job.Sequence, term.Duration(t.Step.Value))}))
}

// collectivesText says what the ranks of a training job exchange.
func collectivesText(job *cost.Training) string {
	const tensor = "two all-reduces a layer and pass"
	if job.Context <= 1 {
		return tensor
	}
	context := fmt.Sprintf("keys and values to %d other context ranks a layer and pass", job.Context-1)
	if job.Strategy.Tensor <= 1 {
		return context
	}
	return tensor + ", " + context
}
