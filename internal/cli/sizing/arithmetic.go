package sizing

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/plan/explain"
)

// stageOf returns the device and the constants of a stage of the query.
func stageOf(t *explain.Times, stage int) (*cost.Device, *cost.Constants) {
	d, c := t.Query.Device, &t.Constants
	if stage < len(t.Query.Stages) {
		s := &t.Query.Stages[stage]
		d, c = cmp.Or(s.Device, d), cmp.Or(s.Constants, c)
	}
	return d, c
}

// ratesOf are the rates of a stage's operators, each as the peak of its device times the share that is reached.
func ratesOf(t *explain.Times, at int, stage *cost.StageStep) [][]string {
	d, c := stageOf(t, at)
	var rows [][]string
	add := func(name string, peak float64, unit string, shares ...float64) {
		reached, text := peak, term.InUnits(peak, unit)
		for _, share := range shares {
			reached *= share
			text += " × " + term.Three(share)
		}
		row := []string{name, term.InUnits(reached, unit), text}
		if !slices.ContainsFunc(rows, func(r []string) bool { return slices.Equal(r, row) }) {
			rows = append(rows, row)
		}
	}
	half := halfPeak(stage.Operators, c)
	for i := range stage.Operators {
		switch o := &stage.Operators[i]; {
		case o.Name == "attention" || o.Name == "recurrence":
			add("keys, values and states read", d.Bandwidth, "B/s", c[cost.CacheShare])
			add("attention in 16 bits", half, "FLOP/s", c[cost.AttentionShare])
		case o.Name == "routed experts":
			add("weights read", d.Bandwidth, "B/s", c[cost.WeightShare])
			width, peak := widthOf(o.ComputeRate/c[cost.ExpertShare], half, c)
			add("experts in "+width.name, peak, "FLOP/s", c[width.share], c[cost.ExpertShare])
		case o.Operations > 0 && o.ReadRate > 0:
			add("weights read", d.Bandwidth, "B/s", c[cost.WeightShare])
			width, peak := widthOf(o.ComputeRate, half, c)
			add("matrices in "+width.name, peak, "FLOP/s", c[width.share])
		case o.SendRate > 0:
			add("collectives", d.Link, "B/s", c[linkShare(d)])
		}
	}
	return rows
}

// linkShare is the share of a device's link that collectives reach.
func linkShare(d *cost.Device) cost.Constant {
	if d.HostLink {
		return cost.HostLinkShare
	}
	return cost.LinkShare
}

// halfPeak is the 16-bit peak rate of the device of operators, which their attention reaches a share of.
func halfPeak(operators []cost.Operator, c *cost.Constants) float64 {
	for i := range operators {
		if o := &operators[i]; o.Name == "attention" || o.Name == "recurrence" {
			return o.ComputeRate / c[cost.AttentionShare]
		}
	}
	return 0
}

// computed is a width in which matrices are multiplied, with the share of its peak that they reach.
type computed struct {
	name  string
	share cost.Constant
}

// widthOf tells the width of matrices that reach a rate, and its peak. That of 16 bits is known; the peaks of narrower ones
// are small multiples of it.
func widthOf(rate, half float64, c *cost.Constants) (computed, float64) {
	widths := [3]computed{{"16 bits", cost.LinearShare16}, {"8 bits", cost.LinearShare8}, {"4 bits", cost.LinearShare4}}
	peak := func(w computed) float64 { return rate / c[w.share] }
	if half == 0 || math.Abs(peak(widths[0])/half-1) < same {
		return widths[0], peak(widths[0])
	}
	off := func(w computed) float64 {
		multiple := peak(w) / half
		return math.Abs(multiple - max(1, math.Round(multiple)))
	}
	if off(widths[2]) < off(widths[1]) {
		return widths[2], peak(widths[2])
	}
	return widths[1], peak(widths[1])
}

// transferText is the arithmetic of sending a batch to the next stage.
func transferText(t *explain.Times, at int, stage *cost.StageStep) string {
	d, c := stageOf(t, at)
	rate := t.Query.Transfer
	if at < len(t.Query.Stages) {
		rate = t.Query.Stages[at].Transfer
	}
	rate = cmp.Or(rate, d.Link*c[linkShare(d)])
	seconds := stage.Transfer - c[cost.TransferSeconds]
	return fmt.Sprintf("%s to start, sends %s / %s = %s to the next stage", term.Duration(c[cost.TransferSeconds]),
		term.InUnits(seconds*rate, "B"), term.InUnits(rate, "B/s"), term.Duration(seconds))
}

