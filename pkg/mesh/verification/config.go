package verification

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// Config is what a pod needs to verify its part of a mesh.
type Config struct {
	Task *Task
	// Place is the pod's index in Task.Pods.
	Place int
	// Key is the mesh's secret.
	Key []byte
	// Listener takes the connections of the other pods; the verification closes it.
	Listener net.Listener
	// Dial connects to another pod; nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listen makes a listener within the pod, over which it learns what the program itself can move; nil means one on the loopback.
	Listen func(ctx context.Context) (net.Listener, error)
	// Silence is after how long without a sign of life a pod is lost; 0 means the default of package collective.
	Silence time.Duration
	// Now measures times; nil means the machine's clock.
	Now func() time.Time
	// Devices is the library of devices; nil where there is none, for the reason WithoutDevices. DeviceTime is what a round of
	// its checks may take, and DeviceBytes how much each moves at once; 0 means the default for devices.
	Devices        Devices
	WithoutDevices string
	DeviceTime     time.Duration
	DeviceBytes    int
	// Log takes what happens; nil drops it.
	Log *slog.Logger
}

func (c *Config) complete() error {
	switch {
	case c.Task == nil || len(c.Task.Pods) == 0:
		return errors.New("task has no pods: read it by ParseTask")
	case c.Place < 0 || c.Place >= len(c.Task.Pods):
		return fmt.Errorf("place is %d: the task has pods 0 to %d", c.Place, len(c.Task.Pods)-1)
	case len(c.Key) < collective.MinKeyBytes:
		return fmt.Errorf("key has %d bytes: give the mesh's, of at least %d", len(c.Key), collective.MinKeyBytes)
	case c.Listener == nil:
		return errors.New("listener is nil: listen at the pod's port")
	}
	if c.Listen == nil {
		c.Listen = func(ctx context.Context) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.DeviceTime == 0 {
		c.DeviceTime = deviceTime
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Task.shares == nil {
		return c.Task.complete()
	}
	return nil
}

// probing is how much of the time is kept for finding the link that is at fault.
func probing(deadline time.Duration) time.Duration {
	const part, most = 4, time.Minute
	return min(deadline/part, most)
}
