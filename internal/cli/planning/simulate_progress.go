package planning

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is how long a command may be silent.
const progressInterval = 2 * time.Second

// progress tells how far a long command is, at most once in an interval.
type progress struct {
	out  io.Writer
	now  func() time.Time
	last time.Time
}

func newProgress(out io.Writer, now func() time.Time) *progress {
	return &progress{out: out, now: now, last: now()}
}

// tell prints a line where the command has been silent for long enough.
func (p *progress) tell(format string, args ...any) {
	if now := p.now(); now.Sub(p.last) >= progressInterval {
		p.last = now
		_, _ = fmt.Fprintf(p.out, format+"\n", args...)
	}
}
