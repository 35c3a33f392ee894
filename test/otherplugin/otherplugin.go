// Package otherplugin is a device plugin that stands for another vendor's on a node of the tests.
package otherplugin

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Plugin is a device plugin as small as one can be: its devices are names, and a container that gets one gets nothing.
type Plugin struct {
	deviceplugin.UnimplementedDevicePluginServer
	resource string
	allocate func()
	server   *grpc.Server
	served   chan struct{}

	mu      sync.Mutex
	healthy map[string]bool
	changed chan struct{}
}

// Start serves devices to the kubelet that has the folder of device plugins, until Stop. allocate is called at each
// allocation, unless it is nil.
func Start(ctx context.Context, folder, resource, socket string, allocate func(), ids ...string) (*Plugin, error) {
	p := &Plugin{resource: resource, allocate: allocate, healthy: map[string]bool{}, changed: make(chan struct{}, 1), served: make(chan struct{})}
	for _, id := range ids {
		p.healthy[id] = true
	}
	path := filepath.Join(folder, socket)
	_ = os.Remove(path)
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	p.server = grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(p.server, p)
	go func() { defer close(p.served); _ = p.server.Serve(listener) }()
	if err := p.register(ctx, filepath.Join(folder, "kubelet.sock"), socket); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Plugin) register(ctx context.Context, kubelet, socket string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	request := &deviceplugin.RegisterRequest{Version: deviceplugin.Version, Endpoint: socket, ResourceName: p.resource}
	_, err = deviceplugin.NewRegistrationClient(connection).Register(ctx, request, grpc.WaitForReady(true))
	return err
}

// Stop ends the plugin; it may be called more than once.
func (p *Plugin) Stop() {
	p.server.Stop()
	<-p.served
}

// Spoil makes a device unhealthy.
func (p *Plugin) Spoil(id string) {
	p.mu.Lock()
	p.healthy[id] = false
	p.mu.Unlock()
	p.changed <- struct{}{}
}

// GetDevicePluginOptions returns no options.
func (*Plugin) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (*deviceplugin.DevicePluginOptions, error) {
	return &deviceplugin.DevicePluginOptions{}, nil
}

// ListAndWatch lists the devices, and again when one was spoiled.
func (p *Plugin) ListAndWatch(_ *deviceplugin.Empty, stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
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

func (p *Plugin) list() *deviceplugin.ListAndWatchResponse {
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
func (p *Plugin) Allocate(_ context.Context, request *deviceplugin.AllocateRequest) (*deviceplugin.AllocateResponse, error) {
	if p.allocate != nil {
		p.allocate()
	}
	response := &deviceplugin.AllocateResponse{}
	for range request.GetContainerRequests() {
		response.ContainerResponses = append(response.ContainerResponses, &deviceplugin.ContainerAllocateResponse{})
	}
	return response, nil
}
