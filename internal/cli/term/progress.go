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
	out   io.Writer
	now   func() time.Time
	later func(time.Duration) <-chan time.Time
	last  time.Time
}

// Progress returns the progress of a command that begins now; it is told to the errors.
func (s Streams) Progress() *Progress {
	now := s.Clock()
	return &Progress{out: s.Err, now: now, later: s.Later(), last: now()}
}

// While tells of work that does not tell of itself, every two seconds until it is done.
func (p *Progress) While(work func() error, about string) error {
	began, done := p.now(), make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return err
		case <-p.later(progressInterval):
			p.Tell("%s, for %v so far", about, p.now().Sub(began).Round(time.Second))
		}
	}
}

// Tell prints a line where the command has been silent for long enough.
func (p *Progress) Tell(format string, args ...any) {
	if now := p.now(); now.Sub(p.last) >= progressInterval {
		p.last = now
		_, _ = fmt.Fprintf(p.out, format+"\n", args...)
	}
}
