package claims

import (
	"context"
	"errors"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/binding"
)

// make makes the claims that are missing, deletes claims that are no longer wanted, and says in the condition what became of them.
// A claim cannot change: one of the same name that differs is deleted, once no pod has it, and its deletion brings the mesh back.
func (r *Reconciler) make(ctx context.Context, mesh *v1alpha1.DeviceMesh, wanted []resourcev1.ResourceClaim) error {
	keep := map[string]bool{}
	var taken, waiting []string
	for i := range wanted {
		claim := &wanted[i]
		keep[claim.Name] = true
		found := &resourcev1.ResourceClaim{}
		there, err := objects.Read(ctx, r.Client, client.ObjectKeyFromObject(claim), found)
		switch {
		case err != nil:
			return err
		case !there:
			if err := r.create(ctx, mesh, claim); err != nil {
				return err
			}
		case metav1.IsControlledBy(found, mesh) && found.DeletionTimestamp.IsZero() && binding.SameClaim(&found.Spec, &claim.Spec):
		case meshes.OwnerOf(found) == nil:
			taken = append(taken, claim.Name)
		default:
			waiting = append(waiting, claim.Name)
			if err := r.deleteUnused(ctx, found); err != nil {
				return err
			}
		}
	}
	if err := r.deleteOthers(ctx, mesh, keep); err != nil {
		return err
	}
	switch condition := r.condition(); {
	case len(taken) > 0:
		return condition.Write(ctx, mesh, metav1.ConditionFalse, "NameTaken",
			fmt.Sprintf("ResourceClaims exist that are not this mesh's: delete or rename %s.", strings.Join(taken, ", ")))
	case len(waiting) > 0:
		return condition.Write(ctx, mesh, metav1.ConditionFalse, "ClaimsInUse",
			fmt.Sprintf("ResourceClaims that no longer select the devices of their places are held by pods, and are made anew when those are gone: %s.", strings.Join(waiting, ", ")))
	default:
		return condition.Write(ctx, mesh, metav1.ConditionTrue, "ClaimsMade",
			fmt.Sprintf("%s, %s to %s, select the devices of the plan.", words.Counted(len(wanted), "ResourceClaim"), wanted[0].Name, wanted[len(wanted)-1].Name))
	}
}

func (r *Reconciler) create(ctx context.Context, mesh *v1alpha1.DeviceMesh, claim *resourcev1.ResourceClaim) error {
	claim.OwnerReferences = []metav1.OwnerReference{meshes.Owner(mesh)}
	// A claim that exists already is newer than the cache, and may be a stranger's, whose events do not bring the mesh back: so it is looked at again.
	if err := r.Client.Create(ctx, claim); err != nil {
		return fmt.Errorf("create ResourceClaim %s: %w", claim.Name, err)
	}
	return nil
}

// deleteOthers deletes the claims of a mesh that are not to be kept.
func (r *Reconciler) deleteOthers(ctx context.Context, mesh *v1alpha1.DeviceMesh, keep map[string]bool) error {
	var list resourcev1.ResourceClaimList
	labels := client.MatchingLabels{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name}
	if err := r.Client.List(ctx, &list, client.InNamespace(mesh.Namespace), labels); err != nil {
		return fmt.Errorf("list ResourceClaims of placement %s: %w", mesh.Spec.Placement.Name, err)
	}
	var failed []error
	for i := range list.Items {
		if claim := &list.Items[i]; meshes.OwnerOf(claim) != nil && !keep[claim.Name] {
			failed = append(failed, r.deleteUnused(ctx, claim))
		}
	}
	return errors.Join(failed...)
}

// deleteUnused deletes a claim as it was read, unless a pod has it: a pod whose claim is deleted keeps running, and could not
// start again.
func (r *Reconciler) deleteUnused(ctx context.Context, claim *resourcev1.ResourceClaim) error {
	if len(claim.Status.ReservedFor) > 0 || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	return objects.DeleteUnchanged(ctx, r.Client, claim)
}
