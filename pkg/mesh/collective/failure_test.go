package collective

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asRankError is the RankError of a call that must have failed with one.
func asRankError(t *testing.T, err error) *RankError {
	t.Helper()
	var e *RankError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a RankError", err)
	}
	return e
}

func TestFailuresAreNamedOnAllRanks(t *testing.T) {
	sum := func(ctx context.Context, g Group, count int) error {
		return g.AllReduce(ctx, make([]byte, 4*count), FP32, Sum)
	}
	never := context.Background()
	for name, test := range map[string]struct {
		// odd is what rank 2 of 4 does while the others do an all-reduce of as many elements.
		odd     func(t *testing.T, c *Communicator) error
		count   int
		failure Failure
		rank    int // -1 for any: who is named depends on who waits for whom
	}{
		"aborts": {func(_ *testing.T, c *Communicator) error { c.Abort("disk full"); return sum(never, c.World(), 1) }, 1, Aborted, 2},
		"aborts under a ring": {
			func(_ *testing.T, c *Communicator) error { c.Abort("disk full"); return sum(never, c.World(), 1) },
			1 << 20, Aborted, 2,
		},
		"leaves":          {func(_ *testing.T, c *Communicator) error { return c.Close() }, 1, Left, 2},
		"deadline":        {withDeadline(sum, 1), 10, TimedOut, -1},
		"cancelled":       {cancelled(sum), 1 << 20, TimedOut, -1},
		"other size":      {func(_ *testing.T, c *Communicator) error { return sum(never, c.World(), 11) }, 10, Mismatched, -1},
		"other ring size": {func(_ *testing.T, c *Communicator) error { return sum(never, c.World(), 1<<20+1) }, 1 << 20, Mismatched, -1},
		"other dtype": {func(_ *testing.T, c *Communicator) error {
			return c.World().AllReduce(never, make([]byte, 40), INT32, Sum)
		}, 10, Mismatched, -1},
		"other operation": {func(_ *testing.T, c *Communicator) error {
			return c.World().AllReduce(never, make([]byte, 40), FP32, Max)
		}, 10, Mismatched, -1},
		"other collective": {func(_ *testing.T, c *Communicator) error { return c.World().Barrier(never) }, 10, Mismatched, -1},
	} {
		for transport, make := range transports {
			t.Run(transport+"/"+name, func(t *testing.T) {
				world := make(t, 4)
				// One call that goes well, so that streams exist.
				mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
				errs := onAll(worldGroups(world), func(i int, g Group) error {
					if i == 2 {
						return test.odd(t, world[i])
					}
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					defer cancel()
					return sum(ctx, g, test.count)
				})
				for rank, err := range errs {
					if rank == 2 && test.failure == Left {
						continue
					}
					e := asRankError(t, err)
					if e.Failure != test.failure || test.rank >= 0 && e.Rank != test.rank {
						t.Errorf("rank %d: got %v", rank, err)
					}
					again := world[rank].World().Barrier(context.Background())
					if !errors.Is(again, err) {
						t.Errorf("rank %d: a later call gives %v, want %v", rank, again, err)
					}
				}
			})
		}
	}
}

func withDeadline(sum func(context.Context, Group, int) error, after time.Duration) func(*testing.T, *Communicator) error {
	return func(t *testing.T, c *Communicator) error {
		second, err := c.Group([]int{1, 2})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), after*time.Millisecond)
		defer cancel()
		err = sum(ctx, second, 1) // rank 1 does not call it
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		return err
	}
}

func cancelled(sum func(context.Context, Group, int) error) func(*testing.T, *Communicator) error {
	return func(t *testing.T, c *Communicator) error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := sum(ctx, c.World(), 1<<20)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the cancellation", err)
		}
		return err
	}
}

// A call that its context ends is attributed to the rank that was waited for.
func TestDeadlineNamesTheAwaitedRank(t *testing.T) {
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			world := make(t, 3)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			e := asRankError(t, world[0].World().Receive(ctx, []byte{0}, 2))
			if e.Rank != 2 || e.Reporter != 0 || e.Failure != TimedOut || !strings.Contains(e.Reason, "Send of 1 bytes as call 0") {
				t.Errorf("got %v", e)
			}
			if transport == "tcp" && e.Address == "" {
				t.Error("the address is missing")
			}
		})
	}
}

func TestCallsAfterClose(t *testing.T) {
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			world := make(t, 2)
			closeAll(world)
			closeAll(world)
			if err := world[0].World().Barrier(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want %v", err, ErrClosed)
			}
		})
	}
}

// What was sent before a rank left still arrives, and nothing that runs is left behind.
func TestCloseRightAfterTheLastCall(t *testing.T) {
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			world := make(t, 5)
			buffers := blank(5, 1<<20)
			buffers[0][0] = 7
			mustAll(t, "broadcast, then close", worldGroups(world), func(ctx context.Context, i int, g Group) error {
				return errors.Join(g.Broadcast(ctx, buffers[i], 0), world[i].Close())
			})
			for rank, b := range buffers {
				if b[0] != 7 {
					t.Errorf("rank %d received nothing", rank)
				}
			}
			goleak.VerifyNone(t, before)
		})
	}
}

func TestBusyGroup(t *testing.T) {
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			world := make(t, 2)
			g, ok := world[0].World().(*group)
			if !ok {
				t.Fatalf("the group is a %T", world[0].World())
			}
			g.collective.Lock()
			if err := g.Barrier(t.Context()); !errors.Is(err, ErrBusy) {
				t.Errorf("got %v, want %v", err, ErrBusy)
			}
			g.collective.Unlock()
			mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
		})
	}
}

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
	go func() { got <- (&tcpReceiver{conn: server}).receive(&due, make([]byte, 8)) }()
	s := &tcpSender{conn: client}
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

