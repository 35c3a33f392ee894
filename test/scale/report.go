package scale

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rankwright/rankwright/test/calls"
)

// Report is what was measured.
type Report struct {
	Options
	// Bare is placements a second of the bare client.
	Bare Rate
	// Figures are what was measured, in the order of the phases.
	Figures []Figure
	// Calls are the operator's requests while Count placements were placed under load.
	Calls calls.Calls
	Count int
}

// Figure is a row of the report.
type Figure struct {
	// What was measured, and what it came to. Target is what it is to reach; empty where nothing is.
	What, Value, Target string
	Reached             bool

	// placed is a rate that is to reach a share of the bare client's; of no placements where the figure is none.
	placed Rate
	share  float64
}

// verdicts are the last column of the report.
var verdicts = map[bool]string{true: "yes", false: "NO"}

func (r *Report) add(what, value string) {
	r.Figures = append(r.Figures, Figure{What: what, Value: value})
}

func (r *Report) held(what, value, target string, reached bool) {
	r.Figures = append(r.Figures, Figure{What: what, Value: value, Target: target, Reached: reached})
}

func (r *Report) within(what string, took, most time.Duration) {
	r.held(what, seconds(took), "at most "+seconds(most), took <= most)
}

func (r *Report) addRate(when string, placed Rate, share float64) {
	r.Figures = append(r.Figures, Figure{What: "placements, " + when, Value: fmt.Sprintf("%.1f a second", placed.PerSecond()), placed: placed, share: share})
}

// compared is a figure with what it reaches of the bare client, if it is a rate and that was measured.
func (r *Report) compared(f Figure) Figure {
	if f.placed.Count > 0 && r.Bare.Count > 0 {
		reached := f.placed.PerSecond() / r.Bare.PerSecond()
		f.Value += fmt.Sprintf(", %.0f %% of the bare client", 100*reached)
		f.Target, f.Reached = fmt.Sprintf("at least %.0f %%", 100*f.share), reached >= f.share
	}
	return f
}

func (r *Report) addLast(placed Rate) {
	share := placed.LastPerSecond() / placed.PerSecond()
	r.held("the last tenth of placements, loaded", fmt.Sprintf("%.0f %% of the mean rate", 100*share), "at least 50 %", share >= 0.5)
}

// addChurn adds what others wrote meanwhile.
func (r *Report) addChurn(written Written, took time.Duration) {
	r.add("Leases and inventories written meanwhile", fmt.Sprintf("%.0f and %.0f a second, of %d and %d", float64(written.Leases)/took.Seconds(), float64(written.Inventories)/took.Seconds(), r.Leases, r.Inventories))
}

// addPlacing adds what placements under load cost.
func (r *Report) addPlacing(used Figures, count int) {
	r.Calls, r.Count = used.Calls, count
	n := float64(count)
	const most = 10 * time.Millisecond
	each := used.Processor / time.Duration(count)
	r.held("processor time a placement, with refusals and churn", seconds(each), "at most "+seconds(most), each <= most)
	writes := writesOf(used.Calls)
	r.held("writes a placement apart from events", fmt.Sprintf("%.2f", float64(writes)/n), "at most 5", float64(writes)/n <= 5)
	// A decision confirms each of its nodes, once a batch, by a list of that node's pods.
	confirming := used.Calls["list pods"].Requests
	others := used.Calls.Of("list").Sum().Requests - confirming
	r.add("lists of one node's pods while placing", fmt.Sprint(confirming))
	r.held("other lists while placing", fmt.Sprint(others), "0", others == 0)
	r.add("allocated a placement", fmt.Sprintf("%.0f objects, %.1f MiB", float64(used.Objects)/n, float64(used.Bytes)/n/(1<<20)))
}

func (r *Report) addQuantiles(what string, took []time.Duration, most time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	last := quantile(took, 0.99)
	r.held(fmt.Sprintf("%s, p99 of %d (p50 %s)", what, len(took), seconds(quantile(took, 0.5))), seconds(last), "at most "+seconds(most), last <= most)
}

func (r *Report) addRest(used Figures, inventories int64, length time.Duration) {
	lists := used.Calls.Of("list").Sum()
	for _, name := range used.Calls.Names() {
		r.add(fmt.Sprintf("at rest for %s: %s", length, name), fmt.Sprint(used.Calls[name].Requests))
	}
	r.held(fmt.Sprintf("lists at rest for %s", length), fmt.Sprint(lists.Requests), "0", lists.Requests == 0)
	each := float64(lists.Requests) / float64(max(1, inventories))
	r.held(fmt.Sprintf("lists per inventory write, of %d", inventories), fmt.Sprintf("%.3f", each), "0", lists.Requests == 0)
	r.add("processor time at rest", fmt.Sprintf("%.1f %% of one", 100*used.Processor.Seconds()/length.Seconds()))
}

