package collective

import (
	"context"
	"errors"
)

// lane keeps apart what a rank sends to another within a group, so that calls at the same time do not wait for each other.
type lane uint8

const (
	laneControl lane = iota // of the transport itself
	laneCollective
	lanePair // Send and Receive
	lanes    = 3
)

// streamKey names a stream: what one rank sends to another in one group and lane. Ranks are the communicator's.
type streamKey struct {
	group    groupID
	lane     lane
	from, to int
}

type groupID [8]byte

// stream is one end of what one rank sends to another. Both ways of receiving return *mismatch where a frame arrives that is not due,
// and errLeft where the other rank has closed.
type stream interface {
	// send sends a frame, on the sender's end. The payload may be changed when it returns.
	send(h *header, payload []byte) error
	// receive fills a buffer with a frame's payload, on the receiver's end.
	receive(due *header, into []byte) error
	// consume gives a frame's payload piece by piece, in order, with each piece's offset; pieces are of whole elements.
	consume(due *header, use func(offset int, piece []byte)) error
}

var errLeft = errors.New("closed its communicator")

// transport carries streams between the ranks of a communicator.
type transport interface {
	// open returns this rank's end of a stream.
	open(ctx context.Context, key streamKey) (stream, error)
	// address is where a rank is reached, empty within a process.
	address(rank int) string
	// spread tells the other ranks that the communicator failed, and ends what waits in a stream on this rank. It is called
	// at most once.
	spread(failure *RankError)
	// close leaves the other ranks. What was sent before still arrives.
	close()
}
