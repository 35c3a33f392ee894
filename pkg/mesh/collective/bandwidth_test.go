package collective

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// bandwidth is what two processes moved, in bytes per second: the ring's bus bandwidth, a plain TCP stream from one to the
// other, and one that is used in both directions at once, as a ring has to (the bytes of one direction).
type bandwidth struct{ ring, plain, duplex float64 }

func (b bandwidth) String() string {
	return fmt.Sprintf("ring %.2f GB/s; plain TCP stream %.2f GB/s (ring is %.0f%%); stream in both directions %.2f GB/s each (ring is %.0f%%)",
		b.ring/1e9, b.plain/1e9, 100*b.ring/b.plain, b.duplex/1e9, 100*b.ring/b.duplex)
}

const callsPerRound = 4

// measure is done by both ranks, over the communicator and a stream beside it. Each number is the best of the rounds,
// which alternate, so that whatever else the machine does disturbs all alike.
func measure(c *Communicator, conn net.Conn, rounds, bytes int) (best bandwidth, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, in := make([]byte, bytes), make([]byte, bytes)
	timed := func(best *float64, move func() error) {
		barrier := func() error { return c.World().Barrier(ctx) }
		if err == nil {
			err = barrier()
		}
		start := time.Now()
		for range callsPerRound {
			if err == nil {
				err = move()
			}
		}
		if err == nil {
			err = barrier()
		}
		*best = max(*best, callsPerRound*float64(bytes)/time.Since(start).Seconds())
	}
	write := func() error { _, err := conn.Write(out); return err }
	read := func() error { _, err := io.ReadFull(conn, in); return err }
	for range rounds {
		timed(&best.plain, func() error {
			if c.Rank() == 0 {
				return write()
			}
			return read()
		})
		timed(&best.duplex, func() error { return both(write, read) })
		// Of two ranks bus bandwidth is the bytes over the time, since 2(n-1)/n is 1.
		timed(&best.ring, func() error { return c.World().AllReduce(ctx, out, FP32, Sum) })
	}
	return best, err
}

const bandwidthRounds = 16

func measureAsChild(config childConfig, c *Communicator) error {
	conn, err := net.Dial("tcp", config.Plain)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = measure(c, conn, bandwidthRounds, config.Bytes)
	return err
}

// withChild makes rank 0 in this process, rank 1 in another, and a plain stream between them.
func withChild(t testing.TB, role string, bytes int) (*Communicator, net.Conn) {
	t.Helper()
	listeners, addresses := listen(t, 3)
	config := childConfig{Rank: 1, Addresses: addresses[:2], Role: role, Bytes: bytes, Plain: addresses[2]}
	startChild(t, config, listeners[1])
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := New(ctx, Config{Rank: 0, Addresses: addresses[:2], Mesh: "test", Key: testKey, Listener: listeners[0]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	conn, err := listeners[2].Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = listeners[2].Close() })
	return c, conn
}

func TestRingBandwidth(t *testing.T) {
	const bytes = 16 << 20
	c, conn := withChild(t, "measure bandwidth", bytes)
	got, err := measure(c, conn, bandwidthRounds, bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got)
}
