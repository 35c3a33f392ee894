package serving

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rankwright/rankwright/internal/await"
)

const (
	// firstRetry and lastRetry bound the time to the next registration after one that failed, which doubles each time.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 10 * time.Second
	// streamTimeout is how long the kubelet gets to open ListAndWatch after a registration, and to close the connection
	// after the stream has ended.
	streamTimeout = 5 * time.Second
	// settleTime lets the kubelet finish dropping its client after it has closed the connection, and noticeTime notice
	// that we have: what it drops later than the new registration would be the new client.
	settleTime = 100 * time.Millisecond
	noticeTime = 500 * time.Millisecond
	// formerTime is how long an agent before this one may take to end: a pod that is deleted by force goes on for a while
	// beside the next.
	formerTime = 5 * time.Second
	// lastingTime is how long a registration has to last to be no failure.
	lastingTime = 10 * time.Second
)

// State is how far a pool is with the kubelet.
type State string

// The states of a pool.
const (
	// KubeletAway is a kubelet without a socket.
	KubeletAway State = "KubeletAway"
	// Registering is a kubelet that has a socket and does not serve the pool yet.
	Registering State = "Registering"
	// Refused is a kubelet that did not take the registration.
	Refused State = "Refused"
	// Unpublished is a pool of a DRA driver that the API server does not show yet.
	Unpublished State = "Unpublished"
	// Serving is a pool that is registered with this kubelet, and whose ListAndWatch is open and has sent its list.
	Serving State = "Serving"
)

// endpoint keeps a pool registered with the kubelet.
type endpoint struct {
	plugin   *Plugin
	resource string
	// offered is what the pool's server answers from now.
	offered await.Value[*offering]
	// state is how the pool is with the kubelet.
	state await.Value[PoolState]
	// retire has the pool end, after the kubelet has been told so; ended is closed when it has.
	retire context.CancelFunc
	ended  chan struct{}
}

// turn notes how the pool is now. Only run, and what it calls, turns it.
func (e *endpoint) turn(state State, detail string) {
	before, _ := e.state.Get()
	now := PoolState{State: state, Since: before.Since, Detail: detail}
	crossed := (before.State == Serving) != (state == Serving)
	if crossed {
		now.Since = e.plugin.options.Clock.Now()
	}
	e.state.Set(now)
	if before.State != state || before.Detail != detail {
		e.plugin.options.Log.Info("device plugin", "resource", e.resource, "state", string(state), "detail", detail)
	}
	if crossed {
		e.plugin.turned(e.resource, state == Serving)
	}
}

// run serves the pool until the context ends, or until it is retired, with which the second context ends. after is closed when
// the socket's former user has gone.
func (e *endpoint) run(ctx, until context.Context, after <-chan struct{}) {
	defer close(e.ended)
	clock, folder := e.plugin.options.Clock, e.plugin.folder
	if after != nil {
		select {
		case <-after:
			await.Pause(until, clock, noticeTime, nil)
		case <-until.Done():
		}
	} else {
		e.awaitFormer(until)
	}
	failures, former := 0, kubelet{}
	for until.Err() == nil {
		life, changed := folder.kubelet.Get()
		if !life.same(former) {
			failures, former = 0, life // another kubelet knows nothing of what went wrong with the last one
		}
		if !life.there() {
			e.turn(KubeletAway, "there is no "+kubeletSocketName+" in "+folder.path)
			select {
			case <-changed:
			case <-until.Done():
			}
			continue
		}
		start := clock.Now()
		cut, err := e.session(ctx, until, life, changed)
		if err != nil {
			e.turn(stateAfter(err), err.Error())
		}
		if clock.Since(start) > lastingTime {
			failures = 0
		}
		await.Pause(until, clock, waitAfter(cut, err, failures, rand.Float64()), changed)
		failures++
	}
}

func (e *endpoint) socketPath() string {
	return filepath.Join(e.plugin.folder.path, socketName(e.resource))
}

// awaitFormer lets an agent before this one end first where it left its socket, and the kubelet notice: the end of its stream
// would take the new registration with it.
func (e *endpoint) awaitFormer(until context.Context) {
	clock := e.plugin.options.Clock
	deadline := clock.Now().Add(formerTime)
	answers, left := listens(e.socketPath())
	for answers && clock.Now().Before(deadline) && await.Pause(until, clock, settleTime, nil) {
		answers, _ = listens(e.socketPath())
	}
	if left {
		await.Pause(until, clock, noticeTime, nil)
	}
}

// waitAfter is the time to the next registration after a session, and the failures before it; random is in [0, 1).
func waitAfter(cut bool, err error, failures int, random float64) time.Duration {
	wait := settleTime
	if cut {
		wait = noticeTime
	}
	if err != nil || failures > 0 {
		wait = max(wait, retryDelay(failures, random))
	}
	if err != nil && failures == 0 {
		wait = firstRetry // a kubelet makes its socket a moment before it listens
	}
	return wait
}

// retryDelay is the time to the next registration after the failures before this one; random is in [0, 1).
func retryDelay(failures int, random float64) time.Duration {
	delay := min(firstRetry<<min(failures, 16), lastRetry)
	return delay/2 + time.Duration(random*float64(delay/2))
}

// stateAfter is the state after a session that failed: a kubelet that does not answer is away, whatever it left behind.
func stateAfter(err error) State {
	if code := status.Code(err); code == codes.Unavailable || code == codes.DeadlineExceeded {
		return KubeletAway
	}
	return Refused
}

// session registers once and returns when that is over: the kubelet has closed the connection (cut is false), or we had to
// (cut is true).
func (e *endpoint) session(ctx, until context.Context, life kubelet, changed <-chan struct{}) (cut bool, err error) {
	s, err := openSession(e)
	if err != nil {
		return false, err
	}
	defer func() {
		cut = s.close()
		if now, _ := e.plugin.folder.kubelet.Get(); until.Err() != nil && now.same(life) {
			s.socket.Remove()
		}
	}()
	// A kubelet that starts removes all sockets first, this one too, and would then look for it until its patience ends.
	registering, cancel := untilChanged(ctx, changed)
	defer cancel()
	err = s.register(registering)
	if err != nil && closed(changed) {
		return false, nil
	}
	e.plugin.metrics.registered(e.resource, err)
	if err != nil {
		return false, err
	}
	s.follow(ctx, until, changed)
	return false, nil
}
