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
	ended := make(chan error, 2)
	endpoint := filepath.Join(options.Folder, socketName)
	service := grpc.NewServer(grpc.StatsHandler(connections))
	offer(service)
	stop, err := serveAt(endpoint, service, ended)
	if err != nil {
		return err
	}
	defer stop()
	// The kubelet is told only when there is somebody to call.
	registering := grpc.NewServer()
	registration.RegisterRegistrationServer(registering, &registrar{endpoint: endpoint, told: told})
	stopRegistering, err := serveAt(filepath.Join(options.Registry, registrationName), registering, ended)
	if err != nil {
		return err
	}
	defer stopRegistering()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("a socket of the driver failed: %w", err)
	}
}

// serveAt answers at a socket until it is stopped; ended is told when that is over.
func serveAt(path string, server *grpc.Server, ended chan<- error) (stop func(), err error) {
	listener, err := socket.Listen(path)
	if err != nil {
		return nil, err
	}
	go func() { ended <- server.Serve(listener) }()
	return func() { server.Stop(); listener.Remove() }, nil
}
