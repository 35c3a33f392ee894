package operator

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/heartbeat"
)

// listener looks at heartbeats at the start, and then once a period. A standby does so too: an agent is silent by the clock of who
// listened for it, and a leader that began to listen when it was elected would take silent agents' nodes for good ones.
type listener struct {
	monitor *heartbeat.Monitor
	// elected is closed once this operator leads.
	elected <-chan struct{}
	wake    chan<- event.GenericEvent
	period  time.Duration
	log     logr.Logger
}

// NeedLeaderElection says that every operator listens.
func (*listener) NeedLeaderElection() bool { return false }

// Start works until the context ends.
func (l *listener) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, l.once, l.period)
	return nil
}

// once looks once, and wakes the controller where that told something new. A standby has no controller that runs, and one that starts
// looks at everything anyway.
func (l *listener) once(ctx context.Context) {
	changed, err := l.monitor.Look(ctx)
	if err != nil {
		l.log.Error(err, "look at heartbeats")
	}
	select {
	case <-l.elected:
	default:
		return
	}
	if !changed {
		return
	}
	select {
	case l.wake <- event.GenericEvent{Object: &v1alpha1.ModelPlacement{}}:
	case <-ctx.Done():
	}
}
