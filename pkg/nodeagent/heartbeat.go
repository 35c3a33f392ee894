package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
)

const (
	// leaseSeconds is how long a heartbeat holds: four renewals, so that three lost ones do no harm.
	leaseSeconds = 240
	// renewInterval is the time between two renewals.
	renewInterval = time.Minute
	// renewRetry is the time to the next attempt after a renewal that failed.
	renewRetry = 10 * time.Second
	// jitter is the part of an interval by which it varies, so that agents started together do not write together.
	jitter = 0.1
)

// heartbeat renews a Lease, named as its node, that tells the operator that the inventory is being kept up to date.
type heartbeat struct {
	client    dynamic.Interface
	namespace string
	node      string
	clock     clock.Clock
	log       *slog.Logger
	// owner returns the Node as last seen, nil before it was.
	owner func() *metav1.PartialObjectMetadata
	// alive says why the agent is not doing its work, if so. A heart that beats on in a dead agent would be a lie.
	alive func() error
}

// run renews the Lease until the context ends.
func (h *heartbeat) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := h.renew(ctx)
		if err != nil && ctx.Err() == nil {
			h.log.Warn("heartbeat not renewed", "namespace", h.namespace, "error", err)
		}
		await.Pause(ctx, h.clock, renewalDelay(err != nil, rand.Float64()), nil)
	}
}

// renewalDelay is the time to the next renewal; random is in [0, 1).
func renewalDelay(failed bool, random float64) time.Duration {
	if failed {
		return jittered(renewRetry, random)
	}
	return jittered(renewInterval, random)
}

// jittered varies an interval by up to the part of jitter in both directions; random is in [0, 1).
func jittered(interval time.Duration, random float64) time.Duration {
	return time.Duration(float64(interval) * (1 - jitter + 2*jitter*random))
}

// errNoNode says that the agent has not seen its Node yet.
var errNoNode = errors.New("the Node has not been seen yet")

// renew applies the Lease once, creating it where it does not exist.
func (h *heartbeat) renew(ctx context.Context) error {
	if err := h.alive(); err != nil {
		return err
	}
	node := h.owner()
	if node == nil {
		return errNoNode
	}
	lease := manifest(leases.GroupVersion(), "Lease", object{
		"name": h.node, "namespace": h.namespace, "ownerReferences": nodeOwner(node),
	})
	lease.Object["spec"] = object{
		"holderIdentity": h.node, "leaseDurationSeconds": int64(leaseSeconds),
		"renewTime": h.clock.Now().UTC().Format(metav1.RFC3339Micro),
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if _, err := apply(ctx, h.client.Resource(leases).Namespace(h.namespace), lease); err != nil {
		return fmt.Errorf("apply Lease %s/%s: %w", h.namespace, h.node, err)
	}
	return nil
}
