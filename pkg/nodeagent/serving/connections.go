package serving

import (
	"context"

	"google.golang.org/grpc/stats"

	"github.com/rankwright/rankwright/internal/await"
)

// connection is a client's connection with our server.
type connection struct{ gone chan struct{} }

type connectionKey struct{}

// connectionOf is the connection that a call came by; nil where the server does not follow them.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// connections has the server tell which connection a call comes by and when it ends: the kubelet drops its client of a
// resource before it closes the connection, and only then may the resource register again.
type connections struct{}

// TagConn names a new connection.
func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{gone: make(chan struct{})})
}

// HandleConn notes its end.
func (connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	if _, ended := event.(*stats.ConnEnd); ended {
		if c := connectionOf(ctx); c != nil {
			close(c.gone)
		}
	}
}

// TagRPC leaves calls as they are.
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC leaves calls as they are.
func (connections) HandleRPC(context.Context, stats.RPCStats) {}

// streams follows the ListAndWatch streams of one registration.
type streams struct{ await.Value[streaming] }

// streaming is how the streams of a registration are.
type streaming struct {
	// open is the number of streams, and last the connection of the one opened last.
	open int
	last *connection
	// sent is what a stream that is open sent last.
	sent *offering
}

func (s *streams) opened(c *connection) {
	s.Update(func(now *streaming) { now.open++; now.last = c; now.sent = nil })
}

func (s *streams) delivered(o *offering) { s.Update(func(now *streaming) { now.sent = o }) }

func (s *streams) ended() {
	s.Update(func(now *streaming) {
		now.open--
		if now.open == 0 {
			now.sent = nil
		}
	})
}
