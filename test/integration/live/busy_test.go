package live

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
	"github.com/rankwright/rankwright/test/operation"
)

// beat renews the Lease of a node's agent, which says how busy the first devices are, in percent.
func (w *world) beat(node string, percent ...int64) {
	w.Helper()
	busy := inventory.Utilization{ReadAt: metav1.NewTime(time.Date(2026, 5, 4, 12, 2, 3, 0, time.UTC)), Percent: map[v1alpha1.DeviceID]int64{}}
	for i, d := range w.inventory(node).Status.Devices[:len(percent)] {
		busy.Percent[d.ID] = percent[i]
	}
	text, err := busy.Text()
	w.Must(err)
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operation.AgentNamespace, Name: node, Annotations: map[string]string{v1alpha1.AnnotationUtilization: text}}}
	lease.Spec = coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(3600)), RenewTime: &now}
	w.Must(w.Create(w.Context(), lease))
	w.Cleanup(func() { _ = w.Delete(context.WithoutCancel(w.Context()), lease) })
}
