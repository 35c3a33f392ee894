// Package figure holds measured figures to their bars in tests. Every figure is a line of the test's log that the command
// beside this package makes a table of, so that what is printed is what is tested.
package figure

import (
	"fmt"
	"strings"
)

// Mark begins the line of a figure; tabs part its columns.
const Mark = "figure:\t"

// Figure is something measured with its bar.
type Figure struct {
	// Subject is the table or the part that the figure belongs to, What is what was measured.
	Subject, What string
	// Measured is the figure with its unit, Bar what it is held to; without a bar it is only reported.
	Measured, Bar string
	Holds         bool
}

// Test is what a figure needs of a test.
type Test interface {
	Helper()
	Log(args ...any)
	Errorf(format string, args ...any)
}

// Hold writes the figure into the test's log and fails the test where the bar does not hold.
func (f Figure) Hold(t Test) {
	t.Helper()
	t.Log(f.line())
	if !f.Holds && f.Bar != "" {
		t.Errorf("%s: %s: %s, want %s", f.Subject, f.What, f.Measured, f.Bar)
	}
}

const (
	holds    = "yes"
	fails    = "NO"
	reported = "-"
)

func (f Figure) line() string {
	verdict, bar := holds, f.Bar
	switch {
	case bar == "":
		verdict, bar = reported, reported
	case !f.Holds:
		verdict = fails
	}
	cells := []string{f.Subject, f.What, f.Measured, bar, verdict}
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(cell), " ")
	}
	return Mark + strings.Join(cells, "\t")
}

// Percent holds a share to the most it may be.
func Percent(subject, what string, measured, most float64, of int) Figure {
	return Figure{subject, what, fmt.Sprintf("%.1f %% of %d", 100*measured, of), fmt.Sprintf("at most %.4g %%", 100*most), measured <= most}
}

// Share holds a share to the least it must be.
func Share(subject, what string, measured, least float64, of int) Figure {
	return Figure{subject, what, fmt.Sprintf("%.1f %% of %d", 100*measured, of), fmt.Sprintf("at least %.4g %%", 100*least), measured >= least}
}

// All holds a count to all of at least some.
func All(subject, what string, right, of, least int) Figure {
	bar := "all"
	if least > 0 {
		bar = fmt.Sprintf("all, of at least %d", least)
	}
	return Figure{subject, what, fmt.Sprintf("%d of %d", right, of), bar, right == of && of >= least}
}

// Report is a figure without a bar.
func Report(subject, what, measured string) Figure {
	return Figure{Subject: subject, What: what, Measured: measured}
}
