package planning

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/shape"
)

// addNext adds the flag that asks for the next benchmark.
func addNext(command *cobra.Command, next *bool) {
	command.Flags().BoolVar(next, "next-benchmark", false, "name the benchmark that would tell most about which of the two best shapes is better")
}

// withNext shows decisions, each followed by the benchmark to run next.
func withNext(show func(*decision, *term.Page, term.Format), next bool) func(*decision, *term.Page, term.Format) {
	if !next {
		return show
	}
	return func(d *decision, p *term.Page, output term.Format) {
		show(d, p, output)
		if d.plan == nil || d.why == nil {
			return
		}
		p.Paragraph()
		printNext(p, d.why.Next)
	}
}

// runs is how many requests a benchmark has for each that is in flight.
const runs = 10

func printNext(p *term.Page, n *explain.Next) {
	if n == nil {
		p.Line("No benchmark would tell which shape is better: there are no two whose times are known.")
		return
	}
	if max(n.Apart, -n.Apart) > n.Doubt {
		p.Linef("The two best shapes, %s and %s, are %s apart, and that may be off by %s: no benchmark would turn it.", n.Strategy, n.Other, percent(n.Apart), percent(n.Doubt))
		return
	}
	p.Linef("The two best shapes are %s apart, and that may be off by %s. Measuring %s on %s, rather than %s, would leave %s:",
		percent(n.Apart), percent(n.Doubt), n.Strategy, n.Product, n.Other, percent(n.Left))
	p.Line(fmt.Sprintf("vllm bench serve --model %s --dataset-name random --random-input-len %d --random-output-len %d", n.Model, n.Input, n.Output))
	p.Line(fmt.Sprintf("  --ignore-eos --max-concurrency %d --num-prompts %d --save-result", n.Concurrency, runs*n.Concurrency))
	if s := n.Shape; s.Context <= 1 && s.Decode <= 1 {
		p.Line(fmt.Sprintf("kubectl rankwright calibrate RESULT.json --device %q --engine %s --weights %s --kv %s%s -o yaml", n.Product, n.Engine, n.Weights, n.Cache, degreesOf(&s)))
	}
}

// degreesOf are the degrees of a shape as flags.
func degreesOf(s *shape.Shape) string {
	text := fmt.Sprintf(" --tp %d", s.Tensor)
	for _, d := range []struct {
		flag string
		n    int
	}{{"pp", s.Stages}, {"dp", s.Data}, {"ep", s.Expert}} {
		if d.n > 1 {
			text += fmt.Sprintf(" --%s %d", d.flag, d.n)
		}
	}
	return text
}

// percent is a share, with the digits that it deserves.
func percent(share float64) string { return fmt.Sprintf("%.2g %%", 100*max(share, -share)) }
