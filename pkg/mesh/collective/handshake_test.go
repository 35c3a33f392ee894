package collective

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func testIdentity(rank int, change func(*identity)) *identity {
	id := &identity{rank: rank, size: 4, mesh: [32]byte{1}, secret: testKey}
	if change != nil {
		change(id)
	}
	return id
}

// greetAndWelcome runs both sides and returns what each says.
func greetAndWelcome(t *testing.T, dialer, listener *identity, key streamKey) (dialed, welcomed error) {
	t.Helper()
	a, b := net.Pipe()
	for _, conn := range []net.Conn{a, b} {
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	var work sync.WaitGroup
	work.Go(func() {
		welcomed = listener.welcome(b, func(streamKey) error { return nil })
		_ = b.Close()
	})
	dialed = dialer.greet(a, key)
	_ = a.Close()
	work.Wait()
	return dialed, welcomed
}

func TestHandshake(t *testing.T) {
	to2 := streamKey{lane: laneCollective, from: 1, to: 2}
	for name, test := range map[string]struct {
		dialer, listener func(*identity)
		key              streamKey
		want             error
	}{
		"same mesh":       {nil, nil, to2, nil},
		"other key":       {func(id *identity) { id.secret = bytes.Repeat([]byte{7}, 32) }, nil, to2, refusedProof},
		"other mesh":      {func(id *identity) { id.mesh[5] = 1 }, nil, to2, refusedMesh},
		"other size":      {func(id *identity) { id.size = 5 }, nil, to2, refusedSize},
		"other rank":      {nil, nil, streamKey{lane: laneCollective, from: 1, to: 3}, refusedRank},
		"rank outside":    {nil, nil, streamKey{lane: laneCollective, from: 4, to: 2}, refusedRank},
		"rank of its own": {nil, nil, streamKey{lane: laneCollective, from: 2, to: 2}, refusedRank},
		"unknown lane":    {nil, nil, streamKey{lane: lanes, from: 1, to: 2}, refusedStream},
	} {
		t.Run(name, func(t *testing.T) {
			dialed, welcomed := greetAndWelcome(t, testIdentity(1, test.dialer), testIdentity(2, test.listener), test.key)
			if !errors.Is(dialed, test.want) || !errors.Is(welcomed, test.want) {
				t.Errorf("the dialer gets %v and the listener %v, want %v", dialed, welcomed, test.want)
			}
		})
	}
}

// A listener that takes anybody but has no key is not believed.
func TestListenerMustProveItself(t *testing.T) {
	a, b := net.Pipe()
	var work sync.WaitGroup
	work.Go(func() {
		_, _ = io.CopyN(io.Discard, b, helloSize)
		_, _ = b.Write(make([]byte, challengeSize))
		_, _ = io.CopyN(io.Discard, b, proofSize)
		_, _ = b.Write(make([]byte, answerSize))
	})
	err := testIdentity(1, nil).greet(a, streamKey{from: 1, to: 2})
	work.Wait()
	mustFail(t, err, "does not prove that it has the key")
}

// spy keeps what passes through a connection.
type spy struct {
	io.ReadWriter
	said, heard bytes.Buffer
}

func (s *spy) Write(b []byte) (int, error) { s.said.Write(b); return s.ReadWriter.Write(b) }
func (s *spy) Read(b []byte) (int, error) {
	n, err := s.ReadWriter.Read(b)
	s.heard.Write(b[:n])
	return n, err
}

// What somebody overheard is of no use: neither said again to the listener, nor sent back to the dialer, and the key is
// not in it.
func TestOverheardGreetings(t *testing.T) {
	dialer, listener := testIdentity(1, nil), testIdentity(2, nil)
	key := streamKey{lane: laneCollective, from: 1, to: 2}
	a, b := net.Pipe()
	overheard := &spy{ReadWriter: a}
	var work sync.WaitGroup
	work.Go(func() { _ = listener.welcome(b, func(streamKey) error { return nil }) })
	if err := dialer.greet(overheard, key); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	for what, bytesSeen := range map[string][]byte{"said": overheard.said.Bytes(), "heard": overheard.heard.Bytes()} {
		if bytes.Contains(bytesSeen, testKey[:8]) {
			t.Errorf("the key is in what the dialer %s", what)
		}
	}

	replay := struct {
		io.Reader
		io.Writer
	}{bytes.NewReader(overheard.said.Bytes()), io.Discard}
	claimed := false
	err := listener.welcome(replay, func(streamKey) error { claimed = true; return nil })
	if !errors.Is(err, refusedProof) || claimed {
		t.Errorf("a replayed greeting gives %v, claimed %v", err, claimed)
	}
	replay.Reader = bytes.NewReader(overheard.heard.Bytes())
	mustFail(t, dialer.greet(replay, key), "does not prove that it has the key")
}

// Ranks that do not belong together do not meet, and say why by name.
func TestStrangersDoNotMeet(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"key":  {func(c *Config) { c.Key = bytes.Repeat([]byte{9}, 32) }, "its key is another: give all ranks the same key"},
		"mesh": {func(c *Config) { c.Mesh = "another" }, "it is of another mesh"},
		"size": {func(c *Config) { c.Addresses = append(c.Addresses[:2:2], "127.0.0.1:1") }, "it has another number of ranks"},
		"rank": {func(c *Config) { c.Addresses = []string{c.Addresses[0], c.Addresses[0]} }, "it is another rank than was dialed"},
	} {
		t.Run(name, func(t *testing.T) {
			listeners, addresses := listen(t, 2)
			var work sync.WaitGroup
			errs := make([]error, 2)
			// Rank 1 goes on until rank 0 has given up, so that it answers each of its tries.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for rank := range 2 {
				config := Config{Rank: rank, Addresses: addresses, Mesh: "test", Key: testKey, Listener: listeners[rank]}
				if rank == 0 {
					test.change(&config)
				}
				work.Go(func() {
					mine := ctx
					if rank == 0 {
						var stop context.CancelFunc
						mine, stop = context.WithTimeout(ctx, 500*time.Millisecond)
						defer stop()
						defer cancel()
					}
					_, errs[rank] = New(mine, config)
				})
			}
			work.Wait()
			var e *MeetingError
			if !errors.As(errs[0], &e) || !errors.Is(errs[0], context.DeadlineExceeded) || errs[1] == nil {
				t.Fatalf("got %v", errs)
			}
			mustFail(t, errs[0], "connect: refused: "+test.want)
			mustFail(t, errs[0], "rank 1 (127.0.0.1:")
		})
	}
}

