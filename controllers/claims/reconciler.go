// Package claims makes the ResourceClaims of placements whose enforcement is Claim: one for each pod, which selects the
// devices of the pod's place in the mesh. docs/use/claims.md says how pods use them.
package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/binding"
)

// Reconciler keeps the claims of meshes.
type Reconciler struct{ meshes.Follower }

// fieldManager owns the condition Claimed of meshes.
const fieldManager = v1alpha1.OperatorFieldManager + "-claims"

// unclaimedDelay is when to look again for a device that no DRA driver serves.
const unclaimedDelay = 10 * time.Second

// Setup adds the controller to a manager if the cluster has ResourceClaims, which Kubernetes serves from 1.34 on. It returns
// whether the cluster has them.
func (r *Reconciler) Setup(mgr manager.Manager) (bool, error) {
	kind := resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
	_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", kind, err)
	}
	changed := builder.WithPredicates(relation.Respecified)
	return true, ctrl.NewControllerManagedBy(mgr).
		Named("claims").
		For(&v1alpha1.DeviceMesh{}, changed).
		Owns(&resourcev1.ResourceClaim{}).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}, changed).
		WithOptions(objects.Parallel()).
		Complete(objects.Patient(r, objects.Retry()))
}

// Reconcile brings the claims of one mesh up to date. The garbage collector deletes the claims of a mesh that is gone.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mesh, err := r.Mesh(ctx, request.NamespacedName)
	if err != nil || mesh == nil {
		return ctrl.Result{}, err
	}
	placement, plan, err := r.Sources(ctx, mesh)
	if err != nil || plan == nil {
		return ctrl.Result{}, err
	}
	if plan.Spec.Enforcement != v1alpha1.EnforcementClaim {
		return ctrl.Result{}, errors.Join(r.deleteOthers(ctx, mesh, nil), r.condition().Remove(ctx, mesh))
	}
	wanted, err := r.wanted(ctx, mesh, placement)
	if refusal, is := errors.AsType[*binding.Refusal](err); is {
		return ctrl.Result{RequeueAfter: unclaimedDelay}, r.condition().Write(ctx, mesh, metav1.ConditionFalse, refusal.Reason, refusal.Message)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.make(ctx, mesh, wanted)
}

// condition says in a mesh's status whether its pods have their claims.
func (r *Reconciler) condition() *meshes.Condition {
	return &meshes.Condition{Follower: &r.Follower, Type: v1alpha1.ConditionClaimed, FieldManager: fieldManager, Action: "MakeClaims"}
}

// wanted returns the claims that a mesh should have.
func (r *Reconciler) wanted(ctx context.Context, mesh *v1alpha1.DeviceMesh, placement *v1alpha1.ModelPlacement) ([]resourcev1.ResourceClaim, error) {
	hosts, err := meshes.Hosts(ctx, r.Client, mesh.Spec.NodeNames())
	if err != nil {
		return nil, err
	}
	return binding.Claims(mesh, placement.Spec.Launch, meshes.Claimable(hosts))
}
