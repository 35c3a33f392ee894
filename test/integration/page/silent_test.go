package page

import (
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/operation"
)

// TestSilentAgent shows that an agent fell silent when its Lease runs out, and not only with the next change of something else.
func TestSilentAgent(t *testing.T) {
	const lasts = 40 * time.Second
	w := newWorld(t)
	w.add("n")
	var passed atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	due := make(chan time.Time)
	after := func(d time.Duration) <-chan time.Time {
		switch {
		case d > lasts/2:
			return due
		case d > time.Second: // nothing is asked of the API server, whose answers tell its time
			return nil
		}
		return quickly(d)
	}
	renewed, seconds := metav1.NowMicro(), int32(lasts.Seconds())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operation.AgentNamespace, Name: "n"}}
	lease.Spec = coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &renewed}
	w.Must(w.Create(t.Context(), lease))
	s := w.opens(cluster.Kubeconfig(), term.Streams{Now: now, After: after})
	s.awaits("node/n", "Idle")
	passed.Store(int64(lasts))
	due <- now()
	s.awaits("node/n", "the node's agent is silent")
	again := metav1.NewMicroTime(now())
	w.Change(lease, func() { lease.Spec.RenewTime = &again })
	s.awaits("node/n", "Idle")
}
