// Package helper lets the node agent have tools run in another container of its pod, over a unix socket. Tools that ask a
// driver need privileges (device nodes above all) that the agent does not have and shall not get: the container that runs
// them has those privileges, and runs nothing but a fixed list of invocations.
//
// A connection is one invocation: the client writes a request, the server answers with lines of JSON, the last of which says
// how the tool ended. A client that closes its connection, or dies, has the tool killed.
package helper

import (
	"context"
	"errors"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// maxRequest bounds a request, in bytes: an invocation has some words.
const maxRequest = 16 << 10

// request asks for a tool to be run.
type request struct {
	Argv []string `json:"argv"`
	// Stream asks for every line as it is printed.
	Stream bool `json:"stream,omitempty"`
	// TimeoutMillis is what the tool may take; 0 means without end.
	TimeoutMillis int64 `json:"timeoutMillis,omitempty"`
}

// answer is a line of the server's: something that the tool printed, or, where Ended is set, how it ended.
type answer struct {
	Line     []byte   `json:"line,omitempty"`
	Ended    bool     `json:"ended,omitempty"`
	ExitCode int      `json:"exitCode,omitempty"`
	Stdout   []byte   `json:"stdout,omitempty"`
	Stderr   []byte   `json:"stderr,omitempty"`
	Failure  *failure `json:"failure,omitempty"`
}

// failure is an error that travels: its message, and which of the errors it is that callers tell apart.
type failure struct {
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message"`
}

// ErrRefused says that the helper does not run an invocation: the agent is of another version, or asks for the tools of a
// vendor that the helper was not told to run.
var ErrRefused = errors.New("the helper does not run this")

// kinds are the errors that callers tell apart.
var kinds = map[string]error{
	"NoCommand": host.ErrNoCommand,
	"TooLarge":  host.ErrTooLarge,
	"Timeout":   context.DeadlineExceeded,
	"Cancelled": context.Canceled,
	"Refused":   ErrRefused,
}

func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	for kind, known := range kinds {
		if errors.Is(err, known) {
			return &failure{Kind: kind, Message: err.Error()}
		}
	}
	return &failure{Message: err.Error()}
}

// err is the error as it was, with the words that it had.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return remoteError{f.Message, kinds[f.Kind]}
}

// remoteError is an error of the other side. It wraps the error that callers know it by, which its message already has.
type remoteError struct {
	message string
	known   error
}

// Error implements error.
func (e remoteError) Error() string { return e.message }

// Unwrap returns the error that callers tell apart; nil where there is none.
func (e remoteError) Unwrap() error { return e.known }
