//go:build linux

package allocations

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin is a device plugin as small as one can be: its devices are names, and a container that gets one gets nothing.
type plugin struct {
	deviceplugin.UnimplementedDevicePluginServer
	resource string
	allocate func()
	server   *grpc.Server
	served   chan struct{}

	mu      sync.Mutex
	healthy map[string]bool
	changed chan struct{}
}

// startPlugin serves devices to the kubelet until stop or the end of the test.
func startPlugin(t *testing.T, resource, socket string, allocate func(), ids ...string) *plugin {
	t.Helper()
	p := &plugin{resource: resource, allocate: allocate, healthy: map[string]bool{}, changed: make(chan struct{}, 1), served: make(chan struct{})}
	for _, id := range ids {
		p.healthy[id] = true
	}
	folder := node.DevicePlugins()
	path := filepath.Join(folder, socket)
	_ = os.Remove(path)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p.server = grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(p.server, p)
	go func() { defer close(p.served); _ = p.server.Serve(listener) }()
	t.Cleanup(p.stop)
	p.register(t, filepath.Join(folder, "kubelet.sock"), socket)
	return p
}

func (p *plugin) register(t *testing.T, kubelet, socket string) {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	request := &deviceplugin.RegisterRequest{Version: deviceplugin.Version, Endpoint: socket, ResourceName: p.resource}
	if _, err := deviceplugin.NewRegistrationClient(connection).Register(t.Context(), request, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
}

func (p *plugin) stop() {
	p.server.Stop()
	<-p.served
}

// spoil makes a device unhealthy.
func (p *plugin) spoil(id string) {
	p.mu.Lock()
	p.healthy[id] = false
	p.mu.Unlock()
	p.changed <- struct{}{}
}

// GetDevicePluginOptions says that there are none.
func (*plugin) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (*deviceplugin.DevicePluginOptions, error) {
	return &deviceplugin.DevicePluginOptions{}, nil
}

// ListAndWatch lists the devices, and again when one was spoiled.
func (p *plugin) ListAndWatch(_ *deviceplugin.Empty, stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	for {
		if err := stream.Send(p.list()); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-p.changed:
		}
	}
}

func (p *plugin) list() *deviceplugin.ListAndWatchResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	response := &deviceplugin.ListAndWatchResponse{}
	for id, healthy := range p.healthy {
		device := &deviceplugin.Device{ID: id, Health: deviceplugin.Unhealthy}
		if healthy {
			device.Health = deviceplugin.Healthy
		}
		response.Devices = append(response.Devices, device)
	}
	return response
}

// Allocate gives a container nothing.
func (p *plugin) Allocate(_ context.Context, request *deviceplugin.AllocateRequest) (*deviceplugin.AllocateResponse, error) {
	if p.allocate != nil {
		p.allocate()
	}
	response := &deviceplugin.AllocateResponse{}
	for range request.GetContainerRequests() {
		response.ContainerResponses = append(response.ContainerResponses, &deviceplugin.ContainerAllocateResponse{})
	}
	return response, nil
}
