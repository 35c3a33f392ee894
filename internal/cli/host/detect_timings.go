package host

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect"
)

// printTimings prints what each backend took, the slowest first, their sum, and how long it took altogether: they run at
// the same time.
func printTimings(w io.Writer, times []detect.BackendTime, elapsed time.Duration) error {
	sorted := slices.Clone(times)
	slices.SortFunc(sorted, func(a, b detect.BackendTime) int {
		return cmp.Or(cmp.Compare(b.Elapsed, a.Elapsed), cmp.Compare(a.Backend, b.Backend))
	})
	var sum time.Duration
	var rows [][]string
	for _, t := range sorted {
		rows = append(rows, []string{t.Backend, term.Milliseconds(t.Elapsed)})
		sum += t.Elapsed
	}
	rows = append(rows, []string{"sum", term.Milliseconds(sum)}, []string{"elapsed", term.Milliseconds(elapsed)})
	return term.Table(w, []string{"BACKEND", "TIME"}, rows)
}
