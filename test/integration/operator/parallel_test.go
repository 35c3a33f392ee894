package operator

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// meeting holds the first who come until there are two of them.
type meeting struct {
	mu   sync.Mutex
	came int
	met  chan struct{}
}

// attend returns when two have come, or an error where nobody else comes.
func (m *meeting) attend(ctx context.Context) error {
	m.mu.Lock()
	m.came++
	if m.came == 2 {
		close(m.met)
	}
	m.mu.Unlock()
	select {
	case <-m.met:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestNodesGetTheirSlotsAtTheSameTime holds the first write of slots until another one is under way.
func TestNodesGetTheirSlotsAtTheSameTime(t *testing.T) {
	w := newWorld(t, wholeCluster)
	slots := &meeting{met: make(chan struct{})}
	nodes := []string{"n1", "n2", "n3"}
	for i, node := range nodes {
		w.addNode(node, 2)
		w.place(w.slottedPlacement(fmt.Sprint("llm", i), 2, 1))
	}
	w.operate(operator.Options{Planner: operation.FirstFit, Wrap: func(c client.WithWatch) client.WithWatch {
		return interceptor.NewClient(c, interceptor.Funcs{
			SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
				if _, is := o.(*apply.AcceleratorInventoryApplyConfiguration); is {
					if err := slots.attend(ctx); err != nil {
						return err
					}
				}
				return c.SubResource(sub).Apply(ctx, o, options...)
			},
		})
	}})
	w.Eventually("every node has its slots", func(ctx context.Context) bool {
		for _, node := range nodes {
			inventory := &v1alpha1.AcceleratorInventory{}
			w.Must(w.Get(ctx, client.ObjectKey{Name: node}, inventory))
			if len(inventory.Status.Slots) != 2 {
				return false
			}
		}
		return true
	})
}

// TestARoundIsOneWriteOfTheLedger: placements that wait when an operator starts share its writes, and those that one round has no room for are not forgotten.
func TestARoundIsOneWriteOfTheLedger(t *testing.T) {
	const count, most = 100, 12 // two rounds of 64, and what joins between them
	w := newWorld(t, wholeCluster)
	w.addNode("n1", count)
	for i := range count {
		w.place(w.PlacementOf(fmt.Sprint("llm", i), 1, 1))
	}
	made, stop := w.counted(operation.FirstFit)
	w.Eventually("all are placed", func(ctx context.Context) bool {
		var plans v1alpha1.ShardingPlanList
		w.Must(w.List(ctx, &plans, client.InNamespace(testNamespace)))
		return len(ledger.InForce(plans.Items)) == count
	})
	stop()
	if n := made.Calls()["patch configmaps"].Requests; n > most {
		t.Errorf("the ledger was written %d times for %d plans, want at most %d", n, count, most)
	}
}
