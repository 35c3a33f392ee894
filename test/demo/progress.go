package main

import (
	"fmt"
	"io"
	"time"
)

// progress says what is going on and when.
type progress struct {
	out   io.Writer
	begin time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, begin: time.Now()} }

// step prints a line with the seconds since the beginning.
func (p *progress) step(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "[%5.1f s] %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// waiting calls describe now and then until stop is called, so that a long wait is not silent.
func (p *progress) waiting(describe func() string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.step("  still waiting for %s", describe())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
