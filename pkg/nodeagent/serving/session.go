package serving

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/pkg/nodeagent/socket"
)

// registerTimeout bounds a registration, in which the kubelet takes up to 10 s to call back (plugin/v1beta1/client.go, dial).
const registerTimeout = 15 * time.Second

// session is a server of a pool on its socket, for one registration.
type session struct {
	resource string
	socket   *socket.Socket
	server   *grpc.Server
	streams  *streams
}

// openSession serves a pool on its socket in the folder, before anybody is told of it.
func openSession(folder, resource string, serve func(*streams) *server) (*session, error) {
	made, err := socket.Listen(filepath.Join(folder, socketName(resource)))
	if err != nil {
		return nil, err
	}
	s := &session{
		resource: resource, socket: made, streams: &streams{},
		server: grpc.NewServer(grpc.StatsHandler(connections{})),
	}
	pluginapi.RegisterDevicePluginServer(s.server, serve(s.streams))
	go func() { _ = s.server.Serve(made) }() // ends with close, and a listener that fails is seen by the lack of a stream
	return s, nil
}

// register tells the kubelet of the pool.
func (s *session) register(ctx context.Context, folder string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	kubelet := filepath.Join(folder, kubeletSocketName)
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("kubelet at %s: %w", kubelet, err)
	}
	defer func() { _ = connection.Close() }()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: filepath.Base(s.socket.Path), ResourceName: s.resource,
		Options: &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true},
	})
	if err != nil {
		return fmt.Errorf("register %s with the kubelet at %s: %w", s.resource, kubelet, err)
	}
	return nil
}

// close ends the server with all its connections, and says whether the kubelet still had one with a stream: then it has
// yet to notice.
func (s *session) close() (cut bool) {
	now, _ := s.streams.Get()
	if now.last != nil {
		cut = !closed(now.last.gone)
	}
	s.server.Stop()
	_ = s.socket.Close()
	return cut
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
