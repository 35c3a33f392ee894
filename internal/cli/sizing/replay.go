package sizing

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/replay"
)

// replay replays the requests of the flags on a deployment.
func (f *servingFlags) replay(streams term.Streams, s estimate.Serving, output term.Format) error {
	trace, err := f.replayed(&s)
	if err != nil {
		return err
	}
	progress := streams.Progress()
	got, err := estimate.Replay(s, trace, func(ended int) {
		progress.Tell("%s of %s requests replayed", term.Grouped(ended), term.Grouped(len(trace.Requests)))
	})
	if err != nil {
		return err
	}
	return answer(streams, output, got, got.Warnings, func(p *term.Page) {
		printServed(p, got.Answer, output)
		if got.Replay != nil {
			printReplay(p, got, trace, s.Concurrency)
		}
	})
}

// replayed returns the requests that are replayed: those of a trace, or such as --isl and --osl say.
func (f *servingFlags) replayed(s *estimate.Serving) (*replay.Trace, error) {
	if f.trace != nil {
		return f.trace, nil
	}
	of := replay.Distribution{Input: float64(s.Input), Output: float64(s.Output), Longest: int(s.Longest)}
	if s.Longest > s.Input+s.Output {
		of.Variation = float64(s.Variation) / 100
	}
	return drawn(of, s.Requests)
}

// printReplay writes what the requests saw beside the closed form.
func printReplay(p *term.Page, r *estimate.Replayed, t *replay.Trace, clients int64) {
	s := r.Replay
	how := "all sent at once"
	switch {
	case clients > 0:
		how = "from " + words.Counted(int(clients), "client")
	case r.ArrivalsPerSecond > 0:
		how = fmt.Sprintf("%s a second", term.Three(r.ArrivalsPerSecond))
	}
	p.Paragraph()
	p.Sheet([][2]string{
		{"Replay", fmt.Sprintf("%s, %s, in %s: %s", words.Counted(s.Requests, "request"), how, term.Duration(s.Seconds), t.Source)},
		{"Running", fmt.Sprintf("%s requests in a step in the mean; %s", term.Three(s.Running), words.Counted(s.Preemptions, "preemption"))},
		term.RowIf(r.Overload, "Overload", fmt.Sprintf("requests arrive faster than they are served: %s tokens/s are asked for", term.Three(r.ArrivalsPerSecond*float64(s.OutputTokens)/float64(s.Requests)))),
		term.RowIf(s.Refused > 0, "Refused", words.Counted(s.Refused, "request")+" longer than the cache"),
		term.RowIf(t.Skipped > 0, "Left out", words.Counted(t.Skipped, "row")+" of the trace without a prompt or an answer"),
	})
	row := func(name string, closed float64, of replay.Percentiles) []string {
		return []string{name, milliseconds(closed), milliseconds(of.Mean), milliseconds(of.P50), milliseconds(of.P90), milliseconds(of.P99)}
	}
	p.Table([]string{"OF A REQUEST", "CLOSED FORM", "MEAN", "P50", "P90", "P99"}, [][]string{
		row("TTFT", *r.TTFTMillis, s.TTFTMillis), row("TPOT", *r.TPOTMillis, s.TPOTMillis), row("end to end", r.EndToEndMillis, s.EndToEndMillis),
		{"output tokens/s", term.Three(*r.OutputTokensPerSecond), term.Three(s.OutputTokensPerSecond), "", "", ""},
	})
	if clients == 0 && r.ArrivalsPerSecond == 0 {
		p.Line("The closed form's TTFT is that of requests which come as others end; here all come at once and wait for one another.")
	}
}

func milliseconds(v float64) string { return term.Duration(v / 1e3) }
