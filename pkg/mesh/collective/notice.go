package collective

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Notices travel on the connections of the control lane, in both directions.

type noticeKind uint8

const (
	noticeAlive   noticeKind = iota + 1 // nothing but a sign of life
	noticeLeaving                       // the sender closes; nothing follows
	noticeFailure                       // the communicator failed
)

// Sizes in bytes. A notice is its kind, the length of its text (2 bytes), and for a failure the rank and the reporter
// (4 each) and the failure.
const (
	noticeHead   = 3
	failureHead  = 9
	maxReason    = 512
	maxNoticeLen = failureHead + maxReason
)

// notice is one message; failure is nil but for noticeFailure.
type notice struct {
	kind    noticeKind
	failure *RankError
}

func (n *notice) bytes() []byte {
	if n.failure == nil {
		return []byte{byte(n.kind), 0, 0}
	}
	reason := n.failure.Reason[:min(len(n.failure.Reason), maxReason)]
	out := []byte{byte(n.kind)}
	out = binary.LittleEndian.AppendUint16(out, uint16(failureHead+len(reason)))
	out = binary.LittleEndian.AppendUint32(out, uint32(n.failure.Rank))
	out = binary.LittleEndian.AppendUint32(out, uint32(n.failure.Reporter))
	out = append(out, byte(n.failure.Failure))
	return append(out, reason...)
}

// readNotice reads one notice in a communicator of so many ranks. It refuses what no rank of this version sends.
func readNotice(from io.Reader, size int) (notice, error) {
	var head [noticeHead]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return notice{}, err
	}
	n := notice{kind: noticeKind(head[0])}
	length := int(binary.LittleEndian.Uint16(head[1:]))
	switch n.kind {
	case noticeAlive, noticeLeaving:
		if length != 0 {
			return n, fmt.Errorf("notice of kind %d has %d bytes: it must have none", n.kind, length)
		}
		return n, nil
	case noticeFailure:
		if length < failureHead || length > maxNoticeLen {
			return n, fmt.Errorf("notice of a failure has %d bytes: it must have %d to %d", length, failureHead, maxNoticeLen)
		}
	default:
		return n, fmt.Errorf("notice has kind %d, which is not known", n.kind)
	}
	var body [maxNoticeLen]byte
	if _, err := io.ReadFull(from, body[:length]); err != nil {
		return n, err
	}
	e := &RankError{
		Rank:     int(binary.LittleEndian.Uint32(body[0:])),
		Reporter: int(binary.LittleEndian.Uint32(body[4:])),
		Failure:  Failure(body[8]),
		Reason:   string(body[failureHead:length]),
	}
	if e.Rank >= size || e.Reporter >= size || e.Failure == 0 || e.Failure > maxFailure {
		return n, fmt.Errorf("notice of a failure names rank %d, reporter %d and failure %d in a communicator of %d ranks",
			e.Rank, e.Reporter, e.Failure, size)
	}
	n.failure = e
	return n, nil
}
