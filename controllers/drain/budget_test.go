package drain

import (
	"context"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// A budget that cannot be created is tried again unless the placement has it by now, of which a watch will tell.
func TestBudgetWhoseNameIsTaken(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "a"}}
	wanted := budgetOf(placement, 1, nil)
	for name, c := range map[string]struct {
		there           *policyv1.PodDisruptionBudget
		again, complain bool
	}{
		"somebody's":      {there: &policyv1.PodDisruptionBudget{}, again: true, complain: true},
		"gone meanwhile":  {again: true},
		"the placement's": {there: wanted},
	} {
		said := events.NewFakeRecorder(1)
		api := interceptor.NewClient(nil, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return apierrors.NewAlreadyExists(policyv1.Resource("poddisruptionbudgets"), wanted.Name)
			},
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
				if c.there == nil {
					return apierrors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), wanted.Name)
				}
				if budget, is := into.(*policyv1.PodDisruptionBudget); is {
					c.there.DeepCopyInto(budget)
				}
				return nil
			},
		})
		err := (&Reconciler{Client: api, Reader: api, Events: said}).create(t.Context(), placement, wanted.DeepCopy())
		if (err != nil) != c.again {
			t.Errorf("%s: error %v, want one: %v", name, err, c.again)
		}
		if (len(said.Events) > 0) != c.complain {
			t.Errorf("%s: %d events, want one: %v", name, len(said.Events), c.complain)
		}
	}
}
