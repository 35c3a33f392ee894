package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// registrar stands in for a kubelet where a real one cannot be made to do what the test is about: end a stream, or refuse a
// registration. As the kubelet does, it calls back while it is called, has one client for each resource, and when a stream
// ends, drops whatever client the resource has by then.
type registrar struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	t      *testing.T
	folder string
	server *grpc.Server

	mu      sync.Mutex
	refuse  error
	clients map[string]*grpc.ClientConn
	cancels map[string]context.CancelFunc
	lists   map[string]*pluginapi.ListAndWatchResponse
	// registrations is the number of registrations, broken how many of them came while a client was still there.
	registrations, broken int
	changed               chan struct{}
}

func startRegistrar(t *testing.T, folder string) *registrar {
	t.Helper()
	r := &registrar{
		t: t, folder: folder, server: grpc.NewServer(), clients: map[string]*grpc.ClientConn{}, cancels: map[string]context.CancelFunc{},
		lists: map[string]*pluginapi.ListAndWatchResponse{}, changed: make(chan struct{}),
	}
	sockets, err := filepath.Glob(filepath.Join(folder, "*.sock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sockets {
		_ = os.Remove(name)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, kubeletSocketName), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	// A server that is stopped before it serves closes the listener later, when the socket may be the next one's.
	listener.SetUnlinkOnClose(false)
	pluginapi.RegisterRegistrationServer(r.server, r)
	podresources.RegisterPodResourcesListerServer(r.server, r)
	go func() { _ = r.server.Serve(listener) }()
	t.Cleanup(r.stop)
	return r
}

func (r *registrar) stop() {
	r.server.Stop()
	_ = os.Remove(filepath.Join(r.folder, kubeletSocketName))
	r.update(func() {
		for _, client := range r.clients {
			_ = client.Close()
		}
		clear(r.clients)
	})
}

func (r *registrar) update(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Register connects to the plugin.
func (r *registrar) Register(ctx context.Context, request *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	resource := request.GetResourceName()
	var refuse error
	r.update(func() {
		r.registrations++
		if r.clients[resource] != nil {
			r.broken++
		}
		refuse = r.refuse
	})
	if refuse != nil {
		return nil, refuse
	}
	client, err := grpc.NewClient("unix://"+filepath.Join(r.folder, request.GetEndpoint()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	if _, err := pluginapi.NewDevicePluginClient(client).GetDevicePluginOptions(ctx, &pluginapi.Empty{}); err != nil {
		return nil, err
	}
	watch, cancel := context.WithCancel(context.Background())
	r.update(func() { r.clients[resource], r.cancels[resource] = client, cancel })
	go r.run(watch, resource, client)
	return &pluginapi.Empty{}, nil
}

func (r *registrar) run(ctx context.Context, resource string, client *grpc.ClientConn) {
	stream, err := pluginapi.NewDevicePluginClient(client).ListAndWatch(ctx, &pluginapi.Empty{})
	for err == nil {
		var list *pluginapi.ListAndWatchResponse
		if list, err = stream.Recv(); err == nil {
			r.update(func() { r.lists[resource] = list })
		}
	}
	r.update(func() {
		if now := r.clients[resource]; now != nil {
			_ = now.Close()
		}
		delete(r.clients, resource)
		delete(r.lists, resource)
	})
}

// GetAllocatableResources are the healthy devices of all lists.
func (r *registrar) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := &podresources.AllocatableResourcesResponse{}
	for resource, list := range r.lists {
		for _, d := range list.GetDevices() {
			if d.GetHealth() == pluginapi.Healthy {
				answer.Devices = append(answer.Devices, &podresources.ContainerDevices{ResourceName: resource, DeviceIds: []string{d.GetID()}})
			}
		}
	}
	return answer, nil
}

// List says that no pod holds anything.
func (*registrar) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{}, nil
}

// await waits until the condition holds; it is called with the lock held.
func (r *registrar) await(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		good, changed := condition(), r.changed
		r.mu.Unlock()
		if good {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			r.t.Fatalf("%s: never came", what)
		}
	}
}

// has says whether the list of nvidia.com/gpu has the ids, with a mark after those that are unhealthy.
func (r *registrar) has(ids ...string) func() bool {
	return func() bool {
		list := r.lists[nvidiaGPU]
		if list == nil {
			return false
		}
		got := []string{}
		for _, d := range list.GetDevices() {
			mark := ""
			if d.GetHealth() != pluginapi.Healthy {
				mark = "!"
			}
			got = append(got, d.GetID()+mark)
		}
		return slices.Equal(got, ids)
	}
}

// shortFolder is a folder whose name is short enough for sockets.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "rw") //nolint:usetesting // that of the test may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// plugged is a plugin that runs, in a shortFolder.
func plugged(t *testing.T, change ...func(*Plugin)) (plugin *Plugin, folder string) {
	t.Helper()
	folder = shortFolder(t)
	plugin = New(Options{
		Config: testConfig, Folder: folder, PodResources: filepath.Join(folder, "none"), Clock: clock.RealClock{},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Inject: func(injection.Mode, []v1alpha1.Device, []v1alpha1.Device) (injection.Answer, error) {
			return injection.Answer{}, nil
		},
	})
	for _, f := range change {
		f(plugin)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { plugin.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return plugin, folder
}

const nvidiaGPU = "nvidia.com/gpu"

func TestRegistersWhicheverComesFirst(t *testing.T) {
	t.Run("devices", func(t *testing.T) {
		plugin, folder := plugged(t)
		plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
		if err := plugin.Account().Ready(); err == nil {
			t.Error("is ready without a kubelet")
		}
		r := startRegistrar(t, folder)
		r.await("the device", r.has("nvidia-0"))
	})
	t.Run("kubelet", func(t *testing.T) {
		plugin, folder := plugged(t)
		r := startRegistrar(t, folder)
		plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
		r.await("the device", r.has("nvidia-0"))
	})
}

func TestRegistersWithEachNewKubelet(t *testing.T) {
	tests := map[string]func(*Plugin){
		"watched": func(*Plugin) {},
		"polled": func(p *Plugin) {
			p.folder.watch = func(string) (*fsnotify.Watcher, error) { return nil, errors.New("too many open files") }
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			plugin, folder := plugged(t, change)
			plugin.Update(nil, statusOf(gpu(0), gpu(1)), v1alpha1.AcceleratorInventorySpec{})
			for range 3 {
				r := startRegistrar(t, folder)
				r.await("the devices", r.has("nvidia-0", "nvidia-1"))
				r.stop()
			}
		})
	}
}

// When ListAndWatch ends and the kubelet's socket stays, the pool registers again, and not before the kubelet has dropped
// its client: each time it would, it would be dropped, too.
func TestRegistersAgainWhenListAndWatchEnds(t *testing.T) {
	plugin, folder := plugged(t)
	r := startRegistrar(t, folder)
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	for number := 1; number <= 4; number++ {
		r.await("the device", func() bool { return r.registrations == number && r.has("nvidia-0")() })
		r.mu.Lock()
		r.cancels[nvidiaGPU]()
		r.mu.Unlock()
	}
	r.await("the device", r.has("nvidia-0"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken > 0 {
		t.Errorf("%d registrations came while the old client was there", r.broken)
	}
}

// A kubelet that has lost the devices of a registration, and keeps its stream open, is registered with again.
func TestRegistersAgainWhenTheKubeletLostTheDevices(t *testing.T) {
	plugin, folder := plugged(t, func(p *Plugin) { p.options.PodResources = filepath.Join(p.folder.path, kubeletSocketName) })
	r := startRegistrar(t, folder)
	plugin.Update(nil, statusOf(gpu(0), gpu(1, health(v1alpha1.Unhealthy, "XID79"))), v1alpha1.AcceleratorInventorySpec{})
	r.await("the devices", func() bool {
		if r.registrations == 1 && r.has("nvidia-0", "nvidia-1!")() {
			delete(r.lists, nvidiaGPU)
			return true
		}
		return false
	})
	r.await("them again", func() bool { return r.registrations == 2 && r.has("nvidia-0", "nvidia-1!")() })
}

// An agent that is started while the agent before it still ends waits for its end, and registers once.
func TestWaitsForTheFormerAgent(t *testing.T) {
	plugin, folder := plugged(t)
	r := startRegistrar(t, folder)
	former, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, socketName(nvidiaGPU)), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	former.SetUnlinkOnClose(false)
	if err := former.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	asked, err := former.Accept()
	if err != nil {
		t.Fatalf("the former agent was not asked whether it goes on: %v", err)
	}
	_ = asked.Close()
	r.mu.Lock()
	early := r.registrations
	r.mu.Unlock()
	if early > 0 {
		t.Error("registered while the former agent was there")
	}
	_ = former.Close()
	r.await("the device", func() bool { return r.registrations == 1 && r.has("nvidia-0")() })
}

// muteRegistrar never answers.
type muteRegistrar struct {
	pluginapi.UnimplementedRegistrationServer

	called chan struct{}
}

func (m *muteRegistrar) Register(ctx context.Context, _ *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	close(m.called)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A registration ends with the kubelet that it was made with: one that starts removes all sockets, then would look for
// this one in vain.
func TestRegistrationEndsWithItsKubelet(t *testing.T) {
	plugin, folder := plugged(t, func(p *Plugin) { p.registerTimeout = time.Hour })
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	silent, err := net.Listen("unix", filepath.Join(folder, kubeletSocketName)) //nolint:noctx // as the kubelet does
	if err != nil {
		t.Fatal(err)
	}
	mute := &muteRegistrar{called: make(chan struct{})}
	server := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(server, mute)
	go func() { _ = server.Serve(silent) }()
	t.Cleanup(server.Stop)
	<-mute.called
	r := startRegistrar(t, folder)
	r.await("the device", r.has("nvidia-0"))
}

func TestCountedBy(t *testing.T) {
	pool := resourcePool{Resource: nvidiaGPU, Entries: []listing{{ID: "a", Healthy: true}, {ID: "b"}, {ID: "c", Healthy: true}}}
	tests := map[string]struct {
		counted []Offer
		want    bool
	}{
		"the healthy":              {[]Offer{{nvidiaGPU, "a"}, {nvidiaGPU, "c"}}, true},
		"beside another resource":  {[]Offer{{nvidiaGPU, "a"}, {nvidiaGPU, "c"}, {"amd.com/gpu", "b"}}, true},
		"none":                     {nil, false},
		"one less":                 {[]Offer{{nvidiaGPU, "a"}}, false},
		"an unhealthy one":         {[]Offer{{nvidiaGPU, "a"}, {nvidiaGPU, "b"}, {nvidiaGPU, "c"}}, false},
		"one that is not offered":  {[]Offer{{nvidiaGPU, "a"}, {nvidiaGPU, "c"}, {nvidiaGPU, "d"}}, false},
		"the same of another name": {[]Offer{{"amd.com/gpu", "a"}, {"amd.com/gpu", "c"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			counted := map[Offer]bool{}
			for _, offer := range test.counted {
				counted[offer] = true
			}
			if got := pool.countedBy(counted); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

func TestRefusedRegistrationIsTriedAgain(t *testing.T) {
	plugin, folder := plugged(t)
	r := startRegistrar(t, folder)
	r.update(func() { r.refuse = status.Error(codes.Unknown, "the ResourceName is invalid") })
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	r.await("two attempts", func() bool { return r.registrations >= 2 })
	if err := plugin.Account().Ready(); err == nil || !strings.Contains(err.Error(), "the ResourceName is invalid") {
		t.Errorf("%v, want what the kubelet said", err)
	}
	r.update(func() { r.refuse = nil })
	r.await("the device", r.has("nvidia-0"))
}

// A change of health is sent at once by the stream that is open.
func TestChangesAreSent(t *testing.T) {
	plugin, folder := plugged(t)
	r := startRegistrar(t, folder)
	plugin.Update(nil, statusOf(gpu(0), gpu(1)), v1alpha1.AcceleratorInventorySpec{})
	r.await("both", r.has("nvidia-0", "nvidia-1"))
	plugin.Update(nil, statusOf(gpu(0), gpu(1, health(v1alpha1.Unhealthy, "XID79"))), v1alpha1.AcceleratorInventorySpec{})
	r.await("one unhealthy", r.has("nvidia-0", "nvidia-1!"))
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	plugin.Update(nil, statusOf(gpu(0), gpu(1)), v1alpha1.AcceleratorInventorySpec{})
	r.await("both again", r.has("nvidia-0", "nvidia-1"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.registrations != 1 {
		t.Errorf("%d registrations, want 1", r.registrations)
	}
}

// Without an answer of the kubelet nothing moves: a device that is gone stays listed, and one with a slot stays where it is.
func TestNothingMovesWithoutTheKubeletsAnswer(t *testing.T) {
	plugin, folder := plugged(t)
	r := startRegistrar(t, folder)
	plugin.Update(nil, statusOf(gpu(0), gpu(1), gpu(2)), v1alpha1.AcceleratorInventorySpec{})
	r.await("three", r.has("nvidia-0", "nvidia-1", "nvidia-2"))
	now := statusOf(gpu(0), gpu(2))
	services := plugin.Update(nil, slotFor(2, now), v1alpha1.AcceleratorInventorySpec{})
	r.await("two unhealthy", r.has("nvidia-0", "nvidia-1!", "nvidia-2!"))
	if service := services["nvidia-2"]; service.Resource != nvidiaGPU {
		t.Errorf("the device is said to be served by %+v, want %s, where it still is", service, nvidiaGPU)
	}
}

// Updates, restarts and allocations go on at the same time.
func TestConcurrentUse(t *testing.T) {
	plugin, folder := plugged(t)
	// Both devices are offered before anything else happens, whenever Run gets to run.
	plugin.Update(nil, statusOf(gpu(0), gpu(1)), v1alpha1.AcceleratorInventorySpec{})
	first := startRegistrar(t, folder)
	first.await("both devices", first.has("nvidia-0", "nvidia-1"))
	first.stop()
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 50 {
				state := v1alpha1.Healthy
				if (i+worker)%2 == 0 {
					state = v1alpha1.Unhealthy
				}
				plugin.Update(nil, statusOf(gpu(0), gpu(1, health(state, ""))), v1alpha1.AcceleratorInventorySpec{})
				_ = plugin.Account().Ready()
				_ = plugin.Account().Condition(testStart, nil)
				plugin.allocated(nvidiaGPU, []string{"nvidia-0"}, nil)
			}
		})
	}
	for range 3 {
		startRegistrar(t, folder).stop()
	}
	running.Wait()
	r := startRegistrar(t, folder)
	plugin.Update(nil, statusOf(gpu(0)), v1alpha1.AcceleratorInventorySpec{})
	r.await("the devices", r.has("nvidia-0", "nvidia-1!"))
}
