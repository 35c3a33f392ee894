package operator

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// TestAConflictDeletesNothing: an API server may answer a deletion with a conflict though the object is as it was read. What was to be deleted is
// then there, and no event tells of it.
func TestAConflictDeletesNothing(t *testing.T) {
	const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`
	for _, resource := range []string{"shardingplans", "devicemeshes"} {
		t.Run(resource, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			var refused atomic.Int32
			w.Transport = func(next http.RoundTripper) http.RoundTripper {
				return transport(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, resource) || refused.Add(1) > 2 {
						return next.RoundTrip(r)
					}
					return &http.Response{
						StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r,
					}, nil
				})
			}
			w.operate(operator.Options{Planner: operation.FirstFit})
			w.addNode("n1", 1)
			w.place(w.PlacementOf("llm", 1, 1))
			w.awaitPlan("llm", "llm-1")

			w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = new(int32(0)) })
			w.awaitReason("llm", v1alpha1.ReasonScaledToZero)
			w.Eventually("plan and mesh are gone", func(ctx context.Context) bool { return w.children(ctx, "llm") == 0 })
			if refused.Load() < 3 {
				t.Errorf("%d deletions were asked for; want the two that were refused and another", refused.Load())
			}
		})
	}
}

// TestReclaimLeavesWhatConflicts: a plan that nobody committed is its placement's trouble, and not that of whoever looks for devices.
func TestReclaimLeavesWhatConflicts(t *testing.T) {
	w := newWorld(t, justLedger)
	w.Must(w.Create(t.Context(), planOf("a", 1, []string{"n/d0"})))
	conflicts := interceptor.NewClient(w.WithWatch, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "shardingplans"}, o.GetName(), io.EOF)
	}})
	for _, test := range []struct {
		by   client.WithWatch
		want int
	}{{conflicts, 0}, {w.WithWatch, 1}} {
		removed, err := w.ledger(test.by).Reclaim(t.Context())
		w.Must(err)
		if removed != test.want {
			t.Errorf("%d plans are removed, want %d", removed, test.want)
		}
	}
}
