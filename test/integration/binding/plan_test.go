package binding

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// place asks for copies of two devices each.
func (w *world) place(name string, copies int32, enforcement v1alpha1.Enforcement) {
	w.Helper()
	w.Must(w.Create(w.Context(), w.placement(name, copies, enforcement)))
}

func (w *world) placement(name string, copies int32, enforcement v1alpha1.Enforcement) *v1alpha1.ModelPlacement {
	placement := w.PlacementOf(name, 2, copies)
	placement.Spec.Enforcement = enforcement
	return placement
}

// awaitPlan waits until placement llm is placed by a plan, and returns its mesh.
func (w *world) awaitPlan(revision string) *v1alpha1.DeviceMesh {
	w.Helper()
	p, mesh := &v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}
	w.Eventually("the placement is placed by "+revision, func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKey{Namespace: w.Home, Name: "llm"}, p))
		placed := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
		return p.Status.Plan == revision && placed != nil && placed.Reason == v1alpha1.ReasonPlaced && placed.ObservedGeneration == p.Generation
	})
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(p), mesh))
	return mesh
}