// Ranks may start in any order: the last one's listener opens when all others have tried in vain.
func TestRanksStartInAnyOrder(t *testing.T) {
	listeners, addresses := listen(t, 3)
	tried := make(chan struct{}, 1<<10)
	if err := listeners[2].Close(); err != nil {
		t.Fatal(err)
	}
	world, errs := make([]*Communicator, 3), make([]error, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	join := func(rank int, listener net.Listener) {
		world[rank], errs[rank] = New(ctx, Config{
			Rank: rank, Addresses: addresses, Mesh: "test", Key: testKey, Listener: listener,
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				if err != nil {
					select {
					case tried <- struct{}{}:
					default:
					}
				}
				return conn, err
			},
		})
	}
	for rank := range 2 {
		work.Go(func() { join(rank, listeners[rank]) })
	}
	for range 4 {
		<-tried
	}
	join(2, nil) // which listens itself
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, world)
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
}

// A rank that runs twice is refused the second time; nothing happens to the first.
func TestRankThatRunsTwice(t *testing.T) {
	var first Config
	world := tcpWorld(t, 2, func(c *Config) {
		if c.Rank == 1 {
			first = *c
		}
	})
	listeners, _ := listen(t, 1)
	first.Listener = listeners[0]
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := New(ctx, first)
	mustFail(t, err, "a rank runs twice")
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
}

// Connections that say nothing, or nonsense, disturb nobody.
func TestStrangersOnThePort(t *testing.T) {
	listeners, addresses := listen(t, 2)
	for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("x", 4096)} {
		conn, err := net.Dial("tcp", addresses[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	world, errs := make([]*Communicator, 2), make([]error, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	for rank := range 2 {
		work.Go(func() {
			world[rank], errs[rank] = New(ctx, Config{Rank: rank, Addresses: addresses, Mesh: "m", Key: testKey, Listener: listeners[rank]})
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, world)
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
}
