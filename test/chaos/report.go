package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is what came of a run.
type Report struct {
	Options
	rows       map[string]*row
	violations []string
	took       time.Duration
	worlds     int
	// plans were in force at some time, changes are those of placements, and mishandled requests those that rules of a proxy were for.
	plans, changes, mishandled int
}

// row is what came of one kind of fault.
type row struct {
	injected, violations int
	longest              time.Duration
}

func newReport(o Options) *Report { return &Report{Options: o, rows: map[string]*row{}} }

// add takes what came of another world, which ran at the same time.
func (r *Report) add(of *Report) {
	for name, is := range of.rows {
		sum := r.row(name)
		sum.injected += is.injected
		sum.violations += is.violations
		sum.longest = max(sum.longest, is.longest)
	}
	for _, v := range of.violations {
		r.violations = append(r.violations, fmt.Sprintf("seed %d, %s", of.Seed, v))
	}
	r.worlds++
	r.took = max(r.took, of.took)
	r.plans += of.plans
	r.changes += of.changes
	r.mishandled += of.mishandled
}

func (r *Report) row(of string) *row {
	if r.rows[of] == nil {
		r.rows[of] = &row{}
	}
	return r.rows[of]
}

func (r *Report) note(of string, took time.Duration) {
	is := r.row(of)
	is.injected++
	is.longest = max(is.longest, took)
}

func (r *Report) violate(of, what string) {
	r.row(of).violations++
	r.violations = append(r.violations, of+": "+what)
}

// Violations is how many there were.
func (r *Report) Violations() int { return len(r.violations) }

// Injected is how many faults there were.
func (r *Report) Injected() int {
	n := 0
	for name, is := range r.rows {
		if name != "start" {
			n += is.injected
		}
	}
	return n
}

// Print writes a table of the faults by kind, and all violations.
func (r *Report) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "FAULT\tINJECTED\tVIOLATIONS\tLONGEST UNTIL REST")
	for _, name := range slices.Sorted(maps.Keys(r.rows)) {
		is := r.rows[name]
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%.1f s\n", name, is.injected, is.violations, is.longest.Seconds())
	}
	_, _ = fmt.Fprintf(table, "all\t%d\t%d\t\n", r.Injected(), r.Violations())
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err := fmt.Fprintf(out, "\n%d changes of placements, %d plans in force at some time, %d requests mishandled, %.0f s, %d worlds from seed %d\n",
		r.changes, r.plans, r.mishandled, r.took.Seconds(), r.worlds, r.Seed)
	for _, v := range r.violations {
		_, _ = fmt.Fprintln(out, "violation:", v)
	}
	return err
}

// dump keeps what is there beside the logs of the operators.
func (w *world) dump(ctx context.Context, number int) {
	s, err := w.look(ctx)
	if err != nil {
		return
	}
	text, err := json.MarshalIndent(map[string]any{
		"placements": s.placements.Items, "plans": s.plans.Items, "meshes": s.meshes.Items, "pods": s.pods.Items, "inventories": s.inventories.Items,
	}, "", " ")
	if err != nil {
		return
	}
	name := filepath.Join(w.Dir, fmt.Sprintf("violation-%d", number))
	_ = os.WriteFile(name+".json", text, 0o600)
	for _, of := range w.seats {
		if log, err := os.ReadFile(of.log); err == nil {
			_ = os.WriteFile(name+"-"+of.name+".log", log, 0o600)
		}
	}
	w.logf("  kept: %s", name)
}
