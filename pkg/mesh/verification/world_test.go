package verification

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib/devicelibtest"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	// One at a time: two timers of a synctest bubble that fire at once crash the race detector (golang/go#78156).
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		devicelibtest.Clean()
		os.Exit(code)
	}))
}

var testKey = bytes.Repeat([]byte("key!"), 8)

// pods is a copy whose pods are in this process, each with a listener on the loopback.
type pods struct {
	network
	task      *Task
	listeners []net.Listener
	// dial changes what a pod dials to another one with; nil leaves it.
	dial func(from, to int, dial dialer) dialer
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// newPods makes pods of a rank each, on two nodes, with the groups given.
func newPods(t testing.TB, number int, kinds ...Kind) *pods {
	t.Helper()
	p := &pods{task: &Task{
		Version: version, Mesh: "default/llm", Plan: "llm-1", DeadlineSeconds: 60, Kinds: kinds,
	}}
	t.Cleanup(p.work.Wait)
	for i := range number {
		listener := p.listen()
		t.Cleanup(func() { _ = listener.Close() })
		p.listeners = append(p.listeners, listener)
		p.task.Pods = append(p.task.Pods, Pod{
			Index: int32(i), Host: "127.0.0.1", Port: int32(listener.address.Port), Node: fmt.Sprintf("n%d", i%2), Ranks: mesh.RanksOf([]int32{int32(i)}),
		})
	}
	return p
}

// sixRanks are the groups of six ranks with tensor 2 and pipeline 3.
func sixRanks() []Kind {
	return []Kind{
		{"world", []mesh.Ranks{"0-5"}},
		{"tp", []mesh.Ranks{"0-1", "2-3", "4-5"}},
		{"pp", []mesh.Ranks{"0-4/2", "1-5/2"}},
	}
}

// verify runs the pods at the places given, or all, and returns their reports by place.
func (p *pods) verify(t testing.TB, places ...int) []*Report {
	t.Helper()
	if places == nil {
		for place := range p.task.Pods {
			places = append(places, place)
		}
	}
	reports, errs := make([]*Report, len(p.task.Pods)), make([]error, len(p.task.Pods))
	var work sync.WaitGroup
	for _, place := range places {
		work.Go(func() {
			reports[place], errs[place] = Verify(t.Context(), p.config(place))
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return reports
}

// config is what a pod needs, with a task of its own.
func (p *pods) config(place int) Config {
	task := *p.task
	return Config{
		Task: &task, Place: place, Key: testKey, Listener: p.listeners[place], Dial: p.dialOf(place),
		Listen: func(context.Context) (net.Listener, error) { return p.listen(), nil },
	}
}

func (p *pods) dialOf(from int) dialer {
	plain := p.network.dial
	if p.dial == nil {
		return plain
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		for to := range p.task.Pods {
			if p.task.Pods[to].Address() == address {
				return p.dial(from, to, plain)(ctx, network, address)
			}
		}
		return plain(ctx, network, address)
	}
}

// between changes what two places dial each other with.
func between(a, b int, change func(dialer) dialer) func(from, to int, dial dialer) dialer {
	return func(from, to int, dial dialer) dialer {
		if pairOf(from, to) == pairOf(a, b) {
			return change(dial)
		}
		return dial
	}
}

// oneWay changes what one place dials another with, and not the way back.
func oneWay(a, b int, change func(dialer) dialer) func(from, to int, dial dialer) dialer {
	return func(from, to int, dial dialer) dialer {
		if from == a && to == b {
			return change(dial)
		}
		return dial
	}
}

// swallowed dials as to a port whose packets are dropped.
func swallowed(dialer) dialer {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("dial: %w", ctx.Err())
	}
}

// wrapped dials connections whose payloads are written by another function.
func wrapped(write func(c net.Conn, payload []byte) (int, error)) func(dialer) dialer {
	return func(dial dialer) dialer {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &wrappedConn{conn, write}, nil
		}
	}
}

type wrappedConn struct {
	net.Conn
	write func(c net.Conn, payload []byte) (int, error)
}

// leastPayload is more than the greeting and a frame's header have.
const leastPayload = 256

func (c *wrappedConn) Write(b []byte) (int, error) {
	if len(b) < leastPayload {
		return c.Conn.Write(b)
	}
	return c.write(c.Conn, b)
}

// throttled writes slowly.
func throttled(c net.Conn, payload []byte) (int, error) {
	const piece, pause = 16 << 10, 100 * time.Millisecond
	written := 0
	for written < len(payload) {
		<-time.After(pause)
		n, err := c.Write(payload[written:min(len(payload), written+piece)])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// flipped writes one bit wrong.
func flipped(c net.Conn, payload []byte) (int, error) {
	wrong := bytes.Clone(payload)
	wrong[len(wrong)/2] ^= 1
	return c.Write(wrong)
}

// text lists the findings that are not about groups, in order of pods: reason, pod and peer.
func text(reports []*Report) string {
	var lines []string
	for _, r := range reports {
		if r == nil {
			continue
		}
		for _, f := range r.Findings {
			if f.Peer != nil {
				lines = append(lines, fmt.Sprintf("%s %d-%d", f.Reason, r.Pod, *f.Peer))
			}
		}
	}
	return strings.Join(lines, ", ")
}

// hasFinding says whether a report has a finding of a reason.
func hasFinding(r *Report, reason v1alpha1.FindingReason) bool {
	for _, f := range r.Findings {
		if f.Reason == reason {
			return true
		}
	}
	return false
}

// Whatever the first size and however fast the link, no buffer grows beyond what the other end takes.
func TestBuffersStopGrowing(t *testing.T) {
	for _, first := range []int{firstProbe, firstBytes, mostBytes} {
		size := first
		for range 32 {
			size = grown(size, 0)
		}
		if size != mostBytes {
			t.Errorf("from %d buffers grow to %d, and not to %d", first, size, mostBytes)
		}
	}
	if size := grown(firstProbe, enough); size != firstProbe {
		t.Errorf("after a call that took long enough the next has %d bytes and not %d", size, firstProbe)
	}
}
