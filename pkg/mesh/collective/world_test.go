package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is the deadline of calls that are to succeed: long, since a machine may be busy.
const patience = 2 * time.Minute

var testKey = []byte("a key of thirty-two bytes or more")

// transports are the ways to make communicators in this process.
var transports = map[string]func(t testing.TB, size int) []*Communicator{
	"local": localWorld,
	"tcp":   func(t testing.TB, size int) []*Communicator { return tcpWorld(t, size, nil) },
}

func localWorld(t testing.TB, size int) []*Communicator {
	world, err := Local(size)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, world)
	return world
}

// tcpWorld makes ranks of this process over loopback; change may change their configurations.
func tcpWorld(t testing.TB, size int, change func(*Config)) []*Communicator {
	t.Helper()
	listeners, addresses := listen(t, size)
	world, errs := make([]*Communicator, size), make([]error, size)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var work sync.WaitGroup
	for rank := range size {
		work.Go(func() {
			config := Config{Rank: rank, Addresses: addresses, Mesh: "test", Key: testKey, Listener: listeners[rank]}
			if change != nil {
				change(&config)
			}
			world[rank], errs[rank] = New(ctx, config)
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, world)
	return world
}

func listen(t testing.TB, size int) (listeners []net.Listener, addresses []string) {
	t.Helper()
	for range size {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return listeners, addresses
}

func closeAfter(t testing.TB, world []*Communicator) {
	t.Cleanup(func() { closeAll(world) })
}

func closeAll(world []*Communicator) {
	var work sync.WaitGroup
	for _, c := range world {
		work.Go(func() { _ = c.Close() })
	}
	work.Wait()
}

// worldGroups are the groups of all ranks.
func worldGroups(world []*Communicator) []Group {
	groups := make([]Group, len(world))
	for i, c := range world {
		groups[i] = c.World()
	}
	return groups
}

// onAll makes a call on all members at once and returns their errors.
func onAll(groups []Group, call func(member int, g Group) error) []error {
	errs := make([]error, len(groups))
	var work sync.WaitGroup
	for i, g := range groups {
		work.Go(func() { errs[i] = call(i, g) })
	}
	work.Wait()
	return errs
}

// mustAll is onAll where nothing may fail.
func mustAll(t testing.TB, what string, groups []Group, call func(ctx context.Context, member int, g Group) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := errors.Join(onAll(groups, func(i int, g Group) error { return call(ctx, i, g) })...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// randomBuffer has elements whose sums and products over many ranks are exact in FP32; integers are of any value.
func randomBuffer(random *rand.Rand, dtype DType, op Op, count int) []byte {
	buffer := make([]byte, 0, count*dtype.Size())
	if dtype == UINT8 {
		for len(buffer) < count {
			buffer = binary.LittleEndian.AppendUint64(buffer, random.Uint64())
		}
		return buffer[:count:count]
	}
	for range count {
		switch dtype {
		case INT32, INT64:
			raw := [8]byte{}
			for i := range raw {
				raw[i] = byte(random.Uint32())
			}
			buffer = append(buffer, raw[:dtype.Size()]...)
		default:
			value := float64(random.IntN(33) - 16)
			if op == Product {
				value = []float64{1, -1, 2, 0.5}[random.IntN(4)]
			}
			buffer = append(buffer, encodeFloat(dtype, value)...)
		}
	}
	return buffer
}

func randomBuffers(random *rand.Rand, dtype DType, op Op, count, members int) [][]byte {
	buffers := make([][]byte, members)
	for i := range buffers {
		buffers[i] = randomBuffer(random, dtype, op, count)
	}
	return buffers
}

func seeded(numbers ...int) *rand.Rand {
	seed := uint64(1)
	for _, n := range numbers {
		seed = seed*1_000_003 + uint64(n)
	}
	return rand.New(rand.NewPCG(seed, 0))
}

func clone(buffers [][]byte) [][]byte {
	out := make([][]byte, len(buffers))
	for i, b := range buffers {
		out[i] = append([]byte(nil), b...)
	}
	return out
}

func mustFail(t testing.TB, err error, contains string) {
	t.Helper()
	if err == nil || !containsText(err, contains) {
		t.Errorf("got %v, want it to contain %q", err, contains)
	}
}

func describeCall(op Op, dtype DType, count, members int) string {
	return fmt.Sprintf("%s %s of %d elements on %d ranks", op, dtype, count, members)
}
