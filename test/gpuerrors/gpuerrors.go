// Package gpuerrors stands for `rankwright-nvml events`, which is tested where it is, in tests of agents.
package gpuerrors

import "context"

// Stream prints the lines that come, or does not start.
type Stream struct {
	Lines chan string
	Fails error
}

// New returns a stream that says first that it watches.
func New() Stream {
	s := Stream{Lines: make(chan string, 16)}
	s.Lines <- Watching
	return s
}

// Watching is the line that says so.
const Watching = `{"type":"Watching"}`

// Stream implements host.Streamer.
func (s Stream) Stream(ctx context.Context, tell func(line []byte) error, _ ...string) error {
	if s.Fails != nil {
		return s.Fails
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line := <-s.Lines:
			if err := tell([]byte(line)); err != nil {
				return err
			}
		}
	}
}
