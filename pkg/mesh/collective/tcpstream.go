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

// tcpStream is an end of a stream. A sender writes frames with one system call each, straight from the caller's buffer, and a receiver
// reads them straight into it.
type tcpStream struct {
	conn  net.Conn
	head  [headerSize]byte
	piece []byte // of what is received

	mu     sync.Mutex // of sending
	cut    bool       // a frame was not sent to its end
	vector [2][]byte
	rest   net.Buffers // of the vector, while it is written
}

func (s *tcpStream) send(h *header, payload []byte) error {
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
func (s *tcpStream) leave(deadline time.Time) {
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

func (s *tcpStream) expect(due *header) error {
	if _, err := io.ReadFull(s.conn, s.head[:]); err != nil {
		return err
	}
	var want [headerSize]byte
	due.put(&want)
	if s.head == want {
		return nil
	}
	got, err := parseHeader(&s.head)
	if err != nil {
		return err
	}
	if got.operation == opClose {
		return errLeft
	}
	return &mismatch{got, *due}
}

func (s *tcpStream) receive(due *header, into []byte) error {
	if err := s.expect(due); err != nil {
		return err
	}
	_, err := io.ReadFull(s.conn, into)
	return err
}

func (s *tcpStream) consume(due *header, use func(offset int, piece []byte)) error {
	if err := s.expect(due); err != nil {
		return err
	}
	if s.piece == nil {
		s.piece = make([]byte, pieceBytes)
	}
	for at := 0; at < int(due.length); at += pieceBytes {
		piece := s.piece[:min(pieceBytes, int(due.length)-at)]
		if _, err := io.ReadFull(s.conn, piece); err != nil {
			return err
		}
		use(at, piece)
	}
	return nil
}
