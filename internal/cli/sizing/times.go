package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// ServingTimes writes the arithmetic of what so many copies that serve deliver: a step that decodes part by part, and what
// follows from it.
func ServingTimes(p *term.Page, t *explain.Times, copies int) {
	decode := &t.Serving.Decode
	slowest := slowestOf(decode.Stages)
	stage := &decode.Stages[slowest]
	rates := ratesOf(t, slowest, stage)
	p.Line("The rates that parts of a step reach are shares of the device's peaks, fitted to measurements as all times without arithmetic are:")
	p.Table([]string{"RATE", "REACHED", "ARITHMETIC"}, rates)
	p.Line(decodeText(decode, &t.Query.Workload, slowest))
	rows := term.Rows(stage.Operators, func(o *cost.Operator) []any { return []any{o.Name, term.Duration(o.Seconds), operatorText(o)} })
	if stage.Transfer > 0 {
		rows = append(rows, []string{"transfer", term.Duration(stage.Transfer), transferText(t, slowest, stage)})
	}
	rows = append(rows,
		[]string{"devices", term.Duration(stage.Seconds), "sum"},
		[]string{"step", term.Duration(decode.Seconds), stepText(decode, stage.Seconds, t)})
	p.Table([]string{"PART", "TIME", "ARITHMETIC"}, rows)
	p.Line("Times beside each other overlap: of a beside b comes the cube root of a³ + b³, layer by layer. Bytes are what a step reads of the weights and the keys and values that are counted above; a matrix takes two operations for each weight and token.")
	p.Sheet(servingRows(t, stage, copies))
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

// operatorText is the arithmetic of an operator. What is read and computed at the same time takes the smooth maximum, the
// rest adds up.
func operatorText(o *cost.Operator) string {
	quotient := func(amount, rate float64, unit, rateUnit string) string {
		return fmt.Sprintf("%s / %s = %s", term.InUnits(amount, unit), term.InUnits(rate, rateUnit), term.Duration(amount/rate))
	}
	var overlap, parts []string
	if o.Fixed > 0 && o.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%d × %s to start", o.Messages, term.Duration(o.Fixed/float64(o.Messages))))
	} else if o.Fixed > 0 {
		parts = append(parts, fmt.Sprintf("%d layers × %s", o.Layers, term.Duration(o.Fixed/float64(o.Layers))))
	}
	if o.Bytes > 0 && o.ReadRate > 0 {
		overlap = append(overlap, quotient(o.Bytes, o.ReadRate, "B", "B/s"))
	}
	if o.Operations > 0 && o.ComputeRate > 0 {
		overlap = append(overlap, quotient(o.Operations, o.ComputeRate, "FLOP", "FLOP/s"))
	}
	if len(overlap) > 0 {
		parts = append(parts, strings.Join(overlap, " beside "))
	}
	if o.Sent > 0 && o.SendRate > 0 {
		parts = append(parts, "sends "+quotient(o.Sent, o.SendRate, "B", "B/s"))
	}
	return strings.Join(parts, ", ")
}

// stepText says how the time of the devices, or of the slowest stage's, becomes the time of a step.
func stepText(s *cost.Step, devices float64, t *explain.Times) string {
	text := term.Duration(devices)
	if s.Rounds > 1 {
		text = fmt.Sprintf("%s / %s of the time in which stages work", text, term.Three(t.Constants[cost.StageShare]))
	}
	if host := hostText(s, t); host != "" {
		text = fmt.Sprintf("(%s beside %s of the host's work)", text, host)
	}
	if s.Drafting > 0 {
		text += fmt.Sprintf(" + %s of drafting", term.Duration(s.Drafting))
	}
	text += fmt.Sprintf(" + %s between steps", term.Duration(s.Fixed))
	if s.Rounds > 1 {
		return fmt.Sprintf("%d rounds × (%s)", s.Rounds, text)
	}
	return text
}

// hostText is the arithmetic of the host's work beside a step: so much for each sequence, and for each token of prompts, of
// a data rank.
func hostText(s *cost.Step, t *explain.Times) string {
	data := float64(max(1, t.Query.Strategy.AttentionData))
	sequences, prompt := s.Sequences, s.Prompt
	if s.Rounds > 1 {
		if sequences > 0 {
			sequences = max(1, sequences/float64(s.Rounds))
		}
		prompt /= float64(s.Rounds)
	}
	var parts []string
	for _, part := range []struct {
		n    float64
		each cost.Constant
	}{{sequences / data, cost.SequenceSeconds}, {prompt / data, cost.TokenSeconds}} {
		if part.n*t.Constants[part.each] > 0 {
			parts = append(parts, fmt.Sprintf("%s × %s", count(part.n), term.Duration(t.Constants[part.each])))
		}
	}
	if len(parts) > 1 {
		return "(" + strings.Join(parts, " + ") + ")"
	}
	return strings.Join(parts, "")
}

// count prints a number of things: whole, or to four digits where it is a mean.
func count(n float64) string {
	switch {
	case n == math.Trunc(n):
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n >= 1000:
		return strconv.FormatFloat(n, 'f', 1, 64)
	default:
		return strconv.FormatFloat(n, 'g', 4, 64)
	}
}

