package serving

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/socket"
)

// registerTimeout bounds a registration, in which the kubelet takes up to 10 s to call back (plugin/v1beta1/client.go, dial).
const registerTimeout = 15 * time.Second

// session answers the kubelet's calls for one registration of a pool, on the pool's socket.
type session struct {
	pluginapi.UnimplementedDevicePluginServer

	*endpoint
	streams await.Value[streaming]
	socket  *socket.Socket
	server  *grpc.Server
}

// streaming is how the ListAndWatch streams of a registration are.
type streaming struct {
	// open is the number of streams, and gone is closed when the connection of the one opened last has ended; nil before the
	// first.
	open int
	gone <-chan struct{}
	// sent is what a stream that is open sent last.
	sent *offering
}

// openSession serves a pool on its socket, before anybody is told of it.
func openSession(e *endpoint) (*session, error) {
	made, err := socket.Listen(e.socketPath())
	if err != nil {
		return nil, err
	}
	s := &session{endpoint: e, socket: made, server: grpc.NewServer(grpc.StatsHandler(connections{}))}
	pluginapi.RegisterDevicePluginServer(s.server, s)
	go func() { _ = s.server.Serve(made) }() // ends with close, and a listener that fails is seen by the lack of a stream
	return s, nil
}

// register tells the kubelet of the pool.
func (s *session) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.plugin.registerTimeout)
	defer cancel()
	kubelet := filepath.Join(s.plugin.folder.path, kubeletSocketName)
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

// follow returns when the registration is over, or no stream comes of it. When the pool is retired, it lets the kubelet be told.
func (s *session) follow(ctx, until context.Context, changed <-chan struct{}) {
	deadline := s.plugin.options.Clock.NewTimer(streamTimeout)
	defer func() { deadline.Stop() }()
	restart := func() { deadline.Stop(); deadline = s.plugin.options.Clock.NewTimer(streamTimeout) }
	serving, retired := false, until.Done()
	lost, confirmed := s.confirmed(ctx)
	defer confirmed()
	for {
		now, moved := s.streams.Get()
		switch {
		case now.sent != nil:
			serving = true
			s.turn(Serving, "")
		case serving && now.open == 0:
			serving = false
			restart()
			s.turn(Registering, "ListAndWatch ended")
		}
		if retired == nil && s.told(now) {
			return
		}
		var expired <-chan time.Time
		if !serving || retired == nil {
			expired = deadline.C()
		}
		select {
		case <-moved:
		case <-now.gone:
			return
		case <-lost:
			s.turn(Registering, "the kubelet lost the registration")
			return
		case <-expired:
			return
		case <-changed:
			return
		case <-ctx.Done():
			return
		case <-retired:
			retired = nil
			restart()
		}
	}
}

// told says that the kubelet has what is offered now, or does not listen.
func (s *session) told(now streaming) bool {
	offered, _ := s.offered.Get()
	return now.open == 0 || now.sent == offered
}

// close ends the server with all its connections, and says whether the kubelet still had one with a stream: then it has
// yet to notice.
func (s *session) close() (cut bool) {
	now, _ := s.streams.Get()
	cut = now.gone != nil && !closed(now.gone)
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