// amountRows say what the amounts of a step are made of that are neither weights nor cache.
func amountRows(t *explain.Times, stage *cost.StageStep) [][2]string {
	step, tensor := &t.Serving.Decode, float64(max(1, t.Query.Strategy.Tensor))
	_, c := stageOf(t, slowestOf(step.Stages))
	tokens := step.Sequences
	if step.Rounds > 1 {
		tokens = max(1, tokens/float64(step.Rounds))
	}
	tokens /= float64(max(1, t.Query.Strategy.AttentionData))
	var rows [][2]string
	hidden := 0.0
	for i := range stage.Operators {
		switch o := &stage.Operators[i]; o.Name {
		case "residual stream":
			root := ""
			if tensor > 1 {
				root = fmt.Sprintf(" / %s", term.Three(math.Sqrt(tensor)))
			}
			hidden = math.Round(o.Bytes * math.Sqrt(tensor) / (float64(o.Layers) * tokens * 2 * c[cost.Traffic]))
			rows = append(rows, [2]string{"Residual", fmt.Sprintf("%d layers × %s tokens × %.0f hidden × 2 B × %s times read or written%s = %s",
				o.Layers, count(tokens), hidden, count(c[cost.Traffic]), root, term.InUnits(o.Bytes, "B"))})
		case "all-reduces":
			rows = append(rows, [2]string{"All-reduces", fmt.Sprintf("%d × %s tokens × %.0f hidden × 2 B × 2 × %.0f / %.0f ranks = %s",
				o.Messages, count(tokens), hidden, tensor-1, tensor, term.InUnits(o.Sent, "B"))})
		}
	}
	return rows
}

// mixedText is the arithmetic of a step that carries prompts.
func mixedText(t *explain.Times) string {
	s := &t.Serving.Mixed
	if len(s.Stages) == 0 { // nobody else's prompts are read
		return ""
	}
	slowest := slowestOf(s.Stages)
	devices := s.Devices
	if s.Rounds > 1 {
		devices *= t.Constants[cost.StageShare]
	}
	return fmt.Sprintf("%s = %s in the devices; %s = %s", partsText(s.Stages[slowest:slowest+1], devices), term.Duration(devices),
		stepText(s, devices, t), term.Duration(s.Seconds))
}

// mixedStepsText says how many steps of a request's carry prompts of others.
func mixedStepsText(t *explain.Times) string {
	w, b := &t.Query.Workload, t.Serving
	return fmt.Sprintf("%s others × %s tokens of prompts / %s in a step = %s mixed steps", count(w.Concurrency-1), count(w.Read()+w.Again), count(b.Mixed.Prompt), count(b.MixedSteps))
}

// partsText lists the largest parts of the devices' time in stages, and the rest.
func partsText(stages []cost.StageStep, devices float64) string {
	parts := map[string]float64{}
	for i := range stages {
		for _, o := range stages[i].Operators {
			parts[o.Name] += o.Seconds
		}
		if transfer := stages[i].Transfer; transfer > 0 {
			parts["transfers"] += transfer
		}
	}
	names := slices.SortedFunc(maps.Keys(parts), func(x, y string) int { return cmp.Or(cmp.Compare(parts[y], parts[x]), cmp.Compare(x, y)) })
	names = names[:min(mostParts, len(names))]
	listed := make([]string, 0, mostParts+1)
	rest := devices
	for _, name := range names {
		listed = append(listed, name+" "+term.Duration(parts[name]))
		rest -= parts[name]
	}
	if rest > 1e-6*devices {
		listed = append(listed, "the rest "+term.Duration(rest))
	}
	return strings.Join(listed, " + ")
}

// mostParts is how many parts of a step's time are listed.
const mostParts = 5

