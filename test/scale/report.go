package scale

import (
	"fmt"
	"io"
	"text/tabwriter"
)

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
	rate := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	row("WHAT", "PLACEMENTS", "A SECOND", "LAST TENTH")
	if r.Bare.Count > 0 {
		row("bare client", r.Bare.Count, rate(r.Bare.PerSecond()), rate(r.Bare.LastPerSecond()))
	}
	if r.Placed.Count > 0 {
		row("operator", r.Placed.Count, rate(r.Placed.PerSecond()), rate(r.Placed.LastPerSecond()))
		row()
		n := float64(r.Placed.Count)
		row("CALLS", "ALL", "A PLACEMENT", "BYTES A PLACEMENT")
		for _, name := range r.Calls.Names() {
			c := r.Calls[name]
			row(name, c.Requests, fmt.Sprintf("%.2f", float64(c.Requests)/n), fmt.Sprintf("%.0f", float64(c.Bytes)/n))
		}
		writes := r.Calls.Writes().Sum()
		row("all writes", writes.Requests, fmt.Sprintf("%.2f", float64(writes.Requests)/n))
		lists := r.Calls.Of("list").Sum()
		row("all lists", lists.Requests, fmt.Sprintf("%.2f", float64(lists.Requests)/n), fmt.Sprintf("%.0f", float64(lists.Bytes)/n))
		row()
		row("processor", fmt.Sprintf("%.1f ms a placement, with what makes the load", float64(r.Processor.Microseconds())/1e3))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
