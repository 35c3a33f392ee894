package serving

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

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
	resource string
	folder   *folder
	clock    clock.Clock
	log      *slog.Logger
	// offered is what the pool's server answers from now.
	offered *await.Value[*offering]
	inject  Inject
	// use asks the kubelet what it would give to new pods.
	use func(context.Context) (Use, error)
	// registerTimeout bounds a registration.
	registerTimeout time.Duration
	// allocated is told how an Allocate call went, registered how a registration went, and turned when the pool comes to be
	// served or is served no longer.
	allocated  func(resource string, ids []string, err error)
	registered func(resource string, err error)
	turned     func(resource string, serving bool)

	// retired is closed when the pool is to end; ended when it has.
	retired, ended chan struct{}

	mu     sync.Mutex
	state  State
	detail string
	// since is when the pool came to be served, or was no longer.
	since time.Time
}

// status is the state, since when the pool is served or not, and what the kubelet said.
func (e *endpoint) status() (state State, since time.Time, detail string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state, e.since, e.detail
}

func (e *endpoint) turn(state State, detail string) {
	e.mu.Lock()
	same, crossed := e.state == state && e.detail == detail, (e.state == Serving) != (state == Serving)
	if crossed {
		e.since = e.clock.Now()
	}
	e.state, e.detail = state, detail
	e.mu.Unlock()
	if !same {
		e.log.Info("device plugin", "resource", e.resource, "state", string(state), "detail", detail)
	}
	if crossed {
		e.turned(e.resource, state == Serving)
	}
}

// run serves the pool until it is retired or the context ends. after is closed when the socket's former user has gone.
func (e *endpoint) run(ctx context.Context, after <-chan struct{}) {
	defer close(e.ended)
	if after != nil {
		select {
		case <-after:
			e.pause(ctx, noticeTime, nil)
		case <-ctx.Done():
		}
	} else {
		e.awaitFormer(ctx)
	}
	failures, former := 0, kubelet{}
	for !e.over(ctx) {
		life, changed := e.folder.current()
		if !life.same(former) {
			failures, former = 0, life // another kubelet knows nothing of what went wrong with the last one
		}
		if !life.there() {
			e.turn(KubeletAway, "there is no "+kubeletSocketName+" in "+e.folder.path)
			e.await(ctx, changed)
			continue
		}
		start := e.clock.Now()
		cut, err := e.session(ctx, life, changed)
		if err != nil {
			e.turn(stateAfter(err), err.Error())
		}
		if e.clock.Since(start) > lastingTime {
			failures = 0
		}
		e.pause(ctx, waitAfter(cut, err, failures, rand.Float64()), changed)
		failures++
	}
}

// awaitFormer lets an agent before this one end first where it left its socket, and the kubelet notice: the end of its stream
// would take the new registration with it.
func (e *endpoint) awaitFormer(ctx context.Context) {
	path, deadline := filepath.Join(e.folder.path, socketName(e.resource)), e.clock.Now().Add(formerTime)
	answers, left := listens(path)
	for answers && !e.over(ctx) && e.clock.Now().Before(deadline) {
		e.pause(ctx, settleTime, nil)
		answers, _ = listens(path)
	}
	if left {
		e.pause(ctx, noticeTime, nil)
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
func (e *endpoint) session(ctx context.Context, life kubelet, changed <-chan struct{}) (cut bool, err error) {
	s, err := openSession(e.folder.path, e.resource, func(streams *streams) *server {
		return &server{offered: e.offered, streams: streams, inject: e.inject, allocated: e.allocated}
	})
	if err != nil {
		return false, err
	}
	defer func() {
		cut = s.close()
		if now, _ := e.folder.current(); e.over(ctx) && now.same(life) {
			s.socket.Remove()
		}
	}()
	// A kubelet that starts removes all sockets first, this one too, and would then look for it until its patience ends.
	registering, cancel := untilChanged(ctx, changed)
	defer cancel()
	err = s.register(registering, e.folder.path, e.registerTimeout)
	if err != nil && closed(changed) {
		return false, nil
	}
	e.registered(e.resource, err)
	if err != nil {
		return false, err
	}
	e.follow(ctx, s, changed)
	return false, nil
}

// follow returns when the registration is over, or no stream comes of it.
func (e *endpoint) follow(ctx context.Context, s *session, changed <-chan struct{}) {
	deadline := e.clock.NewTimer(streamTimeout)
	defer func() { deadline.Stop() }()
	restart := func() { deadline.Stop(); deadline = e.clock.NewTimer(streamTimeout) }
	serving, retired := false, e.retired
	lost, confirmed := e.confirmed(ctx, s.streams)
	defer confirmed()
	for {
		now, moved := s.streams.Get()
		switch {
		case now.sent != nil:
			serving = true
			e.turn(Serving, "")
		case serving && now.open == 0:
			serving = false
			restart()
			e.turn(Registering, "ListAndWatch ended")
		}
		if retired == nil && e.told(now) {
			return
		}
		var gone <-chan struct{}
		if now.last != nil {
			gone = now.last.gone
		}
		var expired <-chan time.Time
		if !serving || retired == nil {
			expired = deadline.C()
		}
		select {
		case <-moved:
		case <-gone:
			return
		case <-lost:
			e.turn(Registering, "the kubelet lost the registration")
			return
		case <-expired:
			return
		case <-changed:
			return
		case <-ctx.Done():
			return
		case <-retired:
			retired = nil
			restart()
		}
	}
}

// told says that the kubelet has what is offered now, or does not listen.
func (e *endpoint) told(now streaming) bool {
	offered, _ := e.offered.Get()
	return now.open == 0 || now.sent == offered
}

// over says that the pool is to end.
func (e *endpoint) over(ctx context.Context) bool {
	return ctx.Err() != nil || closed(e.retired)
}

// await waits until there is another kubelet, or the pool is to end.
func (e *endpoint) await(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-e.retired:
	case <-ctx.Done():
	}
}

// pause waits for a time, or until there is another kubelet or the pool is to end.
func (e *endpoint) pause(ctx context.Context, length time.Duration, changed <-chan struct{}) {
	timer := e.clock.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-changed:
	case <-e.retired:
	case <-ctx.Done():
	}
}
