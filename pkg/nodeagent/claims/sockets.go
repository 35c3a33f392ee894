package claims

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// socketName is that of the socket at which the kubelet calls the driver, in the driver's own folder.
const socketName = "dra.sock"

// registrationName is that of the socket by which the kubelet finds the driver: it asks every socket in its registry who is
// there (pkg/kubelet/pluginmanager).
const registrationName = v1alpha1.ClaimDriver + "-reg.sock"

// socket is a unix socket of this agent.
type socket struct {
	net.Listener

	path string
	made os.FileInfo
}

// listen makes a socket anew, where something of that name is left, too.
func listen(path string) (*socket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a former agent: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), listener.Close())
	}
	return &socket{listener, path, made}, nil
}

// discard removes the socket's file, unless it is another agent's by now.
func (s *socket) discard() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
		_ = os.Remove(s.path)
	}
}

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
		Type: registration.DRAPlugin, Name: v1alpha1.ClaimDriver, Endpoint: r.endpoint, SupportedVersions: []string{dra.DRAPluginService},
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

// serveSockets answers at both sockets until the context ends, or with the error of one.
func serveSockets(ctx context.Context, options *Options, claims dra.DRAPluginServer, connections *connections, told func(string)) error {
	if err := os.MkdirAll(options.Folder, 0o750); err != nil {
		return fmt.Errorf("folder of the driver's socket: %w", err)
	}
	service, err := listen(filepath.Join(options.Folder, socketName))
	if err != nil {
		return err
	}
	defer service.discard()
	served := grpc.NewServer(grpc.StatsHandler(connections))
	dra.RegisterDRAPluginServer(served, claims)
	ended := make(chan error, 2)
	go func() { ended <- served.Serve(service) }()
	defer served.Stop()

	// The kubelet is told only when there is somebody to call.
	found, err := listen(filepath.Join(options.Registry, registrationName))
	if err != nil {
		return err
	}
	defer found.discard()
	registering := grpc.NewServer()
	registration.RegisterRegistrationServer(registering, &registrar{endpoint: service.path, told: told})
	go func() { ended <- registering.Serve(found) }()
	defer registering.Stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("a socket of the driver failed: %w", err)
	}
}
