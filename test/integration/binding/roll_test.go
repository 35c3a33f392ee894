package binding

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// evictions notes which copy's pods are evicted, and how many pods were ready at that moment.
type evictions struct {
	sync.Mutex
	// reader reads from the API server.
	reader client.Reader
	copies []string
	ready  []int
}

func (e *evictions) wrap(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, object, body client.Object, options ...client.SubResourceCreateOption) error {
			if sub == "eviction" {
				e.note(ctx, object)
			}
			return c.SubResource(sub).Create(ctx, object, body, options...)
		},
	})
}

func (e *evictions) note(ctx context.Context, pod client.Object) {
	var pods corev1.PodList
	ready := 0
	if err := e.reader.List(ctx, &pods, client.InNamespace(pod.GetNamespace())); err == nil {
		for i := range pods.Items {
			if isReady(&pods.Items[i]) {
				ready++
			}
		}
	}
	e.Lock()
	defer e.Unlock()
	replica := pod.GetAnnotations()[binding.AnnotationReplica]
	if slices.Contains(e.copies, replica) {
		return // asked for again, before the first eviction was seen
	}
	e.copies, e.ready = append(e.copies, replica), append(e.ready, ready)
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// change merges a change into the spec of placement llm.
func (w *world) change(spec string) {
	w.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`))
	w.Must(w.Patch(w.Context(), w.placement("llm", 1, v1alpha1.EnforcementAdvisory), patch))
}

// runRolled runs three copies of one device each on a node of six until all are ready, and notes evictions from then on.
func runRolled(t *testing.T, namespace string) (*world, *evictions) {
	t.Helper()
	w := newWorld(t, namespace)
	seen := &evictions{reader: w.World}
	w.wrap, w.planner = seen.wrap, operation.KeepingFit
	w.operate(nil)
	w.addNode("a", 6)
	w.Must(w.Create(t.Context(), w.PlacementOf("llm", 1, 3)))
	w.awaitPlan("llm-1")
	w.runStatefulSet(3)
	w.awaitReady(3, "llm-1")
	return w, seen
}

func (w *world) awaitReady(count int, plan string) {
	w.Helper()
	w.awaitPods(count, "ready in "+plan, func(p *corev1.Pod) bool {
		w.asKubelet()
		return isReady(p) && p.Labels[v1alpha1.LabelPlan] == plan
	})
}

// Copies of one device on devices 0, 1 and 2 become copies of two on 0 and 1, 2 and 3, 4 and 5: only the last finds its devices free.
func TestCopiesMoveOneByOneAndToSparesFirst(t *testing.T) {
	w, seen := runRolled(t, "rolled")
	w.change(`{"parallelism":{"tensor":2}}`)
	w.awaitReady(3, "llm-2")
	seen.Lock()
	defer seen.Unlock()
	if diff := cmp.Diff([]string{"2", "1", "0"}, seen.copies); diff != "" {
		t.Errorf("copies in the order of their evictions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 3, 3}, seen.ready); diff != "" {
		t.Errorf("pods that were ready when each copy was evicted (-want +got):\n%s", diff)
	}
}

// Copies whose devices are lost serve nobody, and wait for no other copy.
func TestLostCopiesMoveAtOnce(t *testing.T) {
	w, seen := runRolled(t, "lostcopies")
	w.lose(0, 1)
	w.Eventually("the pods of both are evicted, though none of them came back", func(context.Context) bool {
		seen.Lock()
		defer seen.Unlock()
		return len(seen.copies) == 2
	})
	if diff := cmp.Diff([]int{3, 2}, seen.ready); diff != "" {
		t.Errorf("pods that were ready when each copy was evicted (-want +got):\n%s", diff)
	}
}

// reversed is KeepingFit at first; a later plan has the same devices in the opposite order of copies.
func reversed(ctx context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	spec, err := operation.KeepingFit(ctx, cluster, request)
	if err != nil || request.Previous == nil {
		return spec, err
	}
	last := len(spec.Nodes) - 1
	for i, row := range request.Previous.Nodes {
		spec.Nodes[last-i].Devices = row.Devices
	}
	return spec, nil
}

// Two copies that change places under Claim would wait for each other, if one waited until the other is ready.
func TestCopiesThatSwapDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t, "swapped")
	w.planner = reversed
	w.operate(nil)
	w.addClaimedNode("a", 2)
	placement := w.PlacementOf("llm", 1, 2)
	placement.Spec.Enforcement = v1alpha1.EnforcementClaim
	w.Must(w.Create(t.Context(), placement))
	w.awaitPlan("llm-1")
	w.runStatefulSet(2)
	w.awaitReady(2, "llm-1")
	w.change(`{"workload":{"inference":{"maxModelLen":64}}}`)
	w.awaitReady(2, "llm-2")
}

// An operator that starts in the middle of a roll waits for the copy that the one before it evicted, of which nothing is there.
func TestAnotherOperatorGoesOnWithARoll(t *testing.T) {
	w := newWorld(t, "takenover")
	seen := &evictions{reader: w.World}
	w.wrap, w.planner = seen.wrap, operation.KeepingFit
	stop := w.operate(nil)
	w.addNode("a", 6)
	w.Must(w.Create(t.Context(), w.PlacementOf("llm", 1, 3)))
	w.awaitPlan("llm-1")
	run := func(index string) {
		t.Helper()
		w.Eventually("pod "+index+" is made", created(w, w.pod("llm-"+index, map[string]string{binding.LabelIndex: index})))
	}
	for _, index := range []string{"0", "1", "2"} {
		run(index)
	}
	w.awaitReady(3, "llm-1")
	w.change(`{"parallelism":{"tensor":2}}`)
	w.awaitPods(2, "left", func(*corev1.Pod) bool { w.asKubelet(); return true })
	stop()

	w.operate(nil)
	w.addNode("b", 1)
	w.Must(w.Create(t.Context(), w.PlacementOf("later", 1, 1)))
	later := w.pod("later-0", map[string]string{v1alpha1.LabelPlacement: "later", binding.LabelIndex: "0"})
	w.Eventually("a pod of another placement is made", created(w, later))
	w.awaitEvent("later-0", "Bound") // by then the operator has seen the pods of the first
	w.awaitPods(2, "left, of the other copies", isReady)
	run("2")
	w.Eventually("copy 1 is evicted", func(context.Context) bool {
		w.asKubelet()
		seen.Lock()
		defer seen.Unlock()
		return len(seen.copies) == 2
	})
	seen.Lock()
	defer seen.Unlock()
	if want := []int{3, 3}; !cmp.Equal(seen.ready, want) || !cmp.Equal(seen.copies, []string{"2", "1"}) {
		t.Errorf("copies %s were evicted while %d pods were ready, want 2 and 1 while %d were", seen.copies, seen.ready, want)
	}
}

// A placement that gave its devices back while its pods run on all of them gets them again: what holds them is its own. Pods that have the same place as before stay,
// and the others leave as those of a plan that was replaced do.
func TestPlacementComesBackToItsPods(t *testing.T) {
	for _, enforcement := range enforcements {
		t.Run(string(enforcement), func(t *testing.T) {
			w := newWorld(t, "cameback-"+strings.ToLower(string(enforcement)))
			w.operate(nil)
			w.addNodeFor(enforcement, "a", 2)
			w.offerSlots("a", 2)
			placement := w.PlacementOf("llm", 1, 2)
			placement.Spec.Enforcement = enforcement
			w.Must(w.Create(t.Context(), placement))
			w.awaitPlan("llm-1")
			w.runStatefulSet(2)
			w.awaitReady(2, "llm-1")
			running := w.pods()
			w.change(`{"suspend":true}`)
			w.awaitNoPlan()
			w.change(`{"suspend":false}`)
			w.awaitReady(2, "llm-2")
			w.checkStayed(running, w.pods())
			w.setCopies(0)
			w.awaitNoPlan()
			w.change(`{"replicas":1,"parallelism":{"tensor":2}}`)
			w.awaitPlan("llm-3")
			w.setScale(&appsv1.StatefulSet{}, 1)
			w.awaitReady(1, "llm-3")
		})
	}
}

// awaitNoPlan waits until placement llm has given its devices back.
func (w *world) awaitNoPlan() {
	w.Helper()
	w.Eventually("there is no plan", func(ctx context.Context) bool {
		var plans v1alpha1.ShardingPlanList
		w.Must(w.List(ctx, &plans, client.InNamespace(w.Home)))
		return len(plans.Items) == 0
	})
}
