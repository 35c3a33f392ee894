package collective

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
				// A call that succeeds opens the streams.
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

func ExampleRankError() {
	fmt.Println(&RankError{
		Rank: 3, Address: "10.0.0.4:7000", Failure: Lost, Reporter: 1, Reason: "its process ended or closed the connection",
	})
	// Output: rank 3 (10.0.0.4:7000) is lost, says rank 1: its process ended or closed the connection
}
