package history

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// defaultLimit is how many earlier specs are kept of a placement that does not say.
const defaultLimit = 10

// Keeper keeps the revisions of placements. It may be used by several at once.
type Keeper struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Reader reads from the API server.
	Reader client.Reader
}

// Keep makes the spec of a placement its latest revision, after the one that its plan was made for, and deletes the oldest ones beyond its limit.
// Plan is nil where there is none.
func (k *Keeper) Keep(ctx context.Context, placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan) error {
	content, err := patchOf(&placement.Spec)
	if err != nil {
		return err
	}
	known, err := revisions(ctx, k.Client, placement)
	if err != nil {
		return err
	}
	if last := len(known) - 1; last >= 0 && known[last].Name == nameOf(placement, content) {
		return k.trim(ctx, known[:last], placement.Spec.RevisionHistoryLimit)
	}
	// What is numbered must not be older than what is there. Of a placement that never had another spec there is nothing.
	if placement.Generation > 1 || len(known) > 0 {
		if known, err = revisions(ctx, k.Reader, placement); err != nil {
			return err
		}
	}
	if before := noted(plan); before != nil && indexOf(known, nameOf(placement, before)) < 0 {
		if known, err = k.latest(ctx, placement, known, before); err != nil {
			return err
		}
	}
	if known, err = k.latest(ctx, placement, known, content); err != nil {
		return err
	}
	return k.trim(ctx, known[:len(known)-1], placement.Spec.RevisionHistoryLimit)
}

// Outlive keeps the spec that a plan was made for, before the plan is deleted, where the placement has another one by now. A placement is not held up by
// an API server that refuses revisions.
func (k *Keeper) Outlive(ctx context.Context, placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan) error {
	before := noted(plan)
	content, err := patchOf(&placement.Spec)
	if err != nil || before == nil || bytes.Equal(before, content) {
		return err
	}
	err = k.Keep(ctx, placement, plan)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		ctrl.LoggerFrom(ctx).Error(err, "keep an earlier spec", "placement", client.ObjectKeyFromObject(placement))
		return nil
	}
	return err
}

// revisions returns the revisions of a placement, the earliest first.
func revisions(ctx context.Context, reader client.Reader, placement *v1alpha1.ModelPlacement) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := reader.List(ctx, &list, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name}); err != nil {
		return nil, fmt.Errorf("list revisions of placement: %w", err)
	}
	own := slices.DeleteFunc(list.Items, func(c appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&c, placement) })
	slices.SortFunc(own, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	return own, nil
}

func indexOf(revisions []appsv1.ControllerRevision, name string) int {
	return slices.IndexFunc(revisions, func(c appsv1.ControllerRevision) bool { return c.Name == name })
}

// latest makes some data the latest of the revisions of a placement, which it returns as they are then.
func (k *Keeper) latest(
	ctx context.Context, placement *v1alpha1.ModelPlacement, known []appsv1.ControllerRevision, content []byte,
) ([]appsv1.ControllerRevision, error) {
	next := int64(1)
	if len(known) > 0 {
		next = known[len(known)-1].Revision + 1
	}
	at := indexOf(known, nameOf(placement, content))
	if at < 0 {
		made, err := k.create(ctx, placement, content, next)
		return append(known, *made), err
	}
	found := known[at]
	if at < len(known)-1 {
		if err := k.renumber(ctx, &found, next); err != nil {
			return nil, err
		}
	}
	return append(slices.Delete(known, at, at+1), found), nil
}

// create makes a revision. One that was made meanwhile has the same content, and the number that it would get here.
func (k *Keeper) create(ctx context.Context, placement *v1alpha1.ModelPlacement, content []byte, number int64) (*appsv1.ControllerRevision, error) {
	made := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: placement.Namespace, Name: nameOf(placement, content), Labels: map[string]string{v1alpha1.LabelPlacement: placement.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(placement, v1alpha1.GroupVersion.WithKind("ModelPlacement"))},
		},
		Data: runtime.RawExtension{Raw: content}, Revision: number,
	}
	if err := k.Client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return made, fmt.Errorf("create revision %s: %w", made.Name, err)
	}
	return made, nil
}

// renumber makes an earlier revision the latest one: its spec was brought back.
func (k *Keeper) renumber(ctx context.Context, revision *appsv1.ControllerRevision, number int64) error {
	before := revision.DeepCopy()
	revision.Revision = number
	if err := k.Client.Patch(ctx, revision, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("renumber revision %s: %w", revision.Name, err)
	}
	return nil
}

// trim deletes the earliest revisions beyond a limit.
func (k *Keeper) trim(ctx context.Context, earlier []appsv1.ControllerRevision, limit *int32) error {
	for i := range max(0, len(earlier)-int(ptr.Deref(limit, defaultLimit))) {
		if err := objects.Delete(ctx, k.Client, &earlier[i]); err != nil {
			return err
		}
	}
	return nil
}
