// Package files writes what launchers need to start the pods of a mesh into ConfigMaps, which the pods mount, once there is a pod.
// docs/use/launchers.md says what is in them.
package files

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/launch"
)

// fieldManager owns the ConfigMaps and the condition Launchable of meshes. Other conditions have other managers, so that each
// can be applied without the others.
const fieldManager = v1alpha1.OperatorFieldManager + "-files"

// Reconciler keeps the ConfigMaps of the meshes.
type Reconciler struct {
	meshes.Follower
	// Reader reads ConfigMaps from the API server: the cache has no data of theirs.
	Reader client.Reader

	said meshes.Said
}

// condition says in a mesh's status what became of its files, and by an event where they cannot be written.
func (r *Reconciler) condition() *meshes.Condition {
	return &meshes.Condition{Follower: &r.Follower, Type: v1alpha1.ConditionLaunchable, FieldManager: fieldManager, Action: "WriteFiles", Said: &r.said}
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("files").
		For(&v1alpha1.DeviceMesh{}, builder.WithPredicates(predicate.Or(relation.Respecified, verificationChanged))).
		Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(relation.Respecified)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.firstReader), builder.WithPredicates(onlyCreation)).
		Watches(&v1alpha1.ShardingPlan{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(relation.Respecified)).
		WithOptions(objects.Parallel()).
		Complete(objects.Patient(r, objects.Retry()))
}

// Reconcile brings the ConfigMaps of one mesh up to date. Why there can be none is said before anybody wants to read them.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mesh, err := r.Mesh(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if mesh == nil {
		r.said.Forget(request.NamespacedName)
		return ctrl.Result{}, r.deleteFrom(ctx, request.NamespacedName, 0)
	}
	placement, plan, err := r.Sources(ctx, mesh)
	if err != nil || plan == nil {
		return ctrl.Result{}, err
	}
	bundle, err := r.bundle(ctx, mesh, plan, placement)
	var parts []map[string]string
	if err == nil {
		parts, err = bundle.ConfigMaps()
	}
	if err != nil {
		// Files of an earlier plan would start its pods in the wrong places.
		if failed := r.deleteFrom(ctx, request.NamespacedName, 0); failed != nil {
			return ctrl.Result{}, failed
		}
		return ctrl.Result{}, r.condition().Write(ctx, mesh, metav1.ConditionFalse, "CannotLaunch", err.Error())
	}
	if wanted, err := r.wanted(ctx, mesh); err != nil || !wanted {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.write(ctx, mesh, parts, bundle)
}

// bundle returns the files that the launchers of a mesh's pods need.
func (r *Reconciler) bundle(ctx context.Context, mesh *v1alpha1.DeviceMesh, plan *v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) (*launch.Bundle, error) {
	hosts, err := meshes.Hosts(ctx, r.Client, mesh.Spec.NodeNames())
	if err != nil {
		return nil, err
	}
	job, bundle, err := meshes.Bundle(placement, plan, &mesh.Spec, hosts)
	if err != nil || !placement.Spec.Verification.Asked() {
		return bundle, err
	}
	return bundle, addTasks(bundle, mesh, job, hosts, placement.Spec.Verification)
}
