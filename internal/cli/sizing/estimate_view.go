package sizing

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/replay"
)

// printServed writes what a deployment needs and delivers.
func printServed(p *term.Page, a *estimate.Answer, output term.Format) {
	rows := [][2]string{
		{"Model", fmt.Sprintf("%s, weights %s, KV cache %s", a.Model, a.Weights, a.KV)},
		{"Devices", fmt.Sprintf("%d × %s, %s%s, %s", a.Devices, a.Device, degreesText(a.Degrees), copies(a.Replicas), a.Engine)},
		{"Link", linkText(a.Link)},
		lengthsRow(a.Lengths),
	}
	rows = append(rows, fitsRows(a.Fits, a.Reason)...)
	if a.Fits {
		rows = append(rows, [2]string{"Concurrency", concurrencyText(&a.Concurrency)})
		rows = append(rows, figureRows(a)...)
	}
	p.Sheet(rows)
	printStages(p, a.Stages, false, output)
	if output == term.FormatExplain {
		e := a.Explain()
		explainMemory(p, a.Stages, e.Stages)
		explainTimes(p, a, &e)
	}
}

// lengthsRow says what lengths an answer is for and where they are from; nothing where means were asked for.
func lengthsRow(l *replay.Lengths) [2]string {
	if l == nil {
		return [2]string{}
	}
	return [2]string{"Lengths", fmt.Sprintf("%d tokens in and %d out in the mean, deviations of %d %%, at most %d together: %s", l.Input, l.Output, l.Variation, l.Longest, l.Source)}
}

// figureRows are the times and the rate with their ranges, and what they were without the measurements of the site.
func figureRows(a *estimate.Answer) [][2]string {
	text := func(value *float64, r estimate.Range, without func(*estimate.Site) float64, unit string) string {
		if a.Site != nil {
			return term.Here(without(a.Site), *value, r.Low, r.High, unit)
		}
		return expected(*value, r, unit)
	}
	rows := [][2]string{
		{"TTFT", text(a.TTFTMillis, a.Ranges.TTFTMillis, func(s *estimate.Site) float64 { return s.TTFTMillis }, "ms")},
		{"TPOT", text(a.TPOTMillis, a.Ranges.TPOTMillis, func(s *estimate.Site) float64 { return s.TPOTMillis }, "ms")},
		{"Throughput", text(a.OutputTokensPerSecond, a.Ranges.OutputTokensPerSecond, func(s *estimate.Site) float64 { return s.OutputTokensPerSecond }, "output tokens/s")},
		{"Basis", a.Basis.String()},
	}
	if a.Site != nil {
		rows = append(rows, [2]string{"Measured", a.Site.Source})
	}
	return rows
}

func copies(n int) string {
	if n == 1 {
		return ""
	}
	return " × " + words.Counted(n, "copy")
}

// fitsRows say whether a model fits, and where it does not why, and in a row of its own what would help, which ends the reason.
func fitsRows(fits bool, reason string) [][2]string {
	if fits {
		return [][2]string{{"Fits", "yes"}}
	}
	colon := strings.LastIndex(reason, ": ")
	if colon < 0 {
		return [][2]string{{"Fits", "no: " + reason}}
	}
	return [][2]string{{"Fits", "no: " + reason[:colon]}, {"Remedy", reason[colon+2:]}}
}

func linkText(l estimate.Link) string {
	return fmt.Sprintf("%s, %.4g GB/s", l.Name, float64(l.BytesPerSecond)/1e9)
}

// boundNames are what limits concurrency, in words.
var boundNames = map[string]string{
	"kvCache": "what the KV cache holds", "maxSequences": "the engine's limit of sequences", "requests": "the requests offered",
	"concurrency": "what was asked", "maxTPOT": "the longest time per token", "arrivals": "with which requests leave as fast as they arrive",
}

