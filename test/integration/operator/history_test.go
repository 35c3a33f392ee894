package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// revisions are the ControllerRevisions of placement llm, the earliest first.
func (w world) revisions() []appsv1.ControllerRevision {
	w.Helper()
	var list appsv1.ControllerRevisionList
	w.Must(w.List(w.Context(), &list, client.InNamespace(testNamespace), client.MatchingLabels{v1alpha1.LabelPlacement: "llm"}))
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return list.Items
}

// awaitRevision waits until the latest revision of placement llm has a number, and returns its name.
func (w world) awaitRevision(number int64) string {
	w.Helper()
	var last appsv1.ControllerRevision
	w.Eventually("the spec is kept as a revision", func(context.Context) bool {
		if all := w.revisions(); len(all) > 0 {
			last = all[len(all)-1]
		}
		return last.Revision == number
	})
	return last.Name
}

// TestEarlierSpecsComeBack edits a placement, scales it, and goes back to its first spec by the patch that the revision holds, as an
// operator with no more rights than the product's.
func TestEarlierSpecsComeBack(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	asked := w.PlacementOf("llm", 2, 1)
	asked.Spec.RevisionHistoryLimit = new(int32(2))
	w.place(asked)
	w.awaitPlan("llm", "llm-1")
	if all := w.revisions(); len(all) > 0 {
		t.Errorf("%d revisions of a placement with one spec, which its plan has", len(all))
	}
	stored := w.placement("llm").Spec

	w.change(func(s *v1alpha1.ModelPlacementSpec) {
		s.Parallelism.Tensor = new(int32(4))
		s.Devices = &v1alpha1.DeviceRequirements{Vendors: []string{"nvidia"}}
	})
	w.awaitPlan("llm", "llm-2")
	w.awaitRevision(2)
	first := w.revisions()[0].Name
	w.change(func(s *v1alpha1.ModelPlacementSpec) {
		s.Parallelism.Tensor, s.Replicas = new(int32(1)), new(int32(3))
	})
	w.awaitPlan("llm", "llm-3")
	third := w.awaitRevision(3)

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = new(int32(2)) })
	w.awaitPlan("llm", "llm-4")
	if got := w.awaitRevision(3); got != third {
		t.Errorf("scaling made revision %s after %s", got, third)
	}

	revision := &appsv1.ControllerRevision{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: first}, revision))
	var data struct{ Patch json.RawMessage }
	w.Must(json.Unmarshal(revision.Data.Raw, &data))
	w.Must(w.Patch(t.Context(), w.placement("llm"), client.RawPatch(types.JSONPatchType, data.Patch)))
	w.awaitPlan("llm", "llm-5")
	if got := w.awaitRevision(4); got != first {
		t.Errorf("the first spec is revision %s, want %s as before", got, first)
	}
	back := w.placement("llm").Spec
	if *back.Replicas != 2 {
		t.Errorf("%d replicas, want 2: going back does not scale", *back.Replicas)
	}
	back.Replicas = stored.Replicas
	if got, want := asJSON(t, back), asJSON(t, stored); got != want {
		t.Errorf("spec %s\nwant %s", got, want)
	}

	w.change(func(s *v1alpha1.ModelPlacementSpec) {
		s.Parallelism.Tensor = new(int32(2))
		s.PriorityClassName = "system-node-critical"
	})
	w.awaitRevision(5)
	w.Eventually("no more than the limit are kept", func(context.Context) bool { return len(w.revisions()) == 3 })
}

// TestSpecOutlivesItsPlan: the first spec, which its plan alone has, is kept before that plan is deleted, when another spec comes while no operator
// runs, and when the plan's devices are given back in the same moment.
func TestSpecOutlivesItsPlan(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.ModelPlacementSpec){
		"replaced":  func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism.Tensor = new(int32(4)) },
		"suspended": func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism.Tensor, s.Suspend = new(int32(4)), true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			w.addNode("n1", 4)
			stop := w.RunOperator(operator.Options{Planner: operation.FirstFit})
			w.place(w.PlacementOf("llm", 2, 1))
			w.awaitPlan("llm", "llm-1")
			stop()
			w.change(edit)
			w.operate(operator.Options{Planner: operation.FirstFit, Wrap: w.keepsFirst})
			w.awaitRevision(2)
			if first := w.revisions()[0]; first.Revision != 1 || !strings.Contains(string(first.Data.Raw), `"tensor":2`) {
				t.Errorf("revision %d is %s", first.Revision, first.Data.Raw)
			}
		})
	}
}

// keepsFirst has the first revisions fail, and expects that no plan is deleted before the spec that it was made for is kept.
func (w world) keepsFirst(c client.WithWatch) client.WithWatch {
	var tries atomic.Int32
	const fail = 4
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if _, is := o.(*appsv1.ControllerRevision); is && tries.Add(1) <= fail {
				return errCrashed
			}
			return c.Create(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			var kept appsv1.ControllerRevisionList
			if _, is := o.(*v1alpha1.ShardingPlan); is && c.List(ctx, &kept, client.InNamespace(testNamespace)) == nil && w.Context().Err() == nil && len(kept.Items) == 0 {
				w.Errorf("plan %s is deleted, and nothing has its spec", o.GetName())
			}
			return c.Delete(ctx, o, options...)
		},
	})
}

func asJSON(t *testing.T, of any) string {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSuspendedPlacementsHoldNothing: others take the devices of a placement that is suspended, and it waits for its own when it is not
// any more.
func TestSuspendedPlacementsHoldNothing(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	w.place(w.PlacementOf("other", 2, 1))
	w.awaitReason("other", "TooFewDevices")

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Suspend = true })
	w.awaitReason("llm", "Suspended")
	w.awaitPlan("other", "other-1")
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Suspend = false })
	w.awaitReason("llm", "TooFewDevices")
	w.remove("other")
	w.awaitPlan("llm", "llm-2")
}
