package claims

import (
	"context"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
)

// A claim that somebody made after the cache was filled is not taken for the mesh's own: making it is tried again, and then it is seen.
func TestClaimThatTheCacheDoesNotKnow(t *testing.T) {
	api := interceptor.NewClient(nil, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(resourcev1.Resource("resourceclaims"), "llm-0")
		},
	})
	r := &Reconciler{Follower: meshes.Follower{Client: api}}
	err := r.create(t.Context(), &v1alpha1.DeviceMesh{}, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "llm-0"}})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v, want the API server's refusal", err)
	}
}
