package serving

import (
	"context"

	"google.golang.org/grpc/stats"
)

type connectionKey struct{}

// connectionOf is closed when the connection that a call came by has ended; nil where the server does not follow them.
func connectionOf(ctx context.Context) chan struct{} {
	gone, _ := ctx.Value(connectionKey{}).(chan struct{})
	return gone
}

// connections has the server tell which connection a call comes by and when it ends: the kubelet drops its client of a
// resource before it closes the connection, and only then may the resource register again.
type connections struct{}

// TagConn names a new connection.
func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, make(chan struct{}))
}

// HandleConn notes its end.
func (connections) HandleConn(ctx context.Context, event stats.ConnStats) {
	if _, ended := event.(*stats.ConnEnd); ended {
		close(connectionOf(ctx))
	}
}

// TagRPC leaves calls as they are.
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC leaves calls as they are.
func (connections) HandleRPC(context.Context, stats.RPCStats) {}
