package binding

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestBuiltInRolesKnowPlacements has tenants with Kubernetes' own roles, which a controller aggregates, at our kinds.
func TestBuiltInRolesKnowPlacements(t *testing.T) {
	w := newWorld(t, "roles")
	w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	mesh := w.awaitPlan("llm-1")
	plan := &v1alpha1.ShardingPlan{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: w.Home, Name: "llm-1"}, plan))
	placement := w.placement("llm", 1, v1alpha1.EnforcementAdvisory)
	for _, test := range []struct {
		role  string
		edits bool
	}{{"view", false}, {"edit", true}, {"admin", true}} {
		t.Run(test.role, func(t *testing.T) {
			tenant := w.tenantOf(test.role+"er", test.role)
			for _, seen := range []client.ObjectList{&v1alpha1.ModelPlacementList{}, &v1alpha1.ShardingPlanList{}, &v1alpha1.DeviceMeshList{}} {
				w.Must(tenant.List(t.Context(), seen, client.InNamespace(w.Home)))
			}
			for _, hidden := range []client.ObjectList{&v1alpha1.ModelPlacementList{}, &v1alpha1.AcceleratorInventoryList{}} {
				if err := tenant.List(t.Context(), hidden); !apierrors.IsForbidden(err) {
					t.Errorf("%T of the whole cluster: %v", hidden, err)
				}
			}
			for _, operators := range []client.Object{mesh.DeepCopy(), plan.DeepCopy()} {
				if err := tenant.Delete(t.Context(), operators, client.DryRunAll); !apierrors.IsForbidden(err) {
					t.Errorf("%T was deleted: %v", operators, err)
				}
			}
			err := tenant.Delete(t.Context(), placement.DeepCopy(), client.DryRunAll)
			if test.edits != (err == nil) || !test.edits && !apierrors.IsForbidden(err) {
				t.Errorf("a placement was deleted: %v", err)
			}
		})
	}
}
