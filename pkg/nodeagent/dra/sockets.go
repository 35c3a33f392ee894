package dra

import (
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
	problem := status.GetError()
	if !status.GetPluginRegistered() && problem == "" {
		problem = "no reason given"
	}
	if status.GetPluginRegistered() {
		problem = ""
	}
	r.told(problem)
	return &registration.RegistrationStatusResponse{}, nil
}

// serveSockets answers at the driver's socket and at the registration's until the context ends or one of them fails. offer
// registers what is answered at the driver's.
func serveSockets(ctx context.Context, options *Options, offer func(*grpc.Server), connections *connections, told func(string)) error {
	service, err := socket.Listen(filepath.Join(options.Folder, socketName))
	if err != nil {
		return err
	}
	defer service.Remove()
	served := grpc.NewServer(grpc.StatsHandler(connections))
	offer(served)
	ended := make(chan error, 2)
	go func() { ended <- served.Serve(service) }()
	defer served.Stop()

	// The kubelet is told only when there is somebody to call.
	found, err := socket.Listen(filepath.Join(options.Registry, registrationName))
	if err != nil {
		return err
	}
	defer found.Remove()
	registering := grpc.NewServer()
	registration.RegisterRegistrationServer(registering, &registrar{endpoint: service.Path, told: told})
	go func() { ended <- registering.Serve(found) }()
	defer registering.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("a socket of the driver failed: %w", err)
	}
}
