package collective

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay passes bytes on until it is frozen: then both ends stay open and nothing arrives, as when a cable is pulled.
type relay struct {
	mu     sync.Mutex
	frozen bool
}

func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

// frozenConn swallows what it is given to write once the relay is frozen.
type frozenConn struct {
	net.Conn
	relay *relay
}

func (c frozenConn) Write(b []byte) (int, error) {
	c.relay.mu.Lock()
	frozen := c.relay.frozen
	c.relay.mu.Unlock()
	if frozen {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

type frozenListener struct {
	net.Listener
	relay *relay
}

func (l frozenListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return frozenConn{conn, l.relay}, nil
}

// Rank 2's host vanishes: its connections stay open and are silent. The others must notice without anybody's deadline.
func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	const vanishing = 2
	var r relay
	world := tcpWorld(t, 4, func(c *Config) {
		c.Silence = 2 * time.Second
		if c.Rank == vanishing {
			c.Listener = frozenListener{c.Listener, &r}
			c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return frozenConn{conn, &r}, err
			}
		}
	})
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
	r.freeze()
	others := slices.Delete(worldGroups(world), vanishing, vanishing+1)
	for i, err := range onAll(others, func(_ int, g Group) error { return g.Barrier(t.Context()) }) {
		e := asRankError(t, err)
		if e.Rank != vanishing || e.Failure != Lost || !strings.Contains(e.Reason, "no sign of life for 2s") {
			t.Errorf("rank %d: %v", others[i].Rank(), err)
		}
	}
}

// A connection that breaks within a frame must not complete it with anything else.
func TestCutFrameIsNoData(t *testing.T) {
	client, server := net.Pipe()
	due := header{operation: opSend, bytes: 8, length: 8}
	got := make(chan error, 1)
	go func() { got <- (&tcpStream{conn: server}).receive(&due, make([]byte, 8)) }()
	s := &tcpStream{conn: client}
	if err := client.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var head [headerSize]byte
	due.put(&head)
	if _, err := client.Write(slices.Concat(head[:], []byte("half"))); err != nil {
		t.Fatal(err)
	}
	s.cut = true
	s.leave(time.Now().Add(patience))
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
