package binding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/controllers/slots"
	"github.com/rankwright/rankwright/controllers/snapshot"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// Reconciler binds the pods of placements.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of pods.
	Events events.EventRecorder
	// Index says what is known of nodes.
	Index *snapshot.Index
	// Claims says that the cluster has ResourceClaims.
	Claims bool
	// Course takes how long pods waited for their places, and evictions.
	Course *course.Recorder
	// Now is the clock.
	Now func() time.Time

	// missed says since when copies of a placement lack pods.
	missed objects.Memo[map[int]time.Time]
	// released says since when pods of a placement that are to be evicted are held by no budget.
	released objects.Memo[map[types.UID]time.Time]
}

// evictionDelay is when an eviction is tried again that a disruption budget did not allow, or that waits for another copy.
const evictionDelay = 10 * time.Second

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	ofPlacement := handler.EnqueueRequestsFromMapFunc(relation.PlacementOf)
	of := ctrl.NewControllerManagedBy(mgr).
		Named("binding").
		Watches(&corev1.Pod{}, ofPlacement).
		Watches(&v1alpha1.ShardingPlan{}, ofPlacement).
		Watches(&v1alpha1.DeviceMesh{}, ofPlacement).
		Watches(&v1alpha1.ModelPlacement{}, &handler.EnqueueRequestForObject{}).
		Watches(&v1alpha1.AcceleratorInventory{}, handler.EnqueueRequestsFromMapFunc(slots.PlacementsOf(r.Client)), builder.WithPredicates(slots.Changed))
	if r.Claims {
		of.Watches(&resourcev1.ResourceClaim{}, ofPlacement)
	}
	return of.WithOptions(objects.Parallel()).Complete(objects.Patient(r, objects.Retry()))
}

// Reconcile evicts the pods of a placement that were bound to other places than they have in the plan in force, and binds those that
// wait, where there is a mesh. Without a mesh it does nothing: pods that run keep running.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	offer, err := readOffer(ctx, r.Client, request.NamespacedName)
	if err == nil && offer.Placement == nil {
		r.missed.Forget(request.NamespacedName)
		r.released.Forget(request.NamespacedName)
	}
	if err != nil || offer.Placement == nil || !offer.Complete() {
		return ctrl.Result{}, err
	}
	var pods corev1.PodList
	err = r.Client.List(ctx, &pods, client.InNamespace(request.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: request.Name})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list pods of placement %s: %w", request.NamespacedName, err)
	}
	live := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return ended(&p) })
	slices.SortFunc(live, older)
	live, more, err := r.followPlan(ctx, live, offer)
	if err != nil {
		return ctrl.Result{}, err
	}
	if filesSettled(offer.Mesh) {
		if err := r.bindWaiting(ctx, live, offer); err != nil {
			return ctrl.Result{}, err
		}
	}
	if more {
		return ctrl.Result{RequeueAfter: evictionDelay}, nil
	}
	return ctrl.Result{}, nil
}

// filesSettled says whether the launchers' files were written for the present mesh, or removed where they cannot be written. A pod
// that started earlier would read its ranks of the previous plan. Settling changes the mesh, which brings its pods back here.
func filesSettled(mesh *v1alpha1.DeviceMesh) bool {
	c := meta.FindStatusCondition(mesh.Status.Conditions, v1alpha1.ConditionLaunchable)
	return c != nil && c.ObservedGeneration == mesh.Generation
}

// bindWaiting binds the pods that wait, the oldest first. An index is given to one pod at a time, until it is gone.
func (r *Reconciler) bindWaiting(ctx context.Context, live []corev1.Pod, offer *binding.Offer) error {
	holders := map[string]string{}
	for i := range live {
		if pod := &live[i]; !binding.Gated(pod) {
			holders[pod.Labels[binding.LabelIndex]] = pod.Name
		}
	}
	var failed []error
	for i := range live {
		pod := &live[i]
		if !binding.Gated(pod) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		failed = append(failed, r.bind(ctx, pod, offer, holders))
	}
	return errors.Join(failed...)
}

// bind binds one pod, or says by an event why it cannot.
func (r *Reconciler) bind(ctx context.Context, pod *corev1.Pod, offer *binding.Offer, holders map[string]string) error {
	bound := pod.DeepCopy()
	place, err := binding.Bind(bound, offer)
	if refusal, is := errors.AsType[*binding.Refusal](err); is {
		r.Events.Eventf(pod, offer.Placement, corev1.EventTypeWarning, refusal.Reason, "Bind", "%s", refusal.Message)
		return nil
	}
	if err != nil {
		return err
	}
	index := bound.Labels[binding.LabelIndex]
	if holder, taken := holders[index]; taken {
		r.Events.Eventf(pod, offer.Placement, corev1.EventTypeWarning, binding.ReasonIndexTaken, "Bind",
			"index %s of placement %s is pod %s's: this pod waits until that one is gone", index, offer.Placement.Name, holder)
		return nil
	}
	if made, err := r.claimMade(ctx, offer, place); err != nil || !made {
		return err
	}
	patch := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, bound, patch); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("bind pod %s: %w", pod.Name, err)
	}
	holders[index] = pod.Name
	waited := offer.Plan.CreationTimestamp.Time
	if pod.CreationTimestamp.After(waited) {
		waited = pod.CreationTimestamp.Time
	}
	r.Course.Took(offer.Placement, offer.Plan.Spec.Revision, course.Bind, waited, r.Now())
	r.Events.Eventf(pod, offer.Placement, corev1.EventTypeNormal, "Bound", "Bind", "index %s: copy %d, ranks %s on node %s by plan %s",
		index, place.Copy, bound.Annotations[binding.AnnotationRanks], place.Node, offer.Plan.Name)
	return nil
}

// claimMade says whether the claim of a place is there and selects the devices of the plan in force, where the pod gets them by a claim. A
// pod that started with the claim of an earlier plan would keep devices that are another's by now. The claim's event brings the pod
// back here.
func (r *Reconciler) claimMade(ctx context.Context, offer *binding.Offer, place *launch.Pod) (bool, error) {
	byClaim := offer.Plan.Spec.Enforcement == v1alpha1.EnforcementClaim
	if !byClaim || !r.Claims {
		return !byClaim, nil
	}
	wanted, err := binding.Claim(offer.Mesh, place, offer.Claimable)
	if _, refused := errors.AsType[*binding.Refusal](err); refused {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found := &resourcev1.ResourceClaim{}
	there, err := objects.Read(ctx, r.Client, client.ObjectKeyFromObject(wanted), found)
	return there && metav1.IsControlledBy(found, offer.Mesh) && found.DeletionTimestamp.IsZero() && binding.SameClaim(&found.Spec, &wanted.Spec), err
}

// ended says whether a pod gave its place back.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func older(a, b corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