// promptText is the time to read a prompt, with its largest parts.
func promptText(t *explain.Times) string {
	b, data := t.Serving, t.Query.Strategy.AttentionData
	of := fmt.Sprintf("%.0f tokens", b.Chunk.Prompt)
	if data > 1 {
		of = fmt.Sprintf("%d × %.0f tokens, a prompt on each data rank", data, b.Chunk.Prompt/float64(data))
	}
	chunk := fmt.Sprintf("%s = %s in the devices; %s = %s", partsText(b.Chunk.Stages, b.Chunk.Devices), term.Duration(b.Chunk.Devices),
		stepText(&b.Chunk, b.Chunk.Devices, t), term.Duration(b.Chunk.Seconds))
	if b.Chunks <= 1 {
		return fmt.Sprintf("for %s: %s", of, chunk)
	}
	later := (b.Prompt - b.Chunk.Seconds) / (b.Chunks - 1)
	return fmt.Sprintf("for a first chunk of %s: %s; %s + %s later chunks × %s = %s", of, chunk,
		term.Duration(b.Chunk.Seconds), term.Three(b.Chunks-1), term.Duration(later), term.Duration(b.Prompt))
}

// aheadText says how many prompts a request waits for.
func aheadText(t *explain.Times) string {
	b, w, c := t.Serving, &t.Query.Workload, &t.Constants
	reading, decoding := b.Prompt*(1+w.Again/w.Read())*w.Concurrency, b.Turns*b.Decode.Seconds
	share := fmt.Sprintf("%s + %s × %s", term.Three(c[cost.QueueShare]), term.Three(c[cost.BusyShare]), term.Three(reading/(reading+decoding)))
	others := (w.Concurrency - 1) / float64(max(1, t.Query.Strategy.AttentionData))
	extra := ""
	if w.Together {
		share += " + " + term.Three(c[cost.TogetherShare])
		extra = fmt.Sprintf(" + %s", term.Three(b.Ahead-others*(c[cost.QueueShare]+c[cost.BusyShare]*reading/(reading+decoding)+c[cost.TogetherShare])))
	}
	again := ""
	if w.Again > 0 {
		again = fmt.Sprintf(" × %s with what is read again", term.Three(1+w.Again/w.Read()))
	}
	read := fmt.Sprintf("%s × %s%s", count(w.Concurrency), term.Duration(b.Prompt), again)
	return fmt.Sprintf("%s others × (%s)%s = %s prompts; %s / (%s + %s × %s) = %s of the time goes to prompts", count(others), share, extra, count(b.Ahead),
		read, read, count(b.Turns), term.Duration(b.Decode.Seconds), term.Three(reading/(reading+decoding)))
}

func ttftText(t *explain.Times) string {
	b, w := t.Serving, &t.Query.Workload
	text := fmt.Sprintf("%s to start + %s × (1 + %s prompts ahead)", term.Duration(b.Start), term.Duration(b.Prompt), count(b.Ahead))
	if b.Copying > 0 {
		text += fmt.Sprintf(" + %s tokens copied from the host × %s", count(w.Returned), term.Duration(b.Copying/w.Returned))
	}
	if b.Joining > 0 {
		text += fmt.Sprintf(" + %s × %s of the running step", term.Duration(b.Decode.Seconds), term.Three(b.Joining/b.Decode.Seconds))
	}
	if b.Queue > 0 {
		text += fmt.Sprintf(" + (%s / %s - 1) × (%s + %s × %s) until a place is free", count(w.Clients), count(w.Concurrency),
			term.Duration(b.Prompt), count(b.Output), term.Duration(tokenSeconds(b)))
	}
	if factor := correctedText(t.Estimate.TTFT.Value, b.Start+b.Copying+b.Prompt*(1+b.Ahead)+b.Joining+b.Queue); factor != "" {
		text = "(" + text + ")" + factor
	}
	return text + " = "
}

// tokenSeconds is the time per token that the steps come to.
func tokenSeconds(b *cost.Breakdown) float64 {
	return (b.MixedSteps*b.Mixed.Seconds + max(0, b.Turns-b.MixedSteps)*b.Decode.Seconds) / b.Output
}

func tpotText(t *explain.Times) string {
	b := t.Serving
	factor := correctedText(t.Estimate.TPOT.Value, tokenSeconds(b))
	switch decode := b.Turns - b.MixedSteps; {
	case b.MixedSteps == 0 && b.Turns < b.Output:
		return fmt.Sprintf("%s steps × %s / %s tokens%s = ", count(b.Turns), term.Duration(b.Decode.Seconds), count(b.Output), factor)
	case b.MixedSteps == 0 && factor == "":
		return ""
	case b.MixedSteps == 0:
		return term.Duration(b.Decode.Seconds) + factor + " = "
	case decode > 0:
		return fmt.Sprintf("(%s mixed steps × %s + %s × %s) / %s tokens%s = ", count(b.MixedSteps), term.Duration(b.Mixed.Seconds), count(decode), term.Duration(b.Decode.Seconds), count(b.Output), factor)
	default:
		return fmt.Sprintf("%s mixed steps × %s / %s tokens%s = ", count(b.MixedSteps), term.Duration(b.Mixed.Seconds), count(b.Output), factor)
	}
}