func concurrencyText(c *estimate.Concurrency) string {
	text := fmt.Sprintf("%d, %s", c.Running, boundNames[c.LimitedBy])
	if c.LimitedBy != "kvCache" {
		text += fmt.Sprintf("; the KV cache holds %d", c.KVCache)
	}
	if c.Preempted > 0 {
		text += fmt.Sprintf("; about %.2g %% of requests are preempted and computed again", c.Preempted*100)
	}
	return text
}

// expected is a figure with its range.
func expected(value float64, r estimate.Range, unit string) string {
	return term.Expected(value, r.Low, r.High, unit)
}

// figureOf is a figure to the digits that its range leaves.
func figureOf(value float64, r estimate.Range) string {
	return words.Figure(value, words.Digits(r.Low, r.High))
}

// printStages writes what each device of a stage holds: serving has a cache, training gradients and an optimizer.
func printStages(p *term.Page, stages []estimate.Stage, training bool, output term.Format) {
	header := []string{"STAGE", "LAYERS", "WEIGHTS", "KV CACHE", "ACTIVATIONS", "ENGINE", "TOTAL", "AVAILABLE"}
	if training {
		header = []string{"STAGE", "LAYERS", "WEIGHTS", "GRADIENTS", "OPTIMIZER", "ACTIVATIONS", "ENGINE", "TOTAL", "AVAILABLE"}
	}
	wide := output.Wide() && !training
	if wide {
		header = append(header, "CACHE ROOM", "SEQUENCES")
	}
	rows := make([][]string, len(stages))
	for i := range stages {
		s, m := &stages[i], &stages[i].Memory
		amounts := []int64{m.Weights, m.Cache}
		if training {
			amounts = []int64{m.Weights, m.Gradients, m.Optimizer}
		}
		amounts = append(amounts, m.Activations, m.Engine+m.Communication, m.Total, s.Available)
		if wide {
			amounts = append(amounts, s.CacheRoom)
		}
		rows[i] = []string{strconv.Itoa(i), fmt.Sprintf("%d-%d", s.FirstLayer, s.LastLayer)}
		for _, bytes := range amounts {
			rows[i] = append(rows[i], words.HumanBytes(bytes))
		}
		if wide {
			rows[i] = append(rows[i], strconv.FormatInt(s.Sequences, 10))
		}
	}
	p.Paragraph()
	p.Table(header, rows)
}

// explainMemory writes the arithmetic of each stage.
func explainMemory(p *term.Page, stages []estimate.Stage, lines [][]memory.Line) {
	for i := range stages {
		p.Paragraph()
		p.Linef("Stage %d, layers %d to %d, each device:", i, stages[i].FirstLayer, stages[i].LastLayer)
		p.Table([]string{"COMPONENT", "PART", "BYTES", "FORMULA", "NOTE"}, term.Rows(lines[i], func(l *memory.Line) []any {
			return []any{l.Component, l.Name, term.Grouped(l.Bytes), l.Formula, l.Note}
		}))
	}
}

// explainTimes writes the arithmetic of the times, and what parts of the work add to them.
func explainTimes(p *term.Page, a *estimate.Answer, e *estimate.Explanation) {
	if e.Query == nil {
		return
	}
	p.Paragraph()
	served := cost.Break(e.Query, e.Constants)
	ServingTimes(p, &explain.Times{Basis: a.Basis, Product: a.Device, Constants: *e.Constants, Query: e.Query, Serving: &served, Estimate: e.Served}, a.Replicas)
	p.Paragraph()
	p.Line("What each part adds to the times, in ms; parts overlap, so they do not add up:")
	p.Table([]string{"PART", "TPOT", "TTFT", "WHAT IT IS"}, term.Rows(e.Terms, func(t *estimate.Term) []any {
		return []any{t.Name, term.Three(t.TPOTMillis), term.Three(t.TTFTMillis), t.What}
	}))
}

// answer prints an answer; its warnings go to the errors where people read the output, and are in the object elsewhere.
func answer(streams term.Streams, output term.Format, object any, warnings []string, show func(*term.Page)) error {
	if !output.Machine() {
		for _, warning := range warnings {
			streams.Tell("warning: " + term.Printable(warning))
		}
	}
	return streams.Write(output, object, show)
}
