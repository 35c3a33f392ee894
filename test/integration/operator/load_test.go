package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
)

// sharedLoad asks for so many long sequences at once over copies of one device each, four of which fit a device. It says nothing of the
// number of copies.
func (w world) sharedLoad(sequences int32) *v1alpha1.ModelPlacement {
	p := w.PlacementOf("llm", 1, 1)
	p.Spec.Replicas, p.Spec.Quantization, p.Spec.Parallelism.Pipeline = nil, "BF16", new(int32(1))
	p.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 4 << 20, TotalSequences: sequences}
	return p
}

// TestCopiesShareALoad: a placement that says what all copies together are to hold gets as many copies as that takes, which stay as many
// when one loses its device; its spec keeps no number of copies until somebody scales it, and they then share the load.
func TestCopiesShareALoad(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{})
	w.addNode("n1", 4)
	w.addNode("n2", 4)
	p := w.place(w.sharedLoad(11))
	first := w.awaitPlan("llm", "llm-1")
	if n := first.Spec.Copies(); n != 3 || first.Spec.Totals.Devices != 3 || !strings.HasPrefix(first.Spec.Model.Assumptions[0], "3 copies for 4 sequences each, of 11 at once: ") {
		t.Fatalf("%d copies on %d devices: %v", n, first.Spec.Totals.Devices, first.Spec.Model.Assumptions)
	}
	w.Eventually("the number of copies is told", func(context.Context) bool { return w.placement("llm").Status.PlannedReplicas == 3 })

	// Nobody writes the number into the spec, so that there is nothing to read of it.
	scale := &autoscalingv1.Scale{}
	if err := w.SubResource("scale").Get(t.Context(), p, scale); err == nil || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("reading the scale of a placement without a number of copies: %+v, %v", scale.Spec, err)
	}

	lost := first.Spec.Nodes[1].Devices[0]
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Devices[slices.IndexFunc(i.Status.Devices, func(d v1alpha1.Device) bool { return d.ID == lost })].Health.State = v1alpha1.Unhealthy
	})
	second := w.awaitPlan("llm", "llm-2")
	for i, row := range second.Spec.Nodes {
		if stays := equality.Semantic.DeepEqual(row, first.Spec.Nodes[i]); stays != (i != 1) {
			t.Errorf("copy %d is on %s/%s, was on %s/%s", i, row.Node, row.Devices, first.Spec.Nodes[i].Node, first.Spec.Nodes[i].Devices)
		}
	}

	scale.Spec.Replicas = 5
	w.Must(w.SubResource("scale").Update(t.Context(), p, client.WithSubResourceBody(scale)))
	third := w.awaitPlan("llm", "llm-3")
	if third.Spec.Copies() != 5 {
		t.Errorf("scaled to 5, and there are %d copies", third.Spec.Copies())
	}
	// Three copies hold four sequences each, and five hold three each.
	if before, after := second.Spec.Totals.KVCacheBytes/(3*4), third.Spec.Totals.KVCacheBytes/(5*3); before != after {
		t.Errorf("the cache of a sequence is %d B after scaling, was %d B: the load is not divided by the number in the spec", after, before)
	}
	if diff := cmp.Diff(second.Spec.Nodes, third.Spec.Nodes[:3]); diff != "" {
		t.Errorf("copies moved (-before +after):\n%s", diff)
	}
	w.Must(w.SubResource("scale").Get(t.Context(), p, scale))
	if scale.Spec.Replicas != 5 {
		t.Errorf("the scale says %d", scale.Spec.Replicas)
	}

	// Two copies have six sequences each, which no device holds. The refusal says how many copies would do, and how many sequences.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = new(int32(2)) })
	var kept *v1alpha1.ModelPlacement
	w.Eventually("it is said what would fit", func(context.Context) bool {
		kept = w.placement("llm")
		return kept.Status.Shortfall != nil && len(kept.Status.Shortfall.Suggestions) > 0
	})
	if n := kept.Spec.Replicas; n == nil || *n != 2 {
		t.Errorf("replicas %v in a spec that says 2", n)
	}
	want := map[string]string{"spec.replicas": "3", "spec.workload.inference.totalSequences": "8"}
	for _, s := range kept.Status.Shortfall.Suggestions {
		for _, e := range s.Edits {
			if value, has := want[e.Path]; has && value == e.Value {
				delete(want, e.Path)
			}
		}
	}
	if len(want) > 0 || kept.Status.Plan != "llm-3" {
		t.Errorf("plan %s, suggestions %+v, want %v among them", kept.Status.Plan, kept.Status.Shortfall.Suggestions, want)
	}
	watched.check(3)
}

// TestALoadIsOfACopyOrOfAll: the API server takes one of both loads, and writes no number of copies by itself.
func TestALoadIsOfACopyOrOfAll(t *testing.T) {
	w := newWorld(t, wholeCluster)
	both := w.sharedLoad(11)
	both.Spec.Workload.Inference.MaxSequences = 4
	const want = "at most one of maxSequences and totalSequences must be set: "
	if err := w.Create(t.Context(), both); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	for i, load := range []v1alpha1.InferenceWorkload{{MaxModelLen: 8}, {MaxModelLen: 8, MaxSequences: 4}, {MaxModelLen: 8, TotalSequences: 4}} {
		p := w.sharedLoad(1)
		p.Name, p.Spec.Workload.Inference = fmt.Sprint("load-", i), &load
		w.Must(w.Create(t.Context(), p))
		if load.Objective = v1alpha1.ObjectiveThroughput; p.Spec.Replicas != nil || *p.Spec.Workload.Inference != load {
			t.Errorf("%+v was made of it, with %v copies", p.Spec.Workload.Inference, p.Spec.Replicas)
		}
	}
}
