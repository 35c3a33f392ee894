package operator

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/repair"
	"github.com/rankwright/rankwright/test/operation"
)

// Two operators that both take themselves for the leader repair each device once, one after the other as the budget says.
func TestTwoOperatorsRepairEachDeviceOnce(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	m.RunOperator(operator.Options{Planner: operation.KeepingFit, Now: m.Now, Repairs: m.settings})
	nodes := []string{"n1", "n2"}
	for _, node := range nodes {
		m.addNode(node, 1)
		m.damage(node, v1alpha1.Unhealthy)
		m.awaitState(node, v1alpha1.RepairVacated, "")
	}
	for begun := 1; begun <= len(nodes); begun++ {
		for _, node := range nodes {
			m.later(5*time.Minute, node)
		}
		m.Eventually(fmt.Sprintf("%d repairs have begun", begun), func(context.Context) bool { return len(m.jobs()) >= begun })
		jobs := m.jobs()
		if len(jobs) != begun {
			t.Fatalf("%d jobs, of which one at a time may be under way, want %d", len(jobs), begun)
		}
		for i := range jobs {
			if len(jobs[i].Status.Conditions) > 0 {
				continue
			}
			node := jobs[i].Labels["node"]
			m.CompleteJob(&jobs[i])
			m.awaitState(node, v1alpha1.RepairChecking, "")
			m.damage(node, v1alpha1.Healthy)
			m.later(5*time.Minute, node)
			m.awaitState(node, v1alpha1.RepairReturned, "")
		}
	}
	if jobs := m.jobs(); len(jobs) != 2 || jobs[0].Labels["node"] == jobs[1].Labels["node"] {
		t.Errorf("%d jobs, want one of each node", len(jobs))
	}
}

// A record is written on what was read before: what another operator writes in between is not lost.
func TestRepairsRestOnWhatWasRead(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	m.stop()
	records := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: repair.Name}}
	meanwhile := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"written":"meanwhile"}}}`))
	var raced atomic.Bool
	m.stop = m.RunOperator(operator.Options{Planner: operation.KeepingFit, Now: m.Now, Repairs: m.settings, Wrap: func(c client.WithWatch) client.WithWatch {
		return interceptor.NewClient(c, interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
				if o.GetName() == repair.Name && raced.CompareAndSwap(false, true) {
					if err := m.Patch(ctx, records.DeepCopy(), meanwhile); err != nil {
						return err
					}
				}
				return c.Update(ctx, o, options...)
			},
		})
	}})
	m.addNode("n1", 1)
	m.damage("n1", v1alpha1.Unhealthy)
	m.awaitState("n1", v1alpha1.RepairVacated, "")
	m.later(5*time.Minute, "n1")
	m.CompleteJob(m.awaitJob("n1"))
	m.awaitState("n1", v1alpha1.RepairChecking, "")
	m.Must(m.Get(t.Context(), client.ObjectKeyFromObject(records), records))
	if !raced.Load() || records.Annotations["written"] != "meanwhile" {
		t.Errorf("annotations %v: what was written meanwhile (%v) is lost", records.Annotations, raced.Load())
	}
}

// lastWish lets an operator write once, and nothing after that, as if it were killed then.
type lastWish struct{ used atomic.Bool }

func (l *lastWish) wrap(c client.WithWatch) client.WithWatch {
	once := func(write func() error) error {
		if l.used.Swap(true) {
			return errCrashed
		}
		return write()
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return once(func() error { return c.Create(ctx, o, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			return once(func() error { return c.Update(ctx, o, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return once(func() error { return c.SubResource(sub).Apply(ctx, o, options...) })
		},
	})
}

// Each operator is killed after one write, wherever that falls: the device is repaired once, and comes back.
func TestRepairByOperatorsThatWriteOnce(t *testing.T) {
	m := newMender(t, operation.RepairJob)
	m.stop()
	m.addNode("n1", 1)
	m.damage("n1", v1alpha1.Unhealthy)
	operators := 0
	until := func(state v1alpha1.RepairState) {
		t.Helper()
		reached := func() bool {
			var book corev1.ConfigMap
			m.Must(client.IgnoreNotFound(m.Get(t.Context(), client.ObjectKey{Namespace: operation.Namespace, Name: repair.Name}, &book)))
			return m.repairOf("n1").State == state && (state != v1alpha1.RepairReturned || len(book.Data) == 0) &&
				(state != v1alpha1.Repairing || len(m.jobs()) > 0)
		}
		for !reached() {
			operators++
			if operators > 30 {
				t.Fatalf("30 operators did not come to %s: %+v", state, m.repairOf("n1"))
			}
			wish := &lastWish{}
			stop := m.RunOperator(operator.Options{Planner: operation.KeepingFit, Now: m.Now, Repairs: m.settings, Wrap: wish.wrap})
			m.Eventually(fmt.Sprintf("the operator wrote after %+v", m.repairOf("n1")), func(context.Context) bool { return wish.used.Load() || reached() })
			stop()
		}
	}
	until(v1alpha1.RepairVacated)
	m.advance(time.Hour)
	until(v1alpha1.Repairing)
	jobs := m.jobs()
	m.CompleteJob(&jobs[0])
	until(v1alpha1.RepairChecking)
	m.damage("n1", v1alpha1.Healthy)
	m.advance(5 * time.Minute)
	until(v1alpha1.RepairReturned)
	if jobs := m.jobs(); len(jobs) != 1 || operators < 8 {
		t.Errorf("%d jobs by %d operators", len(jobs), operators)
	}
}