func (r *Report) addStart(figures Figures) {
	writes := writesOf(figures.Calls)
	r.held("writes of an operator that starts and has nothing to decide", fmt.Sprint(writes), "0", writes == 0)
	for _, name := range figures.Calls.Names() {
		if verb, _, _ := strings.Cut(name, " "); verb != "watch" && verb != "list" {
			r.add("an operator that starts and has nothing to decide: "+name, fmt.Sprint(figures.Calls[name].Requests))
		}
	}
	lists := figures.Calls.Of("list").Sum()
	r.add("lists of an operator that starts", fmt.Sprintf("%d, %.1f MiB", lists.Requests, float64(lists.Bytes)/(1<<20)))
}

func (r *Report) addDeletion(took time.Duration, used Figures, count int) {
	r.add(fmt.Sprintf("%d placements deleted until no plan is left", count),
		fmt.Sprintf("%s, %.2f calls each", seconds(took), float64(used.Calls.Sum().Requests)/float64(max(1, count))))
}

// addCalls adds the requests for each of some placements, and the operator's time.
func (r *Report) addCalls(what string, used Figures, count int) {
	n := float64(max(1, count))
	r.add(what+": processor time", fmt.Sprintf("%.1f ms", 1000*used.Processor.Seconds()/n))
	for _, name := range used.Calls.Names() {
		if each := float64(used.Calls[name].Requests) / n; each >= 0.1 {
			r.add(what+": "+name, fmt.Sprintf("%.2f", each))
		}
	}
}

func (r *Report) addMemory(peak, resident int64, nodes int) {
	const most = 400 << 10
	r.held(fmt.Sprintf("operator's resident memory at most, %d nodes (%d MiB at the end)", nodes, resident>>10), fmt.Sprintf("%d MiB", peak>>10), "at most 400 MiB", peak <= most)
}

func (r *Report) addWebhook(none, bound madePods) {
	const most = 20 * time.Millisecond
	r.held("calls of the webhook for pods without our label", fmt.Sprint(none.calls.all()), "0", none.calls.all() == 0)
	added := quantile(bound.took, 0.99) - quantile(none.took, 0.99)
	r.held(fmt.Sprintf("a pod with our label takes longer, p99 of %d (%s beside %s)", len(bound.took), seconds(quantile(bound.took, 0.99)), seconds(quantile(none.took, 0.99))),
		seconds(added), "at most "+seconds(most), added <= most)
	all := float64(max(1, bound.calls.all()))
	r.add("calls of the webhook, by the API server", fmt.Sprintf("%d, %.1f %% within 5 ms, %.1f %% within 25 ms", bound.calls.all(), 100*float64(bound.calls["0.005"])/all, 100*float64(bound.calls["0.025"])/all))
}

// quantile is the value below which a part of sorted values is.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

// seconds is a time in words of a fixed precision.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Print writes what was measured as tables.
func (r *Report) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				_, _ = fmt.Fprint(table, "\t")
			}
			_, _ = fmt.Fprint(table, c)
		}
		_, _ = fmt.Fprintln(table)
	}
	if r.Count > 0 {
		row("CALLS UNDER LOAD", "ALL", "A PLACEMENT", "BYTES A PLACEMENT")
		for _, name := range r.Calls.Names() {
			c := r.Calls[name]
			row(name, c.Requests, fmt.Sprintf("%.2f", float64(c.Requests)/float64(r.Count)), fmt.Sprintf("%.0f", float64(c.Bytes)/float64(r.Count)))
		}
		row()
	}
	row(fmt.Sprintf("FIGURE, %d NODES", r.Nodes), "MEASURED", "TARGET", "REACHED")
	if r.Bare.Count > 0 {
		row("bare client", fmt.Sprintf("%.1f placements a second", r.Bare.PerSecond()))
	}
	for i := range r.Figures {
		f := r.compared(r.Figures[i])
		if f.Target == "" {
			row(f.What, f.Value)
			continue
		}
		row(f.What, f.Value, f.Target, verdicts[f.Reached])
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// writesOf is how many requests changed something, apart from events.
func writesOf(c calls.Calls) int64 {
	return c.Writes().Sum().Requests - c["create events"].Requests - c["patch events"].Requests
}
