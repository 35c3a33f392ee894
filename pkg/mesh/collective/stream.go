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

// sender sends the frames of a stream. The payload may be changed when send returns.
type sender interface {
	send(h *header, payload []byte) error
}

// receiver receives the frames of a stream. Both methods return *mismatch where a frame arrives that is not due, and errLeft
// where the other rank has closed.
type receiver interface {
	// receive fills a buffer with the payload.
	receive(due *header, into []byte) error
	// consume gives the payload piece by piece, in order, with each piece's offset; pieces are of whole elements.
	consume(due *header, use func(offset int, piece []byte)) error
}

var errLeft = errors.New("closed its communicator")

// transport carries streams between the ranks of a communicator.
type transport interface {
	openSender(ctx context.Context, key streamKey) (sender, error)
	openReceiver(ctx context.Context, key streamKey) (receiver, error)
	// address is where a rank is reached, empty within a process.
	address(rank int) string
	// spread tells the other ranks that the communicator failed, and ends what waits in a stream on this rank. It is called
	// at most once.
	spread(failure *RankError)
	// close leaves the other ranks. What was sent before still arrives.
	close()
}