// paceText is the arithmetic of the time between two tokens of the requests that a batch keeps up, while others take the
// places of those that end.
func paceText(t *explain.Times) string {
	b := t.Serving
	up := *t.Query
	w := &up.Workload
	up.Workload.Requests = 0
	w.Concurrency = b.Running
	at := cost.Break(&up, &t.Constants)
	running := fmt.Sprintf("%s × %s = %s requests that a batch keeps up", count(t.Query.Workload.Concurrency), term.Three(t.Constants[cost.WaveShare]), count(b.Running))
	prompts := w.Read() + w.Again
	room := max(1, cmp.Or(w.MaxBatchedTokens, 8192)*float64(max(1, t.Query.Strategy.AttentionData)*at.Decode.Rounds)-w.Concurrency)
	chunk := min(room, max(w.Read(), b.Running*prompts/b.Turns))
	steps := b.Running * prompts / chunk
	rest := max(0, b.Turns-steps)
	decode := at.Decode.Seconds
	mixed := (b.Pace*b.Output - rest*decode) / steps
	if b.Running < 1 { // less than a sequence decodes, so the step's time is what is left of the pace
		w.Concurrency = 1 + 1e-6
		mixed = cost.Break(&up, &t.Constants).Mixed.Seconds
		decode = (b.Pace*b.Output - steps*mixed) / max(1, rest)
	}
	text := fmt.Sprintf("%s requests × %s tokens / %s = %s mixed steps", count(b.Running), count(prompts), count(chunk), count(steps))
	if rest > 0 {
		return fmt.Sprintf("%s; %s; (%s × %s + %s × %s) / %s tokens = %s, where a mixed step and another of so many take as above", running, text,
			count(steps), term.Duration(mixed), count(rest), term.Duration(decode), count(b.Output), term.Duration(b.Pace))
	}
	return fmt.Sprintf("%s; %s; %s × %s / %s tokens = %s, where a mixed step of so many takes as above", running, text,
		count(steps), term.Duration(mixed), count(b.Output), term.Duration(b.Pace))
}

// throughputText is the arithmetic of tokens per second: of a batch that is kept up, or of so many requests that are offered at once and
// run in waves.
func throughputText(t *explain.Times) string {
	b, w := t.Serving, &t.Query.Workload
	text, rate := fmt.Sprintf("%s requests / %s", count(b.Running), term.Duration(b.Pace)), b.Running/b.Pace
	if w.Requests > 0 && w.Requests <= 8*b.Running {
		waves := math.Floor(w.Requests / b.Running)
		var took []string
		seconds := waves * b.Pace
		if waves > 0 {
			took = append(took, fmt.Sprintf("%.0f × %s", waves, term.Duration(b.Pace)))
		}
		if rest := w.Requests - waves*b.Running; rest > 0 {
			last := *t.Query
			last.Workload.Concurrency = max(1, rest) / t.Constants[cost.WaveShare]
			at := cost.Break(&last, &t.Constants)
			seconds += at.Pace
			took = append(took, term.Duration(at.Pace)+" for the last wave")
		}
		text, rate = fmt.Sprintf("%s requests / (%s)", count(w.Requests), strings.Join(took, " + ")), w.Requests/seconds
	}
	value := t.Estimate.OutputTokensPerSecond.Value
	if share := value / rate; math.Abs(share/t.Constants[cost.ArrivalShare]-1) < same {
		return text + fmt.Sprintf(" × %s while requests arrive at random = ", term.Three(share))
	}
	return text + correctedText(value, rate) + " = "
}

// same is the relative difference up to which numbers are printed as one.
const same = 1e-3

// correctedText is the factor by which an estimate differs from what its parts come to; empty where it does not.
func correctedText(value, parts float64) string {
	if factor := value / parts; math.Abs(factor-1) > same {
		return fmt.Sprintf(" × %s by which measurements near it differ", strconv.FormatFloat(factor, 'g', 4, 64))
	}
	return ""
}