// servingRows are the times that are estimated.
func servingRows(t *explain.Times, stage *cost.StageStep, copies int) [][2]string {
	b, e, r := t.Serving, t.Estimate, t.Estimate.OutputTokensPerSecond
	rate := throughputText(t) + term.Expected(r.Value, r.Low, r.High, "tokens/s")
	if copies > 1 {
		n := float64(copies)
		rate += fmt.Sprintf("; %d copies × %s tokens/s = %s", copies, term.Three(r.Value), term.Expected(n*r.Value, n*r.Low, n*r.High, "tokens/s"))
	}
	hour := float64(t.MicroUSDPerHour) / 1e6
	devices := float64(t.Query.Strategy.Tensor * t.Query.Strategy.Pipeline * t.Query.Strategy.AttentionData)
	rows := amountRows(t, stage)
	return append(rows, [][2]string{
		term.RowIf(b.MixedSteps > 0, "Mixed step", mixedText(t)),
		term.RowIf(b.MixedSteps > 0, "Mixed steps", mixedStepsText(t)),
		{"TPOT", tpotText(t) + term.Durations(e.TPOT.Value, e.TPOT.Low, e.TPOT.High)},
		{"Prompt alone", promptText(t)},
		term.RowIf(b.Ahead > 0, "Ahead", aheadText(t)),
		{"TTFT", ttftText(t) + term.Durations(e.TTFT.Value, e.TTFT.Low, e.TTFT.High)},
		{"Pace", paceText(t)},
		{"Throughput", rate},
		{"Ranges", fmt.Sprintf("up and down by a factor of %s for TPOT, %s for TTFT and %s for tokens/s, as measurements are around estimates on this basis",
			term.Three(e.TPOT.High/e.TPOT.Value), term.Three(e.TTFT.High/e.TTFT.Value), term.Three(r.High/r.Value))},
		term.RowIf(e.Without != nil, "Without", withoutText(e)),
		term.RowIf(t.MicroUSDPerHour > 0, "Price", fmt.Sprintf("%.0f × %.2f USD an hour / 3600 s / %s tokens/s × 1000000 = %s USD a million tokens; %s",
			devices, hour, term.Three(r.Value), words.Figure(devices*hour/3600/r.Value*1e6, words.Digits(r.Low, r.High)), t.PriceBasis)),
	}...)
}

// withoutText is what would be estimated of a copy without the measurements of the site, and the factors by which these move it.
func withoutText(e *cost.Estimate) string {
	w := e.Without
	if w == nil {
		return ""
	}
	rate := w.OutputTokensPerSecond
	return fmt.Sprintf("the measurements of the site: TPOT %s, TTFT %s, %s. They move them by factors of %s, %s and %s (%s)",
		term.Durations(w.TPOT.Value, w.TPOT.Low, w.TPOT.High), term.Durations(w.TTFT.Value, w.TTFT.Low, w.TTFT.High),
		term.Expected(rate.Value, rate.Low, rate.High, "tokens/s"), term.Three(e.TPOT.Value/w.TPOT.Value), term.Three(e.TTFT.Value/w.TTFT.Value),
		term.Three(e.OutputTokensPerSecond.Value/rate.Value), e.Source)
}

// TrainingTimes writes the arithmetic of a training step.
func TrainingTimes(p *term.Page, t *explain.Times) {
	b, job := t.Training, t.Job
	p.Linef("A step of %.0f sequences of %.0f tokens: %s micro-batches of %.0f on each of %d replicas, through %s. %s operations are counted for a step, with what is computed again.",
		job.Batch, job.Sequence, term.Three(b.MicroBatches), job.MicroBatch, max(1, job.Replicas), words.Counted(b.Stages, "stage"), term.InUnits(b.Operations, "FLOP"))
	at := func(seconds, rate float64, unit, of string) string {
		return fmt.Sprintf("%s %s / %s", term.InUnits(seconds*rate, unit), of, term.InUnits(rate, unit+"/s"))
	}
	pass := b.Compute + b.Gather - b.Hidden + b.Transfer
	rows := [][]string{{"matrices", term.Duration(b.Matrices), at(b.Matrices, b.Rate, "FLOP", "of products in a micro-batch")}}
	for _, part := range []struct {
		name    string
		seconds float64
		text    string
	}{
		{"attention", b.Attention, "products of attention"},
		{"traffic", b.Traffic, at(b.Traffic, job.Device.Bandwidth, "B", "read and written between matrices and for the loss")},
		{"launches", b.Launches, "starting kernels, layer by layer"},
		{"collectives", b.Collectives, collectivesText(job)},
		{"gathers", b.Gather, at(b.Gather, b.ReduceRate, "B", "of weights and of gradients reduced to shares")},
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
		rows = append(rows, []string{"gradients", term.Duration(b.Reduce), at(b.Reduce, b.ReduceRate, "B", fmt.Sprintf("left to reduce in 16 bits over %d replicas", job.Replicas))})
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
