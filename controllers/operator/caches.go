package operator

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
)

// cacheOptions say what informers keep: of some kinds the objects of placements alone, and of no object what nobody reads.
func cacheOptions() (cache.Options, error) {
	placed, err := labels.Parse(v1alpha1.LabelPlacement)
	if err != nil {
		return cache.Options{}, fmt.Errorf("selector of pods: %w", err)
	}
	return cache.Options{
		DefaultTransform: trimmed,
		ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: placed}, &appsv1.ControllerRevision{}: {Label: placed}, &policyv1.PodDisruptionBudget{}: {Label: placed}},
	}, nil
}

// trimmed leaves out of an object that an informer keeps what nobody here reads: who wrote which field; of a node its images, which are most of a
// real one; and of ResourceClaims that are no mesh's all but that they exist.
func trimmed(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		o.Status.Images = nil
	case *v1alpha1.AcceleratorInventory:
		shareAlike(&o.Status)
	case *resourcev1.ResourceClaim:
		if meshes.OwnerOf(o) == nil {
			o.Spec, o.Status = resourcev1.ResourceClaimSpec{}, resourcev1.ResourceClaimStatus{}
		}
	}
	return cache.TransformStripManagedFields()(object)
}
