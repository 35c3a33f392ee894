package sizing

import (
	"fmt"
	"io"
	"strconv"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/memory"
)

// servedView prints what a deployment needs and delivers.
type servedView struct{ *estimate.Answer }

func (v servedView) table(w io.Writer, wide bool) error {
	return term.Paragraphs(w,
		func(w io.Writer) error { return term.Sheet(w, v.summary()) },
		func(w io.Writer) error { return printStages(w, v.Stages, false, wide) })
}

func (v servedView) summary() [][2]string {
	rows := [][2]string{
		{"Model", fmt.Sprintf("%s, weights %s, KV cache %s", v.Model, v.Weights, v.KV)},
		{"Devices", fmt.Sprintf("%d × %s, %s%s, %s", v.Devices, v.Device, degreesText(v.Degrees), copies(v.Replicas), v.Engine)},
		{"Link", linkText(v.Link)},
		{"Fits", fitsText(v.Fits, v.Reason)},
	}
	if !v.Fits {
		return rows
	}
	return append(rows, [][2]string{
		{"Concurrency", concurrencyText(&v.Concurrency)},
		{"TTFT", expected(*v.TTFTMillis, v.Ranges.TTFTMillis, "ms")},
		{"TPOT", expected(*v.TPOTMillis, v.Ranges.TPOTMillis, "ms")},
		{"Throughput", expected(*v.OutputTokensPerSecond, v.Ranges.OutputTokensPerSecond, "output tokens/s")},
		{"Basis", string(v.Basis)},
	}...)
}

func copies(n int) string {
	if n == 1 {
		return ""
	}
	return " × " + words.Counted(n, "copy")
}

func fitsText(fits bool, reason string) string {
	if fits {
		return "yes"
	}
	return "no: " + reason
}

func linkText(l estimate.Link) string {
	return fmt.Sprintf("%s, %.4g GB/s", l.Name, float64(l.BytesPerSecond)/1e9)
}

// boundNames are what limits concurrency, in words.
var boundNames = map[string]string{
	"kvCache": "what the KV cache holds", "maxSequences": "the engine's limit of sequences", "requests": "the requests offered",
	"concurrency": "what was asked", "maxTPOT": "the longest time per token",
}

func concurrencyText(c *estimate.Concurrency) string {
	text := fmt.Sprintf("%d, %s", c.Running, boundNames[c.LimitedBy])
	if c.LimitedBy != "kvCache" {
		text += fmt.Sprintf("; the KV cache holds %d", c.KVCache)
	}
	return text
}

// expected is a figure with its range, to three digits: more would claim too much.
func expected(value float64, r estimate.Range, unit string) string {
	return fmt.Sprintf("%s %s (%s to %s)", term.Three(value), unit, term.Three(r.Low), term.Three(r.High))
}

// printStages prints what each device of a stage holds: serving has a cache, training gradients and an optimizer.
func printStages(w io.Writer, stages []estimate.Stage, training, wide bool) error {
	header := []string{"STAGE", "LAYERS", "WEIGHTS", "KV CACHE", "ACTIVATIONS", "ENGINE", "TOTAL", "AVAILABLE"}
	if training {
		header = []string{"STAGE", "LAYERS", "WEIGHTS", "GRADIENTS", "OPTIMIZER", "ACTIVATIONS", "ENGINE", "TOTAL", "AVAILABLE"}
	}
	wide = wide && !training
	if wide {
		header = append(header, "CACHE ROOM", "SEQUENCES")
	}
	rows := make([][]string, len(stages))
	for i := range stages {
		s, m := &stages[i], &stages[i].Memory
		row := []string{strconv.Itoa(i), fmt.Sprintf("%d-%d", s.FirstLayer, s.LastLayer)}
		amounts := []int64{m.Weights, m.Cache}
		if training {
			amounts = []int64{m.Weights, m.Gradients, m.Optimizer}
		}
		amounts = append(amounts, m.Activations, m.Engine+m.Communication, m.Total, s.Available)
		if wide {
			amounts = append(amounts, s.CacheRoom)
		}
		for _, bytes := range amounts {
			row = append(row, words.HumanBytes(bytes))
		}
		if wide {
			row = append(row, strconv.FormatInt(s.Sequences, 10))
		}
		rows[i] = row
	}
	return term.Table(w, header, rows)
}

func (v servedView) explain(w io.Writer) error {
	e := v.Explain()
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return term.Paragraphs(w,
		func(w io.Writer) error { return explainMemory(w, v.Stages, e.Stages) },
		func(w io.Writer) error { return explainTimes(w, e.Terms) })
}

// explainMemory prints the arithmetic of each stage.
func explainMemory(w io.Writer, stages []estimate.Stage, lines [][]memory.Line) error {
	parts := make([]func(io.Writer) error, len(stages))
	for i := range stages {
		parts[i] = func(w io.Writer) error {
			_, _ = fmt.Fprintf(w, "Stage %d, layers %d to %d, each device:\n", i, stages[i].FirstLayer, stages[i].LastLayer)
			rows := make([][]string, len(lines[i]))
			for j, l := range lines[i] {
				rows[j] = []string{l.Component, l.Name, term.Grouped(l.Bytes), l.Formula, l.Note}
			}
			return term.Table(w, []string{"COMPONENT", "PART", "BYTES", "FORMULA", "NOTE"}, rows)
		}
	}
	return term.Paragraphs(w, parts...)
}

// explainTimes prints what parts of the work add to the times.
func explainTimes(w io.Writer, terms []estimate.Term) error {
	if len(terms) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(w, "What each part adds to the times, in ms; parts overlap, so they do not add up:")
	rows := make([][]string, len(terms))
	for i, t := range terms {
		rows[i] = []string{t.Name, term.Three(t.TPOTMillis), term.Three(t.TTFTMillis), t.What}
	}
	return term.Table(w, []string{"PART", "TPOT", "TTFT", "WHAT IT IS"}, rows)
}
