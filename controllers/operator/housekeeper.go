package operator

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/heartbeat"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// housekeeper does at the start, and then every minute, what no watch tells of.
type housekeeper struct {
	sweep   func(context.Context) error
	monitor *heartbeat.Monitor
	wake    chan<- event.GenericEvent
	log     logr.Logger
}

// Start works until the context ends. Only the leader keeps house: a manager starts nothing else that does not say otherwise.
func (h *housekeeper) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, h.once, housekeepingPeriod)
	return nil
}

// once does one round. What fails is tried again in the next: nothing safe hangs on it.
func (h *housekeeper) once(ctx context.Context) {
	if err := h.sweep(ctx); err != nil && !errors.Is(err, ledger.ErrConflict) {
		h.log.Error(err, "sweep")
	}
	changed, err := h.monitor.Look(ctx)
	if err != nil {
		h.log.Error(err, "look at heartbeats")
	}
	if !changed {
		return
	}
	select {
	case h.wake <- event.GenericEvent{Object: &v1alpha1.ModelPlacement{}}:
	case <-ctx.Done():
	}
}
