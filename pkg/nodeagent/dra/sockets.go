package dra

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/socket"
)

// socketName is the name, in the driver's own folder, of the socket at which the kubelet calls the driver.
const socketName = "dra.sock"

// registrationName is the name of the socket by which the kubelet finds the driver: the kubelet asks every socket in its
// registry who is there (Kubernetes, pkg/kubelet/pluginmanager).
const registrationName = v1alpha1.DRADriver + "-reg.sock"

// registrar tells the kubelet of the driver.
type registrar struct {
	registration.UnimplementedRegistrationServer

	endpoint string
	// told is called with the kubelet's decision; problem is empty where it took the driver.
	told func(problem string)
}

// GetInfo says where the driver is.
func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.DRAPlugin, Name: v1alpha1.DRADriver, Endpoint: r.endpoint,
		SupportedVersions: []string{dra.DRAPluginService, health.DRAResourceHealthService, healthv1alpha1.DRAResourceHealthService},
	}, nil
}

// NotifyRegistrationStatus takes the kubelet's decision.
func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if status.GetPluginRegistered() {
		r.told("")
	} else {
		r.told(cmp.Or(status.GetError(), "no reason given"))
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// serveSockets answers at the driver's socket and at the registration's until the context ends or one of them fails. offer
// registers what is answered at the driver's.
func serveSockets(ctx context.Context, options *Options, offer func(*grpc.Server), connections *connections, told func(string)) error {
	service := filepath.Join(options.Folder, socketName)
	ended := make(chan error, 2)
	// The kubelet is told only when there is somebody to call.
	for _, s := range []struct {
		path   string
		server *grpc.Server
		offer  func(*grpc.Server)
	}{
		{service, grpc.NewServer(grpc.StatsHandler(connections)), offer},
		{filepath.Join(options.Registry, registrationName), grpc.NewServer(), func(server *grpc.Server) {
			registration.RegisterRegistrationServer(server, &registrar{endpoint: service, told: told})
		}},
	} {
		listener, err := socket.Listen(s.path)
		if err != nil {
			return err
		}
		defer listener.Remove()
		s.offer(s.server)
		go func() { ended <- s.server.Serve(listener) }()
		defer s.server.Stop()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("a socket of the driver failed: %w", err)
	}
}
