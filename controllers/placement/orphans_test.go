package placement

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/snapshot"
)

// A plan that is gone without a word of the informers frees devices, which those are told of that wait.
func TestWhoWaitsIsToldOfPlansThatAreGoneUntold(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	waits := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waits"}}
	suspended := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "suspended"}, Spec: v1alpha1.ModelPlacementSpec{Suspend: true}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.ShardingPlan{}).WithObjects(waits, suspended).Build()
	fence := &ledger.Ledger{Reader: api, Writer: api, Namespace: "operator", Now: time.Now}
	made, err := fence.Commit(t.Context(), func(context.Context, *ledger.State) ([]ledger.Decision, error) {
		plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gone-1", UID: "1"}}
		return []ledger.Decision{{Plan: plan}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fence.Finish(t.Context(), &made[0])
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Client: api, Reader: api, Ledger: fence, Index: &snapshot.Index{Cache: api}, again: make(chan event.GenericEvent, 8)}
	sweep := func(want ...string) {
		t.Helper()
		if err := r.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.again) != len(want) {
			t.Fatalf("%d placements are retried, want %v", len(r.again), want)
		}
		for _, name := range want {
			if retried := <-r.again; retried.Object.GetName() != name {
				t.Errorf("%s is retried, want %s", retried.Object.GetName(), name)
			}
		}
	}
	sweep()
	if err := api.Delete(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	sweep("waits")
	sweep()
}
