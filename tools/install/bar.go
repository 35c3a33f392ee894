package install

import (
	"fmt"
	"strings"
	"time"
)

// Course is how far builds have come.
type Course struct {
	// Done and Total are packages that had to be compiled.
	Done, Total int
	Elapsed     time.Duration
}

// barWidth is that of the bar alone; with what follows it fits 80 columns.
const barWidth = 20

// early is the share of packages below which their pace says nothing.
const early = 20

// Left is an estimate of the time that is left, by the pace so far; false where it is too early for one.
func (c Course) Left() (time.Duration, bool) {
	if c.Total == 0 || c.Done*early < c.Total {
		return 0, false
	}
	return c.Elapsed * time.Duration(c.Total-c.Done) / time.Duration(c.Done), true
}

// String is a bar, with what it rests on.
func (c Course) String() string {
	filled := 0
	if c.Total > 0 {
		filled = min(barWidth, barWidth*c.Done/c.Total)
	}
	text := fmt.Sprintf("[%s%s] %d of %d packages, %s", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), c.Done, c.Total, seconds(c.Elapsed))
	left, known := c.Left()
	switch {
	case c.Total > 0 && c.Done >= c.Total:
		return text + "; linking"
	case known:
		return text + "; at this pace " + seconds(left) + " left"
	default:
		return text
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
