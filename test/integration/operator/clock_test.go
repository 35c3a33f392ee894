package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// clock is an operator's, which a test sets forward.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// newClock returns a clock at a full second, since statuses have no parts of seconds.
func newClock() *clock { return &clock{now: time.Now().Truncate(time.Second)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// pass sets the clock forward and has the placements of node n1 looked at again, as the operator's own timer would. It returns when that was
// done.
func (w world) pass(c *clock, d time.Duration, node string) {
	w.Helper()
	c.advance(d)
	var inventory v1alpha1.AcceleratorInventory
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: node}, &inventory))
	before := client.MergeFrom(inventory.DeepCopy())
	metav1.SetMetaDataAnnotation(&inventory.ObjectMeta, "looked-at", c.Now().String())
	w.Must(w.Patch(w.Context(), &inventory, before))
	w.settle()
}

// settle returns when the operator has reconciled what it knew of when settle was called: placements are reconciled one at a time, so one
// that is made now comes after them.
func (w world) settle() {
	w.Helper()
	last := w.PlacementOf(fmt.Sprintf("settled-%d", time.Now().UnixNano()), 1, 0)
	w.Must(w.Create(w.Context(), last))
	w.awaitReason(last.Name, "ScaledToZero")
	w.Must(w.Delete(w.Context(), last))
}

// beat renews the Lease of a node's agent, which it is to renew within four minutes.
func (w world) beat(node string) {
	w.Helper()
	seconds := int32(240)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operation.AgentNamespace, Name: node}}
	err := w.Get(w.Context(), client.ObjectKeyFromObject(lease), lease)
	w.Must(client.IgnoreNotFound(err))
	now := metav1.NowMicro()
	lease.Spec = coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &now}
	if err != nil {
		w.Must(w.Create(w.Context(), lease))
		w.Cleanup(func() { _ = w.Delete(context.WithoutCancel(w.Context()), lease) })
		return
	}
	w.Must(w.Update(w.Context(), lease))
}
