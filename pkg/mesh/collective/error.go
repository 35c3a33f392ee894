package collective

import (
	"errors"
	"fmt"
)

// ErrClosed is the error of calls on a communicator after its Close.
var ErrClosed = errors.New("the communicator is closed")

// ErrBusy is the error of a call on a group that is in another call: ranks could make the two calls in different orders.
var ErrBusy = errors.New("the group is in another call: make one group more of the same ranks for calls at the same time")

// errFailed ends what waits in a stream when the communicator has failed, which says why.
var errFailed = errors.New("the communicator has failed")

// Failure is how a rank failed.
type Failure uint8

// The failures. All but Aborted and Mismatched are seen from outside: the rank itself may be well and its network not.
const (
	Lost       Failure = iota + 1 // its connection broke or it gave no sign of life
	Left                          // it closed its communicator while others needed it
	TimedOut                      // another rank's deadline passed, or its context was cancelled, while it waited for this one
	Mismatched                    // it made another call than its peers: other operation, type, size or order
	Aborted                       // it called Abort
	maxFailure = Aborted
)

var failures = map[Failure]string{
	Lost: "is lost", Left: "left", TimedOut: "did not answer in time", Mismatched: "made another call", Aborted: "aborted",
}

func (f Failure) String() string {
	if text, ok := failures[f]; ok {
		return text
	}
	return fmt.Sprintf("Failure(%d)", uint8(f))
}

// RankError says which rank ended the calls of all ranks of a communicator. After it the communicator can only be closed.
type RankError struct {
	Rank    int
	Address string // empty within a process
	Failure Failure
	// Reporter is the rank that saw the failure.
	Reporter int
	// Reason is what the reporter saw.
	Reason string

	cause error // known on the reporter only
}

func (e *RankError) Error() string {
	where := ""
	if e.Address != "" {
		where = " (" + e.Address + ")"
	}
	return fmt.Sprintf("rank %d%s %s, says rank %d: %s", e.Rank, where, e.Failure, e.Reporter, e.Reason)
}

// Unwrap returns the reporter's own error, such as context.DeadlineExceeded; nil on other ranks.
func (e *RankError) Unwrap() error { return e.cause }