func TestArgumentsAreRefused(t *testing.T) {
	world := localWorld(t, 2)
	g, ctx := world[0].World(), t.Context()
	b := func(n int) []byte { return make([]byte, n) }
	for want, err := range map[string]error{
		"dtype is DType(9): use one of [FP32":       g.AllReduce(ctx, b(4), 9, Sum),
		"op is Op(0): use one of [Sum":              g.AllReduce(ctx, b(4), FP32, 0),
		"buffer has 5 bytes: FP32 needs a multiple": g.AllReduce(ctx, b(5), FP32, Sum),
		"input must have 8":                         g.ReduceScatter(ctx, b(4), b(4), FP32, Sum),
		"output has 2 bytes: FP32 needs":            g.ReduceScatter(ctx, b(2), b(4), FP32, Sum),
		"output must have 6":                        g.AllGather(ctx, b(7), b(3)),
		"root is 2: it must be a rank of the group": g.Broadcast(ctx, b(1), 2),
		"to is -1":                       g.Send(ctx, b(1), -1),
		"from is 2":                      g.Receive(ctx, b(1), 2),
		"cannot send to itself":          g.Send(ctx, b(1), 0),
		"or receive from itself":         g.Receive(ctx, b(1), 0),
		"input has 3 bytes and output 3": g.AllToAll(ctx, b(3), b(3)),
		"input has 4 bytes and output 2": g.AllToAll(ctx, b(2), b(4)),
		"rank 2 of a group is outside":   second(world[0].Group([]int{0, 2})),
		"rank -1 of a group is outside":  second(world[0].Group([]int{0, -1})),
		"rank 0 is twice in a group":     second(world[0].Group([]int{0, 0})),
		"[1] lack this rank, 0":          second(world[0].Group([]int{1})),
		"ranks of a group are empty":     second(world[0].Group(nil)),
		"size is 0: it must be 1":        second(Local(0)),
	} {
		mustFail(t, err, want)
	}
	// None of them broke anything.
	mustAll(t, "barrier", worldGroups(world), func(ctx context.Context, _ int, g Group) error { return g.Barrier(ctx) })
}

func second[T any](_ T, err error) error { return err }

func TestConfigIsRefused(t *testing.T) {
	good := Config{Addresses: []string{"127.0.0.1:0"}, Mesh: "m", Key: testKey}
	for want, change := range map[string]func(*Config){
		"addresses has 0 entries":            func(c *Config) { c.Addresses = nil },
		"rank is 1: with 1 addresses":        func(c *Config) { c.Rank = 1 },
		"rank is -1":                         func(c *Config) { c.Rank = -1 },
		"key has 31 bytes: give at least 32": func(c *Config) { c.Key = bytes.Repeat([]byte{1}, 31) },
		"mesh is empty":                      func(c *Config) { c.Mesh = "" },
		"silence is 1ms":                     func(c *Config) { c.Silence = time.Millisecond },
		`address of rank 0 is "localhost"`:   func(c *Config) { c.Addresses = []string{"localhost"} },
	} {
		config := good
		change(&config)
		_, err := New(t.Context(), config)
		mustFail(t, err, want)
	}
	c, err := New(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	buffer := encodeFloat(FP32, 3)
	if err := c.World().AllReduce(t.Context(), buffer, FP32, Average); err != nil || !bytes.Equal(buffer, encodeFloat(FP32, 3)) {
		t.Errorf("one rank alone: %v, %v", buffer, err)
	}
}

// Several groups at once, each with its own order of ranks, and two of the same ranks.
func TestGroupsAtOnce(t *testing.T) {
	lists := [][]int{{0, 1, 2, 3}, {3, 1}, {0, 2}, {2, 0, 3}, {1}, {3, 1}}
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			world := make(t, 4)
			var work sync.WaitGroup
			for number, list := range lists {
				groups := membersOf(t, world, list)
				work.Go(func() { exerciseGroup(t, groups, number) })
			}
			work.Wait()
		})
	}
}

func membersOf(t *testing.T, world []*Communicator, list []int) []Group {
	t.Helper()
	var groups []Group
	for _, rank := range list {
		g, err := world[rank].Group(list)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Ranks(), list) || g.Size() != len(list) || g.Rank() != len(groups) {
			t.Fatalf("group %v: rank %d of %d in %v", list, g.Rank(), g.Size(), g.Ranks())
		}
		groups = append(groups, g)
	}
	return groups
}

func exerciseGroup(t *testing.T, groups []Group, number int) {
	for round := range 5 {
		inputs := randomBuffers(seeded(number, round), INT64, Sum, 1000, len(groups))
		want := combineSerially(INT64, Sum, inputs)
		errs := onAll(groups, func(i int, g Group) error {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return g.AllReduce(ctx, inputs[i], INT64, Sum)
		})
		for i, got := range inputs {
			if errs[i] != nil || !bytes.Equal(got, want) {
				t.Errorf("group %d, round %d, rank %d is wrong: %v", number, round, i, errs[i])
				return
			}
		}
	}
}

func ExampleRankError() {
	fmt.Println(&RankError{
		Rank: 3, Address: "10.0.0.4:7000", Failure: Lost, Reporter: 1, Reason: "its process ended or closed the connection",
	})
	// Output: rank 3 (10.0.0.4:7000) is lost, says rank 1: its process ended or closed the connection
}
