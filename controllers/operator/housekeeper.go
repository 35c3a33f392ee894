package operator

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/controllers/ledger"
)

// housekeeper finishes at the start, and then once a period, what operators that ended left behind.
type housekeeper struct {
	sweep  func(context.Context) error
	period time.Duration
	log    logr.Logger
}

// Start works until the context ends. Only the leader keeps house: a manager starts nothing else that does not say otherwise.
func (h *housekeeper) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, h.once, h.period)
	return nil
}

// gathering is for how long plans that are gone are gathered for one write of the ledger.
const gathering = 2 * time.Second

// compactor writes the ledger some time after plans are gone.
type compactor struct {
	ledger *ledger.Ledger
	log    logr.Logger
}

// Start works until the context ends. Only the leader writes the ledger.
func (c *compactor) Start(ctx context.Context) error {
	for {
		select {
		case <-c.ledger.Vacated():
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(gathering):
		case <-ctx.Done():
			return nil
		}
		if err := c.ledger.Compact(ctx); err != nil && !errors.Is(err, ledger.ErrConflict) {
			c.log.Error(err, "compact the ledger")
		}
	}
}

// once does one round. What fails is tried again in the next: nothing safe hangs on it.
func (h *housekeeper) once(ctx context.Context) {
	if err := h.sweep(ctx); err != nil && !errors.Is(err, ledger.ErrConflict) {
		h.log.Error(err, "sweep")
	}
}
