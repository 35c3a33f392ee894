package dra

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"
)

// connections counts those to the driver's socket. It implements stats.Handler.
type connections struct {
	// changed is told how many there are.
	changed func(open int)

	mu   sync.Mutex
	open int
}

// HandleConn counts.
func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		c.open++
	case *stats.ConnEnd:
		c.open--
	}
	c.changed(c.open)
}

// TagConn adds nothing.
func (*connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleRPC counts nothing.
func (*connections) HandleRPC(context.Context, stats.RPCStats) {}

// TagRPC adds nothing.
func (*connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
