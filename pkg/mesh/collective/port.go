package collective

import (
	"crypto/sha256"
	"io"
	"net"
	"sync"
	"time"
)

// maxKnocks is how many connections may wait at a door for its communicator to take them.
const maxKnocks = 64

// Port lets the communicators of several meshes share a listener: a connection goes to the mesh that it names. It proves
// nothing, which is left to the communicators.
type Port struct {
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	doors map[[sha256.Size]byte]*Door
	// arriving are the connections that have not said yet where they belong.
	arriving map[net.Conn]struct{}
	closed   bool
}

// NewPort takes the connections of a listener until Close, which closes it.
func NewPort(listener net.Listener) *Port {
	p := &Port{listener: listener, doors: map[[sha256.Size]byte]*Door{}, arriving: map[net.Conn]struct{}{}}
	p.work.Go(func() { accept(listener, &p.work, p.lead) })
	return p
}

// Door is the listener of one mesh.
type Door struct {
	port    *Port
	mesh    [sha256.Size]byte
	conns   chan net.Conn
	closing sync.Once
	closed  chan struct{}
	knock   sync.Once
	knocked chan struct{}
}

// Open makes the listener of a mesh. The last one made of a mesh gets its connections.
func (p *Port) Open(mesh string) *Door {
	d := &Door{
		port: p, mesh: sha256.Sum256([]byte(mesh)), conns: make(chan net.Conn, maxKnocks),
		closed: make(chan struct{}), knocked: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doors[d.mesh] = d
	return d
}

// Knocked returns a channel that is closed when somebody who knows the name of the mesh has connected.
func (d *Door) Knocked() <-chan struct{} { return d.knocked }

// Accept implements net.Listener.
func (d *Door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (d *Door) Addr() net.Addr { return d.port.listener.Addr() }

// Close implements net.Listener. Connections that nobody took are closed.
func (d *Door) Close() error {
	d.closing.Do(func() {
		d.port.mu.Lock()
		if d.port.doors[d.mesh] == d {
			delete(d.port.doors, d.mesh)
		}
		close(d.closed)
		d.port.mu.Unlock()
		for {
			select {
			case conn := <-d.conns:
				_ = conn.Close() // its dialer tries again elsewhere
			default:
				return
			}
		}
	})
	return nil
}

// Close closes the listener and every door.
func (p *Port) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	doors := make([]*Door, 0, len(p.doors))
	for _, d := range p.doors {
		doors = append(doors, d)
	}
	for conn := range p.arriving {
		_ = conn.Close() // nothing was agreed with it
	}
	p.mu.Unlock()
	for _, d := range doors {
		_ = d.Close() // a door always closes
	}
	p.work.Wait()
	return err
}

// lead reads which mesh a connection is for and takes it there.
func (p *Port) lead(conn net.Conn) {
	if !p.arrive(conn) {
		return
	}
	var first [helloSize]byte
	_ = conn.SetReadDeadline(time.Now().Add(greetingTime)) // a connection that is broken fails to read
	_, err := io.ReadFull(conn, first[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.arriving, conn)
	door := p.doors[[sha256.Size]byte(first[meshOffset:])]
	if err != nil || door == nil || conn.SetReadDeadline(time.Time{}) != nil {
		_ = conn.Close() // who dials tries again, and may find the door open then
		return
	}
	door.knock.Do(func() { close(door.knocked) })
	select {
	case <-door.closed:
		_ = conn.Close()
	case door.conns <- &led{Conn: conn, head: first[:]}:
	default:
		_ = conn.Close()
	}
}

// arrive remembers a connection, so that Close can end its greeting.
func (p *Port) arrive(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.arriving[conn] = struct{}{}
	return true
}

// led is a connection whose first bytes were read to find its door.
type led struct {
	net.Conn
	head []byte
}

// Read gives back what was read, and then reads on.
func (l *led) Read(into []byte) (int, error) {
	if len(l.head) > 0 {
		n := copy(into, l.head)
		l.head = l.head[n:]
		return n, nil
	}
	return l.Conn.Read(into)
}

// CloseWrite ends what is said on the connection, where it can be told.
func (l *led) CloseWrite() error { return closeWrite(l.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
