package planning

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// explainTimesOf prints what a copy delivers and why.
func explainTimesOf(w io.Writer, p *explain.PartExplanation) error {
	t := p.Times
	if t == nil {
		_, err := fmt.Fprintln(w, "The memory bandwidth or the peak rates of a device are not known, so nothing is estimated: add its product to the catalogue.")
		return err
	}
	if t.Training != nil {
		return explainTraining(w, t)
	}
	return explainServing(w, p, t)
}

// basisText says what the constants rest on.
func basisText(t *explain.Times) string {
	family := fmt.Sprintf("%s, %s, %s", t.Family.Architecture, t.Family.Engine, t.Family.Class)
	switch t.Basis {
	case cost.Fitted:
		return "Constants fitted to measurements of " + family + "."
	case cost.Related:
		return "Nothing of " + family + " was measured: the constants are those of related families, and the ranges wide."
	default:
		return "Neither the architecture nor the engine of " + family + " was measured: a roofline with the constants of all others, and wide ranges."
	}
}

func explainServing(w io.Writer, p *explain.PartExplanation, t *explain.Times) error {
	b, load := t.Serving, &t.Query.Workload
	stages := len(b.Decode.Stages)
	slowest := slowestOf(b.Decode.Stages)
	text := []string{basisText(t), decodeText(b, load, slowest, stages)}
	if err := writeLines(w, text); err != nil {
		return err
	}
	stage := &b.Decode.Stages[slowest]
	rows := make([][]string, 0, len(stage.Operators)+1)
	for i := range stage.Operators {
		o := &stage.Operators[i]
		rows = append(rows, []string{o.Name, term.Duration(o.Seconds), operatorText(o)})
	}
	if stage.Transfer > 0 {
		rows = append(rows, []string{"transfer", term.Duration(stage.Transfer), "to the next stage"})
	}
	rows = append(rows,
		[]string{"devices", term.Duration(stage.Seconds), "sum"},
		[]string{"step", term.Duration(b.Decode.Seconds), stepText(&b.Decode, stage, &t.Constants)})
	if err := term.Table(w, []string{"PART", "TIME", "ARITHMETIC"}, rows); err != nil {
		return err
	}
	return term.Sheet(w, servingRows(p, t))
}

func writeLines(w io.Writer, lines []string) error {
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
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

func decodeText(b *cost.Breakdown, load *cost.Workload, slowest, stages int) string {
	text := fmt.Sprintf("A step that decodes, for %.0f sequences with %.0f tokens before them in the mean, on each device:", b.Decode.Sequences, load.Input+load.Output/2)
	if stages > 1 {
		stage := &b.Decode.Stages[slowest]
		text = fmt.Sprintf("A step that decodes, for one of %d shares of %.0f sequences with %.0f tokens before them in the mean, on each device of the slowest stage, %d (layers %d to %d):",
			stages, b.Decode.Sequences, load.Input+load.Output/2, slowest, stage.First, stage.End-1)
	}
	return text
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
	b, e := t.Serving, t.Estimate
	rows := [][2]string{{"TPOT", tpotText(b) + term.Durations(e.TPOT.Value, e.TPOT.Low, e.TPOT.High)}}
	if b.MixedSteps > 0 {
		rows = slices.Insert(rows, 0, [2]string{"Mixed step", fmt.Sprintf("%s, with %.0f tokens of others' prompts", term.Duration(b.Mixed.Seconds), b.Mixed.Prompt)})
	}
	rows = append(rows, [2]string{"Prompt alone", promptText(b, t.Query.Strategy.AttentionData)}, [2]string{"TTFT", ttftText(b) + term.Durations(e.TTFT.Value, e.TTFT.Low, e.TTFT.High)})
	r := e.OutputTokensPerSecond
	rate := fmt.Sprintf("%s requests that a batch keeps up / %s = %s tokens/s (%s to %s)", term.Three(b.Running), term.Duration(b.Pace), term.Three(r.Value), term.Three(r.Low), term.Three(r.High))
	if p.Copies > 1 {
		n := float64(p.Copies)
		rate += fmt.Sprintf("; × %d copies = %s (%s to %s)", p.Copies, term.Three(n*r.Value), term.Three(n*r.Low), term.Three(n*r.High))
	}
	rows = append(rows, [2]string{"Throughput", rate})
	if t.MicroUSDPerHour > 0 {
		hour := float64(t.MicroUSDPerHour) / 1e6
		devices := float64(t.Query.Strategy.Tensor * t.Query.Strategy.Pipeline * t.Query.Strategy.AttentionData)
		rows = append(rows, [2]string{"Price", fmt.Sprintf("%.0f × %.2f USD an hour / 3600 s / %s tokens/s = %s USD a million tokens; %s",
			devices, hour, term.Three(r.Value), dollars(devices*hour/3600/r.Value*1e6), t.PriceBasis)})
	}
	return rows
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

func explainTraining(w io.Writer, t *explain.Times) error {
	b, job := t.Training, t.Job
	if err := writeLines(w, []string{
		basisText(t),
		fmt.Sprintf("A step of %.0f sequences of %.0f tokens: %s micro-batches of %.0f on each of %d replicas, through %s. %g passes forward are counted for each: one, two for backward, and one more where activations are computed again.",
			job.Batch, job.Sequence, term.Three(b.MicroBatches), job.MicroBatch, max(1, job.Replicas), words.Counted(b.Stages, "stage"), b.Passes),
	}); err != nil {
		return err
	}
	ranks := float64(max(1, job.Strategy.Tensor) * b.Stages * max(1, job.Replicas) * max(1, job.Context))
	rows := [][]string{{"arithmetic", term.Duration(b.Compute), fmt.Sprintf("%s / %.0f devices / %s micro-batches / %s",
		term.InUnits(b.Operations, "FLOP"), ranks, term.Three(b.MicroBatches), term.InUnits(b.Rate, "FLOP/s"))}}
	if b.Collectives > 0 {
		rows = append(rows, []string{"collectives", term.Duration(b.Collectives), collectivesText(job)})
	}
	if b.Transfer > 0 {
		rows = append(rows, []string{"transfer", term.Duration(b.Transfer), "to the next stage, and gradients back"})
	}
	pass := b.Compute + b.Collectives + b.Transfer
	rows = append(rows, []string{"micro-batch", term.Duration(pass), "sum"})
	if b.Reduce > 0 {
		rows = append(rows, []string{"gradients", term.Duration(b.Reduce), fmt.Sprintf("all-reduce in 16 bits over %d replicas at %s", job.Replicas, term.InUnits(b.ReduceRate, "B/s"))})
	}
	tokens := job.Batch * job.Sequence
	step := fmt.Sprintf("(%s + %d - 1) × %s + %s + %s", term.Three(b.MicroBatches), b.Stages, term.Duration(pass), term.Duration(b.Reduce), term.Duration(b.Fixed))
	rows = append(rows, []string{"step", term.Durations(t.Step.Value, t.Step.Low, t.Step.High), step}, []string{"tokens/s", term.Three(tokens / t.Step.Value), fmt.Sprintf("%.0f × %.0f tokens / %s", job.Batch, job.Sequence, term.Duration(t.Step.Value))})
	return term.Table(w, []string{"PART", "TIME", "ARITHMETIC"}, rows)
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
