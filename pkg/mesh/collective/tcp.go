package collective

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"sync"
	"time"
)

// farewellTime is how long Close waits for the ranks beside this one to hear it.
const farewellTime = time.Second

// New makes the communicator of one rank, over TCP. It returns when the ranks that watch this one are connected, which
// may start in any order: it tries until the context ends, and then names who is missing and why. The context counts for
// New alone.
func New(ctx context.Context, config Config) (*Communicator, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	listener, err := config.listen(ctx)
	if err != nil {
		return nil, err
	}
	c := newCommunicator(config.Rank, len(config.Addresses))
	t := &tcp{
		c: c, config: &config, listener: listener, stopping: make(chan struct{}),
		identity: identity{rank: c.rank, size: c.size, mesh: sha256.Sum256([]byte(config.Mesh)), secret: config.Key},
		conns:    map[net.Conn]struct{}{}, streams: map[streamKey]*incoming{},
	}
	c.transport = t
	t.work.Go(func() { accept(listener, &t.work, t.receive) })
	t.work.Go(t.showLife)
	err = t.meet(ctx)
	if err == nil {
		err = c.start()
	}
	if err != nil {
		t.stop()
		return nil, err
	}
	return c, nil
}

// tcp carries each stream in a connection of its own, which its sender dials: streams do not wait for each other, and
// what arrives is read where it is needed. Connections of the control lane tie the ranks together.
type tcp struct {
	c        *Communicator
	config   *Config
	identity identity
	listener net.Listener
	work     sync.WaitGroup
	stopping chan struct{}

	mu      sync.Mutex
	done    bool                    // no connection is taken any more
	conns   map[net.Conn]struct{}   // all of them
	streams map[streamKey]*incoming // by others' dialing
	senders []*tcpStream
	watched []*control
}

// incoming is a stream that another rank dials.
type incoming struct {
	arrived chan net.Conn // has room for the one connection
	claimed bool
}

func (t *tcp) address(rank int) string { return t.config.Addresses[rank] }

func (t *tcp) open(ctx context.Context, key streamKey) (stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.c.life, cancel)() // the context ends with the communicator, too
	connect, sends := t.awaitStream, key.from == t.identity.rank
	if sends {
		connect = t.dial
	}
	conn, err := connect(ctx, key)
	if err != nil {
		return nil, err
	}
	s := &tcpStream{conn: conn}
	if sends {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.senders = append(t.senders, s)
	}
	return s, nil
}

// keep remembers a connection, so that it can be interrupted and closed. It closes one that comes too late.
func (t *tcp) keep(conn net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		_ = conn.Close() // nothing was sent
		return errFailed
	}
	t.conns[conn] = struct{}{}
	return nil
}

func (t *tcp) drop(conn net.Conn) {
	t.mu.Lock()
	delete(t.conns, conn)
	t.mu.Unlock()
	_ = conn.Close() // it is of no more use
}

// spread tells those who are connected, and they tell others. Then it ends what waits in a stream.
func (t *tcp) spread(failure *RankError) {
	t.tell(&notice{noticeFailure, failure})
	past := time.Unix(1, 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	watched := make(map[net.Conn]bool, len(t.watched))
	for _, w := range t.watched {
		watched[w.conn] = true
	}
	for conn := range t.conns {
		if !watched[conn] {
			_ = conn.SetDeadline(past) // a connection that is broken waits for nothing
		}
	}
}

// close says farewell where nothing failed, and gives the others a while to hear it.
func (t *tcp) close() {
	if errors.Is(t.c.failure, ErrClosed) {
		deadline := time.Now().Add(farewellTime)
		t.mu.Lock()
		for _, s := range t.senders {
			s.leave(deadline)
		}
		t.mu.Unlock()
		t.tell(&notice{kind: noticeLeaving})
		t.awaitFarewells(farewellTime)
	}
	t.stop()
}

// stop closes everything and waits for what runs.
func (t *tcp) stop() {
	close(t.stopping)
	_ = t.listener.Close() // nobody listens any more
	t.mu.Lock()
	t.done = true
	for conn := range t.conns {
		_ = conn.Close()
	}
	t.mu.Unlock()
	t.work.Wait()
}
