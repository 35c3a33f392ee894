package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/test/operation"
)

// elected has two operators elect, breaks something of the leader, waits until the other one leads, and mends it. A leader whose Lease was taken
// ends by itself.
func (w *world) elected(ctx context.Context, breaks func(leader *seat) (mend func())) error {
	first, second := w.seats[0], w.seats[1]
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = operation.Namespace, "rankwright-operator"
	if err := errors.Join(first.stop(), client.IgnoreNotFound(w.client.Delete(ctx, lease.DeepCopy())), first.start(true)); err != nil {
		return err
	}
	holder, err := w.awaitHolder(ctx, lease, "")
	if err != nil {
		return err
	}
	if err := second.start(true); err != nil {
		return err
	}
	w.between(ctx, time.Second, 3*time.Second)
	w.watcher.awaitChange(ctx, 3*time.Second)
	first.doomed = true
	mend := breaks(first)
	_, err = w.awaitHolder(ctx, lease, holder)
	if err == nil {
		w.watcher.awaitChange(ctx, 5*time.Second)
		w.between(ctx, 0, 3*time.Second)
	}
	mend()
	if err == nil {
		err = first.awaitEnd(ctx)
	}
	return errors.Join(err, first.kill(), second.stop(), first.start(false))
}

// awaitHolder waits until somebody else holds the Lease.
func (w *world) awaitHolder(ctx context.Context, lease *coordinationv1.Lease, before string) (string, error) {
	const poll, patience = 200 * time.Millisecond, time.Minute
	holder := ""
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		if w.client.Get(ctx, client.ObjectKeyFromObject(lease), lease) == nil && lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		return holder != "" && !strings.EqualFold(holder, before), nil
	})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", blockedError(fmt.Sprintf("nobody but %q leads after %s", before, patience))
	}
	return holder, nil
}
