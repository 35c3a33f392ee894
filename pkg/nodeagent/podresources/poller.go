package podresources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
)

const (
	// interval is the time between two questions to the kubelet while nobody pokes the Poller.
	interval = 10 * time.Second
	// pokeDelay is how long a poke waits: for others, and for the kubelet, which notes an allocation after the plugin has
	// answered. It also keeps the kubelet's limit of 100 calls a second (pkg/kubelet/apis/podresources/constants.go of
	// Kubernetes 1.36) far away.
	pokeDelay = 500 * time.Millisecond
	// deadline bounds the kubelet's answer.
	deadline = 5 * time.Second
	// settleTime is how long a kubelet that was started may take to read its pods from the API server. Until then it
	// answers as if it had none.
	settleTime = 30 * time.Second
)

// State is what is known of the kubelet's answers.
type State struct {
	// Answer is the kubelet's last answer; nil before the first.
	Answer *Answer
	// Err says why the last attempt brought no answer.
	Err error
	// Settling says that the kubelet may not have read all of its pods yet: what was held before may still be.
	Settling bool
	// NoKubelet says that there is no folder of a kubelet.
	NoKubelet bool
}

func (s *State) same(other *State) bool {
	return s.Settling == other.Settling && s.NoKubelet == other.NoKubelet && fmt.Sprint(s.Err) == fmt.Sprint(other.Err) &&
		(s.Answer == other.Answer || s.Answer != nil && other.Answer != nil && s.Answer.same(other.Answer))
}

// Options are what a Poller works on. Only Self may be left out.
type Options struct {
	// Socket is the path of the kubelet's pod-resources API.
	Socket string
	// Self is the agent's own pod; zero where it runs in none. A kubelet that lists it has read its pods, so that settleTime need not
	// be waited for.
	Self Pod
	// Clock tells the time.
	Clock clock.Clock
	// Changed is called after an answer that differs from the one before.
	Changed func()
	// Asked is called after every attempt, with its error.
	Asked func(err error)
}

// Poller asks the kubelet when it is poked and every ten seconds. It is made by NewPoller.
type Poller struct {
	options Options
	client  *Client
	poke    chan struct{}

	mu         sync.Mutex
	state      State
	connection int64
	settledAt  time.Time
}

// NewPoller returns a poller that has not asked yet.
func NewPoller(options Options) (*Poller, error) {
	client, err := NewClient(options.Socket)
	if err != nil {
		return nil, err
	}
	return &Poller{options: options, client: client, poke: make(chan struct{}, 1)}, nil
}

// Poke has the kubelet asked soon; it does not wait. Pokes that come together are one.
func (p *Poller) Poke() {
	await.Signal(p.poke, struct{}{})
}

// State returns what is known now. The answer is not to be changed.
func (p *Poller) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Run asks until the context ends. It begins with a pause: the first question is the caller's Poll.
func (p *Poller) Run(ctx context.Context) {
	defer func() { _ = p.client.Close() }()
	for p.wait(ctx) {
		if p.Poll(ctx) {
			p.options.Changed()
		}
	}
}

// wait returns when the kubelet is to be asked, or false when the context ended.
func (p *Poller) wait(ctx context.Context) bool {
	timer := p.options.Clock.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-p.poke:
		await.Pause(ctx, p.options.Clock, pokeDelay, nil)
		select {
		case <-p.poke: // it came while this one waited, and is answered with it
		default:
		}
	}
	return ctx.Err() == nil
}

// Poll asks now, and says whether anything differs from before.
func (p *Poller) Poll(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	answer, connection, err := p.ask(ctx)
	p.options.Asked(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state
	p.state = p.next(answer, connection, err)
	return !before.same(&p.state)
}

// errNoKubelet says that the kubelet has no folder here.
var errNoKubelet = errors.New("no kubelet has a folder here")

// errNoPods says that the kubelet is up and does not know its pods.
var errNoPods = errors.New("the kubelet has not read its pods yet: it does not list the agent's own")

func (p *Poller) ask(ctx context.Context) (*Answer, int64, error) {
	folder := filepath.Dir(filepath.Dir(p.options.Socket))
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errNoKubelet
	}
	answer, connection, err := p.client.Ask(ctx)
	if err == nil && p.options.Self != (Pod{}) && !answer.runs(p.options.Self) {
		return nil, 0, errNoPods
	}
	return answer, connection, err
}

// next is the state after an attempt. An attempt that failed leaves the answer before in place.
func (p *Poller) next(answer *Answer, connection int64, err error) State {
	state := p.state
	state.Err, state.NoKubelet = err, false
	switch {
	case errors.Is(err, errNoKubelet):
		return State{Answer: state.Answer, NoKubelet: true}
	case err != nil:
		return state
	}
	if connection != p.connection {
		p.connection, p.settledAt = connection, p.options.Clock.Now().Add(settleTime)
	}
	state.Answer = answer
	state.Settling = p.options.Self == (Pod{}) && p.options.Clock.Now().Before(p.settledAt)
	return state
}
