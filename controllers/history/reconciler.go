package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// defaultLimit is how many earlier specs are kept of a placement that does not say.
const defaultLimit = 10

// Reconciler keeps the revisions of placements.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("history").
		For(&v1alpha1.ModelPlacement{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.ControllerRevision{}).
		Complete(r)
}

// Reconcile makes the spec of a placement its latest revision, and deletes the oldest ones beyond its limit.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	placement := &v1alpha1.ModelPlacement{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, placement)
	if err != nil || !found || !placement.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	earlier, err := r.revisions(ctx, placement)
	if err != nil {
		return ctrl.Result{}, err
	}
	content, err := patchOf(&placement.Spec)
	if err != nil {
		return ctrl.Result{}, err
	}
	name, next := nameOf(placement, content), int64(1)
	if len(earlier) > 0 {
		next = earlier[len(earlier)-1].Revision + 1
	}
	at := slices.IndexFunc(earlier, func(c appsv1.ControllerRevision) bool { return c.Name == name })
	switch {
	case at < 0:
		err = r.create(ctx, placement, name, content, next)
	case at < len(earlier)-1:
		err = r.renumber(ctx, &earlier[at], next)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if at >= 0 {
		earlier = slices.Delete(earlier, at, at+1)
	}
	return ctrl.Result{}, r.trim(ctx, earlier, int(ptr.Deref(placement.Spec.RevisionHistoryLimit, defaultLimit)))
}

// revisions returns the revisions of a placement, the earliest first.
func (r *Reconciler) revisions(ctx context.Context, placement *v1alpha1.ModelPlacement) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := r.Client.List(ctx, &list, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name}); err != nil {
		return nil, fmt.Errorf("list revisions of placement: %w", err)
	}
	own := slices.DeleteFunc(list.Items, func(c appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&c, placement) })
	slices.SortFunc(own, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	return own, nil
}

func (r *Reconciler) create(ctx context.Context, placement *v1alpha1.ModelPlacement, name string, content []byte, revision int64) error {
	made := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: placement.Namespace, Name: name, Labels: map[string]string{v1alpha1.LabelPlacement: placement.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(placement, v1alpha1.GroupVersion.WithKind("ModelPlacement"))},
		},
		Data: runtime.RawExtension{Raw: content}, Revision: revision,
	}
	if err := r.Client.Create(ctx, made); err != nil {
		return fmt.Errorf("create revision %s: %w", name, err)
	}
	return nil
}

// renumber makes an earlier revision the latest one: its spec was brought back.
func (r *Reconciler) renumber(ctx context.Context, revision *appsv1.ControllerRevision, number int64) error {
	before := revision.DeepCopy()
	revision.Revision = number
	if err := r.Client.Patch(ctx, revision, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("renumber revision %s: %w", revision.Name, err)
	}
	return nil
}

// trim deletes the earliest revisions beyond a limit.
func (r *Reconciler) trim(ctx context.Context, earlier []appsv1.ControllerRevision, limit int) error {
	for i := range max(0, len(earlier)-limit) {
		if err := objects.Delete(ctx, r.Client, &earlier[i]); err != nil {
			return err
		}
	}
	return nil
}
