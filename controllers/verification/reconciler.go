// Package verification writes into the status of meshes what their pods found when they verified them. Pods write no object
// of ours: what they say is the termination message of their verifying container, which the kubelet writes into the pod's
// status. docs/use/verification.md has the whole contract.
package verification

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// fieldManager owns the Secrets with keys, and in the status of meshes the condition Verified and what was measured.
const fieldManager = v1alpha1.OperatorFieldManager + "-verification"

const (
	// grace is how long after the deadline messages may come: the kubelet writes a pod's status at its own pace.
	grace = 30 * time.Second
	// keyPeriod is how often the Secret of a mesh is made anew where somebody deleted it. The operator may create Secrets
	// and cannot read any, so that trying is all it can do.
	keyPeriod = 30 * time.Second
)

// Reconciler keeps keys and verdicts of the meshes whose placements ask for verification.
type Reconciler struct {
	meshes.Follower
	// Course takes how long verifications took.
	Course *course.Recorder

	mu sync.Mutex
	// keyed is when the Secret of a mesh was made or found last.
	keyed map[types.UID]time.Time
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("verification").
		For(&v1alpha1.DeviceMesh{}, builder.WithPredicates(relation.Respecified)).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(relation.Respecified)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf)).
		WithOptions(objects.Parallel()).
		Complete(objects.Patient(r, objects.Retry()))
}

// Reconcile judges one mesh.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	mesh, err := r.Mesh(ctx, request.NamespacedName)
	if err != nil || mesh == nil {
		return ctrl.Result{}, err
	}
	placement, err := r.Placement(ctx, mesh)
	if err != nil || placement == nil {
		return ctrl.Result{}, err
	}
	asked := placement.Spec.Verification
	if !asked.Asked() {
		return ctrl.Result{}, r.condition().Remove(ctx, mesh)
	}
	if err := r.keepKey(ctx, mesh); err != nil {
		return ctrl.Result{}, err
	}
	if verification.Final(mesh, asked) {
		return ctrl.Result{}, nil
	}
	return r.judge(ctx, mesh, placement)
}

// judge says what the pods of a mesh have said until now.
func (r *Reconciler) judge(ctx context.Context, mesh *v1alpha1.DeviceMesh, placement *v1alpha1.ModelPlacement) (ctrl.Result, error) {
	seats, err := launch.Pods(&mesh.Spec, placement.Spec.Launch.PodDevices(), placement.Spec.Launch.Starter())
	if err != nil {
		return ctrl.Result{}, r.write(ctx, mesh, &verification.Verdict{Status: metav1.ConditionUnknown, Reason: verification.ReasonPending, Message: err.Error()})
	}
	var pods corev1.PodList
	err = r.Client.List(ctx, &pods, client.InNamespace(mesh.Namespace),
		client.MatchingLabels{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name, v1alpha1.LabelPlan: mesh.Spec.Plan})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list pods of mesh %s: %w", mesh.Name, err)
	}
	states, began := statesOf(mesh, seats, pods.Items, placement.Spec.Verification)
	expired, left := r.expired(began, placement.Spec.Verification)
	verdict := verification.Judge(states, expired)
	said := meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionVerified)
	isNew := said == nil || said.Status == metav1.ConditionUnknown || said.ObservedGeneration != mesh.Generation
	if err := r.write(ctx, mesh, &verdict); err != nil {
		return ctrl.Result{}, err
	}
	if isNew && verdict.Status != metav1.ConditionUnknown {
		r.Course.Took(placement, meshes.Revision(mesh), course.Verify, began, r.Now())
	}
	if verdict.Status == metav1.ConditionUnknown {
		return ctrl.Result{RequeueAfter: min(left, keyPeriod)}, nil
	}
	return ctrl.Result{RequeueAfter: keyPeriod}, nil
}

// expired says whether the deadline has passed since the first pod started, and how long it is until then. It does
// not pass before a pod has started.
func (r *Reconciler) expired(began time.Time, asked *v1alpha1.Verification) (bool, time.Duration) {
	if began.IsZero() {
		return false, keyPeriod
	}
	end := began.Add(time.Duration(asked.Deadline())*time.Second + grace)
	left := end.Sub(r.Now())
	return left <= 0, max(left, time.Second)
}
