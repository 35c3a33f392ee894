package operator

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/plantest"
)

// addProduct makes a node with one device of a product.
func (w world) addProduct(name string, product plantest.Product) {
	w.Helper()
	status := &v1alpha1.AcceleratorInventoryStatus{AgentVersion: "test", Devices: []v1alpha1.Device{product.Device(0)}}
	w.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: operation.At("10.0.0.1")}, status)
}

// awaitImprovable waits until it is said of a placement whether there is a better plan, and returns what is said.
func (w world) awaitImprovable(name string, status metav1.ConditionStatus) *metav1.Condition {
	w.Helper()
	var said *metav1.Condition
	w.Eventually("Improvable is "+string(status), func(context.Context) bool {
		p := w.placement(name)
		said = meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionImprovable)
		return said != nil && said.Status == status && said.ObservedGeneration == p.Generation
	})
	return said
}

// placeForLatency places a model of which the catalogue knows how fast it is where.
func (w world) placeForLatency() {
	w.Helper()
	asked := w.PlacementOf("llm", 1, 1)
	name := "Llama-3.1-8B"
	asked.Spec.Model = v1alpha1.ModelSource{Name: &name}
	asked.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 4096, Objective: v1alpha1.ObjectiveLatency}
	w.place(asked)
	w.awaitPlan("llm", "llm-1")
}

// TestBetterPlansAreOfferedAndNotTaken places a model on a slow device and lets a faster one join: the gain is said in numbers, also by the next operator, and
// nothing moves until it is asked for.
func TestBetterPlansAreOfferedAndNotTaken(t *testing.T) {
	w := newWorld(t, wholeCluster)
	options := operator.Options{Comparing: 50 * time.Millisecond}
	stop := w.RunOperator(options)
	w.addProduct("slow", plantest.L40s)
	w.placeForLatency()
	story := w.follow()
	if c := w.awaitImprovable("llm", metav1.ConditionFalse); c.Reason != "NoBetterPlan" {
		t.Errorf("on the only device: %+v", c)
	}

	w.addProduct("fast", plantest.H200)
	c := w.awaitImprovable("llm", metav1.ConditionTrue)
	for _, part := range []string{"Objective Latency: ", " ms per token now, ", " ms per token with a fresh plan (1 device of 1 node", "spec.replanRequest"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("message %q lacks %q", c.Message, part)
		}
	}
	w.document(filepath.Join("use", "status.md"), `get mp llm -o jsonpath='{.status.conditions[?(@.type=="Improvable")].message}'`)
	stop()
	w.RunOperator(options)
	w.settle()
	if p := w.awaitPlan("llm", "llm-1"); p.Spec.Nodes[0].Node != "slow" {
		t.Errorf("plan %s is on node %s", p.Name, p.Spec.Nodes[0].Node)
	}
	w.awaitImprovable("llm", metav1.ConditionTrue)

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.ReplanRequest = "faster" })
	if p := w.awaitPlan("llm", "llm-2"); p.Spec.Nodes[0].Node != "fast" {
		t.Errorf("plan %s is on node %s", p.Name, p.Spec.Nodes[0].Node)
	}
	w.awaitImprovable("llm", metav1.ConditionFalse)
	story.check("llm-1", "llm-2")
}

// TestBetterPlansNeedRoom has a faster device on a node without CPU for the pods: it is offered as soon as there is some, though nothing else changed.
func TestBetterPlansNeedRoom(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addProduct("slow", plantest.L40s)
	w.addProduct("fast", plantest.H200)
	w.eightCPUs("slow")
	w.eightCPUs("fast")
	stranger := w.asks("stranger", "fast", "", "6")
	w.asks("llm-0", "", "llm", "4")
	w.operate(operator.Options{Comparing: 50 * time.Millisecond})
	w.placeForLatency()
	w.awaitImprovable("llm", metav1.ConditionFalse)
	w.Must(w.Delete(t.Context(), stranger, client.GracePeriodSeconds(0)))
	w.awaitImprovable("llm", metav1.ConditionTrue)
}

// TestComparingAsksOncePerChange compares many placements often: the planner is asked once for each of them when the cluster changed, and not
// when it did not.
func TestComparingAsksOncePerChange(t *testing.T) {
	const many = 12
	w := newWorld(t, wholeCluster)
	var asked, rounds atomic.Int32
	reads := func(c client.WithWatch) client.WithWatch {
		return interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, plans := list.(*v1alpha1.ShardingPlanList); plans {
				rounds.Add(1)
			}
			return c.List(ctx, list, options...)
		}})
	}
	w.operate(operator.Options{Comparing: 10 * time.Millisecond, Wrap: reads, Planner: func(ctx context.Context, c *fleet.Cluster, r shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
		if r.Previous != nil {
			asked.Add(1)
		}
		return operation.KeepingFit(ctx, c, r)
	}})
	w.addNode("n1", many)
	for i := range many {
		w.place(w.PlacementOf(fmt.Sprintf("llm-%02d", i), 1, 1))
	}
	for i := range many {
		w.awaitImprovable(fmt.Sprintf("llm-%02d", i), metav1.ConditionFalse)
	}
	quiet := func() {
		t.Helper()
		w.Eventually("the planner is not asked any more", func(context.Context) bool {
			before, from := asked.Load(), rounds.Load()
			w.Eventually("three rounds pass", func(context.Context) bool { return rounds.Load() > from+3 })
			return asked.Load() == before
		})
	}
	quiet()
	before := asked.Load()
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { metav1.SetMetaDataAnnotation(&i.ObjectMeta, "seen", "changed") })
	quiet()
	if more := asked.Load() - before; more > 0 {
		t.Errorf("the planner was asked %d times when an inventory said nothing new", more)
	}
	w.changeNode("n1", func(n *corev1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, "zone", "changed") })
	w.Eventually("the planner is asked for all", func(context.Context) bool { return asked.Load() >= before+many })
	quiet()
}
