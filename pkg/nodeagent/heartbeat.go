package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
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

// keepBeating renews until the context ends a Lease, named as the node, that tells the operator that the inventory is being kept
// up to date, and people how busy the devices are.
func (a *Agent) keepBeating(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.renew(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("heartbeat not renewed", "namespace", a.options.LeaseNamespace, "error", err)
		}
		await.Pause(ctx, a.clock, renewalDelay(err != nil, rand.Float64()), nil)
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

// renew applies the Lease once, creating it where it does not exist. The heart of an agent that does not do its work does not
// beat: that would be a lie.
func (a *Agent) renew(ctx context.Context) error {
	if err := a.alive(); err != nil {
		return err
	}
	node := a.node.Load()
	if node == nil {
		return errNoNode
	}
	name, namespace := a.options.NodeName, a.options.LeaseNamespace
	metadata := object{"name": name, "namespace": namespace, "ownerReferences": nodeOwner(node)}
	if text := a.utilization.Load(); text != nil {
		metadata["annotations"] = object{v1alpha1.AnnotationUtilization: *text}
	}
	lease := manifest(leases.GroupVersion(), "Lease", metadata)
	lease.Object["spec"] = object{
		"holderIdentity": name, "leaseDurationSeconds": int64(leaseSeconds),
		"renewTime": a.clock.Now().UTC().Format(metav1.RFC3339Micro),
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if _, err := apply(ctx, a.client.Resource(leases).Namespace(namespace), lease); err != nil {
		return fmt.Errorf("apply Lease %s/%s: %w", namespace, name, err)
	}
	return nil
}
