package verification

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// linkSpeed is what a direction of a played connection carries, in bytes a second.
	linkSpeed = 8e6
	// pieceSize bounds what goes over a connection at once, and backlog how many pieces and connections wait on their way.
	pieceSize = 16 << 10
	backlog   = 128
)

// network plays TCP within this process. In a synctest bubble its clock is the bubble's, so that deadlines end and bandwidths are
// measured the same however busy the machine is.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	// work is what carries bytes; it ends when both ends of every connection are closed.
	work sync.WaitGroup
}

// listener is one port of a network.
type listener struct {
	address *net.TCPAddr
	arrived chan net.Conn
	closing sync.Once
	closed  chan struct{}
}

func (n *network) listen() *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{
		address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: len(n.listeners) + 1},
		arrived: make(chan net.Conn, backlog), closed: make(chan struct{}),
	}
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	n.listeners[l.address.String()] = l
	return l
}

// dial connects to a port that listens, whether or not anybody takes the connection.
func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("dial %s: nobody listens", address)
	}
	near, far := n.connect()
	select {
	case <-l.closed:
		return nil, errors.Join(near.Close(), far.Close(), fmt.Errorf("dial %s: refused", address))
	case l.arrived <- far:
		l.turnAway()
		return near, nil
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arrived:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return l.address }

func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	l.turnAway()
	return nil
}

// turnAway closes the connections that nobody took from a listener that is closed.
func (l *listener) turnAway() {
	select {
	case <-l.closed:
	default:
		return
	}
	for {
		select {
		case conn := <-l.arrived:
			_ = conn.Close() // as the kernel does
		default:
			return
		}
	}
}

// connection is one end of a connection, each direction of which has a pipe to itself.
type connection struct {
	net.Conn // what is read, and the addresses
	sends    net.Conn
}

func (n *network) connect() (near, far *connection) {
	forth, forthEnd := n.direction()
	back, backEnd := n.direction()
	return &connection{backEnd, forth}, &connection{forthEnd, back}
}

// direction carries what is written to its first end to the second one.
func (n *network) direction() (from, to net.Conn) {
	from, entry := net.Pipe()
	exit, to := net.Pipe()
	pieces := make(chan []byte, backlog)
	n.work.Go(func() {
		defer close(pieces)
		for {
			piece := make([]byte, pieceSize)
			size, err := entry.Read(piece)
			if err != nil {
				return
			}
			pieces <- piece[:size]
		}
	})
	n.work.Go(func() {
		for piece := range pieces {
			<-time.After(time.Duration(len(piece)) * time.Second / linkSpeed)
			if _, err := exit.Write(piece); err != nil {
				_ = entry.Close() // nobody reads any more
			}
		}
		_ = exit.Close() // what was written has been read
	})
	return from, to
}

func (c *connection) Write(b []byte) (int, error) {
	n, err := c.sends.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}

func (c *connection) CloseWrite() error { return c.sends.Close() }
func (c *connection) Close() error      { return errors.Join(c.sends.Close(), c.Conn.Close()) }

func (c *connection) SetWriteDeadline(t time.Time) error { return c.sends.SetWriteDeadline(t) }
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.sends.SetWriteDeadline(t), c.SetReadDeadline(t))
}
