package collective

import (
	"encoding/binary"
	"fmt"
)

// segmentBytes is the most that one frame carries: large enough that a frame's header costs nothing, small enough that a
// segment is passed on while the next one arrives.
const segmentBytes = 512 << 10

const headerSize = 32

type operation uint8

const (
	opAllReduce operation = iota + 1
	opAllGather
	opReduceScatter
	opBroadcast
	opAllToAll
	opBarrier
	opSend
	opClose // the sender has closed its communicator; nothing follows
	opGather
	opScatter
)

var operations = map[operation]string{
	opAllReduce: "AllReduce", opAllGather: "AllGather", opReduceScatter: "ReduceScatter", opBroadcast: "Broadcast",
	opAllToAll: "AllToAll", opBarrier: "Barrier", opSend: "Send", opClose: "Close", opGather: "Gather", opScatter: "Scatter",
}

// rooted are the operations that have a root, with how they go to it.
var rooted = map[operation]string{opBroadcast: "from", opGather: "to", opScatter: "from"}

func (o operation) String() string { return operations[o] }

// header precedes every frame. A receiver knows the header that it must get, so that ranks which disagree on anything
// stop instead of mixing their data.
type header struct {
	operation operation
	dtype     DType // 0 where an operation has none
	op        Op    // 0 where an operation has none
	sequence  uint32
	root      uint32
	step      uint32
	bytes     uint64 // of the whole call, as its first buffer has them
	segment   uint32
	length    uint32 // of the payload that follows
}

func (h *header) put(to *[headerSize]byte) {
	to[0], to[1], to[2], to[3] = byte(h.operation), byte(h.dtype), byte(h.op), 0
	binary.LittleEndian.PutUint32(to[4:], h.sequence)
	binary.LittleEndian.PutUint32(to[8:], h.root)
	binary.LittleEndian.PutUint32(to[12:], h.step)
	binary.LittleEndian.PutUint64(to[16:], h.bytes)
	binary.LittleEndian.PutUint32(to[24:], h.segment)
	binary.LittleEndian.PutUint32(to[28:], h.length)
}

// parseHeader refuses what no rank of this version sends.
func parseHeader(from *[headerSize]byte) (header, error) {
	h := header{
		operation: operation(from[0]), dtype: DType(from[1]), op: Op(from[2]),
		sequence: binary.LittleEndian.Uint32(from[4:]),
		root:     binary.LittleEndian.Uint32(from[8:]),
		step:     binary.LittleEndian.Uint32(from[12:]),
		bytes:    binary.LittleEndian.Uint64(from[16:]),
		segment:  binary.LittleEndian.Uint32(from[24:]),
		length:   binary.LittleEndian.Uint32(from[28:]),
	}
	_, knownOp := ops[h.op]
	switch {
	case h.operation.String() == "":
		return h, fmt.Errorf("frame has operation %d, which is not known", from[0])
	case h.dtype != 0 && h.dtype.Size() == 0:
		return h, fmt.Errorf("frame has %s, which is not known", h.dtype)
	case h.op != 0 && !knownOp:
		return h, fmt.Errorf("frame has %s, which is not known", h.op)
	case from[3] != 0:
		return h, fmt.Errorf("frame has %d in its reserved byte: it must be 0", from[3])
	case h.length > segmentBytes:
		return h, fmt.Errorf("frame has %d bytes: at most %d are possible", h.length, segmentBytes)
	}
	return h, nil
}

// call is the part of a header that is the same in all frames of a call.
func (h header) call() header {
	h.step, h.segment, h.length = 0, 0, 0
	return h
}

func (h *header) String() string {
	text := h.operation.String()
	if h.op != 0 {
		text += " " + h.op.String()
	}
	if h.dtype != 0 {
		text += " " + h.dtype.String()
	}
	text += fmt.Sprintf(" of %d bytes", h.bytes)
	if towards := rooted[h.operation]; towards != "" {
		text += fmt.Sprintf(" %s rank %d of the group", towards, h.root)
	}
	return text + fmt.Sprintf(" as call %d", h.sequence)
}

// mismatch says how a frame differs from the one that was due.
type mismatch struct{ got, want header }

func (m *mismatch) Error() string {
	if m.got.call() == m.want.call() {
		return fmt.Sprintf("sent step %d, segment %d with %d bytes of %v where step %d, segment %d with %d bytes was due",
			m.got.step, m.got.segment, m.got.length, &m.got, m.want.step, m.want.segment, m.want.length)
	}
	return fmt.Sprintf("called %v where its peer called %v", &m.got, &m.want)
}
