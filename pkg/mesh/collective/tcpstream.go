package collective

import (
	"io"
	"net"
	"sync"
	"time"
)

// pieceBytes is how much of a payload is read before it is combined: it stays in a processor's cache meanwhile. It is a
// multiple of every element's size.
const pieceBytes = 64 << 10

// tcpSender writes frames with one system call each, straight from the caller's buffer.
type tcpSender struct {
	conn net.Conn

	mu     sync.Mutex
	cut    bool // a frame was not sent to its end
	head   [headerSize]byte
	vector [2][]byte
	rest   net.Buffers // of the vector, while it is written
}

func (s *tcpSender) send(h *header, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.put(&s.head)
	s.vector[0], s.vector[1] = s.head[:], payload
	s.rest = s.vector[:]
	_, err := s.rest.WriteTo(s.conn)
	s.vector[1] = nil
	s.cut = s.cut || err != nil
	return err
}

// leave says that nothing follows, unless a frame is on its way, into which the words would fall.
func (s *tcpSender) leave(deadline time.Time) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.cut {
		return
	}
	h := header{operation: opClose}
	h.put(&s.head)
	_ = s.conn.SetWriteDeadline(deadline) // a connection that is broken needs no farewell
	_, _ = s.conn.Write(s.head[:])
}

// tcpReceiver reads frames straight into the caller's buffer.
type tcpReceiver struct {
	conn  net.Conn
	head  [headerSize]byte
	piece []byte
}

func (r *tcpReceiver) expect(due *header) error {
	if _, err := io.ReadFull(r.conn, r.head[:]); err != nil {
		return err
	}
	var want [headerSize]byte
	due.put(&want)
	if r.head == want {
		return nil
	}
	got, err := parseHeader(&r.head)
	if err != nil {
		return err
	}
	if got.operation == opClose {
		return errLeft
	}
	return &mismatch{got, *due}
}

func (r *tcpReceiver) receive(due *header, into []byte) error {
	if err := r.expect(due); err != nil {
		return err
	}
	_, err := io.ReadFull(r.conn, into)
	return err
}

func (r *tcpReceiver) consume(due *header, use func(offset int, piece []byte)) error {
	if err := r.expect(due); err != nil {
		return err
	}
	if r.piece == nil {
		r.piece = make([]byte, pieceBytes)
	}
	for at := 0; at < int(due.length); at += pieceBytes {
		piece := r.piece[:min(pieceBytes, int(due.length)-at)]
		if _, err := io.ReadFull(r.conn, piece); err != nil {
			return err
		}
		use(at, piece)
	}
	return nil
}
