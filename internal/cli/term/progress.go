package term

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is how long a command may be silent.
const progressInterval = 2 * time.Second

// Progress tells how far a long command is, at most once in two seconds.
type Progress struct {
	out  io.Writer
	now  func() time.Time
	last time.Time
}

// NewProgress returns the progress of a command that begins now.
func NewProgress(out io.Writer, now func() time.Time) *Progress {
	return &Progress{out: out, now: now, last: now()}
}

// Tell prints a line where the command has been silent for long enough.
func (p *Progress) Tell(format string, args ...any) {
	if now := p.now(); now.Sub(p.last) >= progressInterval {
		p.last = now
		_, _ = fmt.Fprintf(p.out, format+"\n", args...)
	}
}
