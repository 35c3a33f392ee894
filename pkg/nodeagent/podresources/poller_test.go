package podresources

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	testingclock "k8s.io/utils/clock/testing"
)

// kubelet answers as a test wants it to; a real one cannot be held in the moments that these tests are about.
type kubelet struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
	mu     sync.Mutex
	pods   []*podresourcesv1.PodResources
	server *grpc.Server
}

// List answers with the pods.
func (k *kubelet) List(context.Context, *podresourcesv1.ListPodResourcesRequest) (*podresourcesv1.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &podresourcesv1.ListPodResourcesResponse{PodResources: k.pods}, nil
}

// GetAllocatableResources answers that there are none.
func (*kubelet) GetAllocatableResources(context.Context, *podresourcesv1.AllocatableResourcesRequest) (*podresourcesv1.AllocatableResourcesResponse, error) {
	return &podresourcesv1.AllocatableResourcesResponse{}, nil
}

func (k *kubelet) run(pods ...*podresourcesv1.PodResources) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = pods
}

func (k *kubelet) start(t *testing.T, socket string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresourcesv1.RegisterPodResourcesListerServer(server, k)
	k.server = server
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served })
}

// socketPath is short enough for a socket whatever the test is called.
func socketPath(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "rw") //nolint:usetesting // the path of t.TempDir may be longer than a socket's can be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.MkdirAll(filepath.Join(folder, "kubelet", "pod-resources"), 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "kubelet", "pod-resources", "kubelet.sock")
}

func newTestPoller(t *testing.T, options Options) (*Poller, *testingclock.FakeClock) {
	t.Helper()
	clock := testingclock.NewFakeClock(time.Unix(1_000_000, 0))
	options.Clock, options.Changed = clock, func() {}
	if options.Asked == nil {
		options.Asked = func(error) {}
	}
	p, err := NewPoller(options)
	if err != nil {
		t.Fatal(err)
	}
	return p, clock
}

func TestStateOfAKubeletThatComesAndGoes(t *testing.T) {
	socket := socketPath(t)
	p, clock := newTestPoller(t, Options{Socket: socket})
	p.Poll(t.Context())
	if s := p.State(); s.Err == nil || s.Answer != nil || s.NoKubelet {
		t.Fatalf("state before the kubelet listens: %+v", s)
	}
	if p.Poll(t.Context()) {
		t.Error("the same failure is called a change")
	}
	var k kubelet
	k.run(pod("a", container("c", held("nvidia.com/gpu", gpuUUID))))
	k.start(t, socket)
	if !p.Poll(t.Context()) {
		t.Error("the first answer is no change")
	}
	if s := p.State(); s.Err != nil || len(s.Answer.Grants) != 1 || !s.Settling {
		t.Errorf("state after the first answer: %+v", s)
	}
	clock.Step(settleTime)
	if !p.Poll(t.Context()) || p.State().Settling {
		t.Error("the kubelet does not settle")
	}
	k.server.Stop()
	p.Poll(t.Context())
	if s := p.State(); s.Err == nil || len(s.Answer.Grants) != 1 {
		t.Errorf("state after the kubelet's end: %+v, want its last answer", s)
	}
	k.run()
	k.start(t, socket)
	p.Poll(t.Context())
	if s := p.State(); s.Err != nil || len(s.Answer.Grants) != 0 || !s.Settling {
		t.Errorf("state after the kubelet's restart: %+v, want it to settle again", s)
	}
}

func TestKubeletWithoutOurPodDoesNotKnowItsPods(t *testing.T) {
	socket := socketPath(t)
	p, _ := newTestPoller(t, Options{Socket: socket, Self: Pod{"models", "agent"}})
	var k kubelet
	k.run(pod("static"))
	k.start(t, socket)
	p.Poll(t.Context())
	if s := p.State(); s.Err == nil || !strings.Contains(s.Err.Error(), "not read its pods") {
		t.Errorf("state = %+v, want an error", s)
	}
	k.run(pod("static"), pod("agent"))
	p.Poll(t.Context())
	if s := p.State(); s.Err != nil || s.Settling {
		t.Errorf("state = %+v, want a settled answer at once", s)
	}
}

func TestNoFolderOfAKubelet(t *testing.T) {
	p, _ := newTestPoller(t, Options{Socket: filepath.Join(t.TempDir(), "none", "pod-resources", "kubelet.sock")})
	p.Poll(t.Context())
	if s := p.State(); !s.NoKubelet || s.Err != nil {
		t.Errorf("state = %+v, want no kubelet", s)
	}
}

// Pokes that come together are one question, and one that comes later is another.
func TestPokesAreCoalesced(t *testing.T) {
	socket := socketPath(t)
	new(kubelet).start(t, socket)
	asked := make(chan error)
	p, clock := newTestPoller(t, Options{Socket: socket, Asked: func(err error) { asked <- err }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	poke := func() {
		t.Helper()
		awaitWaiters(t, clock, 1) // the period
		for range 100 {
			p.Poke()
		}
		awaitWaiters(t, clock, 2) // and the delay
		clock.Step(pokeDelay)
		if err := <-asked; err != nil {
			t.Error(err)
		}
	}
	poke()
	poke()
	awaitWaiters(t, clock, 1)
	clock.Step(interval)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	cancel()
	<-done
}

func awaitWaiters(t *testing.T, clock *testingclock.FakeClock, n int) {
	t.Helper()
	for clock.Waiters() != n {
		select {
		case <-t.Context().Done():
			t.Fatalf("nothing waits for the clock")
		case <-time.After(time.Millisecond):
		}
	}
}
