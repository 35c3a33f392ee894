package files

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
)

// onlyCreation leaves out what becomes of pods after they were made.
var onlyCreation = predicate.Funcs{
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// wanted says whether the files of a mesh are to be there: a pod of its placement reads them, or once did, and another one may.
func (r *Reconciler) wanted(ctx context.Context, mesh *v1alpha1.DeviceMesh) (bool, error) {
	if said(mesh) {
		return true, nil
	}
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(mesh.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name},
		client.UnsafeDisableDeepCopy) // they are read and never written
	if err != nil {
		return false, fmt.Errorf("list pods of placement %s: %w", mesh.Spec.Placement.Name, err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}), nil
}

// said says whether the status of a mesh says anything of its files.
func said(mesh *v1alpha1.DeviceMesh) bool {
	return meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionLaunchable) != nil
}

// firstReader returns the mesh of a new pod where nobody has wanted its files before.
func (r *Reconciler) firstReader(ctx context.Context, pod client.Object) []reconcile.Request {
	return slices.DeleteFunc(relation.PlacementOf(ctx, pod), func(of reconcile.Request) bool {
		mesh := &v1alpha1.DeviceMesh{}
		found, err := objects.Read(ctx, r.Client, of.NamespacedName, mesh)
		return err == nil && (!found || said(mesh))
	})
}
