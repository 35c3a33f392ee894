// Package applied writes objects by server-side apply: the part that one field manager owns, and nothing else.
package applied

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// Configure turns one of our types into its apply configuration, which has the same JSON.
func Configure(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("decode %T: %w", to, err)
	}
	return nil
}

// MeshCondition completes the next condition of a mesh: it gets the mesh's generation, and the time at which the status of the
// mesh's condition of that type last changed.
func MeshCondition(mesh *v1alpha1.DeviceMesh, next metav1.Condition, now time.Time) metav1.Condition {
	return completed(mesh.Generation, mesh.Status.Conditions, next, now)
}

// PlacementCondition completes the next condition of a placement as MeshCondition does that of a mesh.
func PlacementCondition(placement *v1alpha1.ModelPlacement, next metav1.Condition, now time.Time) metav1.Condition {
	return completed(placement.Generation, placement.Status.Conditions, next, now)
}

func completed(generation int64, said []metav1.Condition, next metav1.Condition, now time.Time) metav1.Condition {
	next.ObservedGeneration, next.LastTransitionTime = generation, metav1.NewTime(now).Rfc3339Copy()
	conditions := slices.Clone(said)
	meta.SetStatusCondition(&conditions, next)
	return *meta.FindStatusCondition(conditions, next.Type)
}

// MeshStatus writes a manager's part of the status of a mesh. Fields that the manager wrote before and that
// part lacks are removed. It returns the mesh's resourceVersion after it; a mesh that is gone is no error and has none.
func MeshStatus(ctx context.Context, c client.Client, mesh *v1alpha1.DeviceMesh, part *v1alpha1.DeviceMeshStatus, manager string) (string, error) {
	patch := apply.DeviceMeshStatus()
	if err := Configure(part, patch); err != nil {
		return "", fmt.Errorf("write status of mesh %s: %w", mesh.Name, err)
	}
	object := apply.DeviceMesh(mesh.Name, mesh.Namespace).WithUID(mesh.UID).WithStatus(patch)
	if err := client.IgnoreNotFound(c.Status().Apply(ctx, object, client.FieldOwner(manager))); err != nil {
		return "", fmt.Errorf("apply status of mesh %s: %w", mesh.Name, err)
	}
	return ptr.Deref(object.ResourceVersion, ""), nil
}

// PlacementStatus writes a manager's part of the status of a placement as MeshStatus does that of a mesh. It returns a conflict where the
// placement changed since it was read, so that what is said never goes back when a cache lags.
func PlacementStatus(ctx context.Context, c client.Client, placement *v1alpha1.ModelPlacement, part *v1alpha1.ModelPlacementStatus, manager string) error {
	patch := apply.ModelPlacementStatus()
	if err := Configure(part, patch); err != nil {
		return fmt.Errorf("write status of placement %s: %w", placement.Name, err)
	}
	_, err := placementStatus(ctx, c, placement, patch, client.FieldOwner(manager))
	return err
}

// Decided is the part of a placement's status that controllers of plans and of pods write together, by WriteDecided: all but what is measured.
func Decided(status *v1alpha1.ModelPlacementStatus) v1alpha1.ModelPlacementStatus {
	own := *status
	own.Observed = nil
	own.Conditions = slices.DeleteFunc(slices.Clone(own.Conditions), func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionAsEstimated })
	return own
}

// WriteDecided writes that part as PlacementStatus does, and returns the placement's resourceVersion after it. What another manager wrote of it is
// taken over: it may be an operator of before, where each controller had a manager of its own.
func WriteDecided(ctx context.Context, c client.Client, placement *v1alpha1.ModelPlacement, next *v1alpha1.ModelPlacementStatus) (string, error) {
	patch := apply.ModelPlacementStatus()
	if err := Configure(next, patch); err != nil {
		return "", fmt.Errorf("write status of placement %s: %w", placement.Name, err)
	}
	// A number that becomes 0 and is left out would stay as the other manager wrote it.
	if next.Replicas != placement.Status.Replicas {
		patch.WithReplicas(next.Replicas)
	}
	if next.ReadyReplicas != placement.Status.ReadyReplicas {
		patch.WithReadyReplicas(next.ReadyReplicas)
	}
	return placementStatus(ctx, c, placement, patch, client.FieldOwner(v1alpha1.OperatorFieldManager), client.ForceOwnership)
}

func placementStatus(
	ctx context.Context, c client.Client, placement *v1alpha1.ModelPlacement, patch *apply.ModelPlacementStatusApplyConfiguration, options ...client.SubResourceApplyOption,
) (version string, err error) {
	object := apply.ModelPlacement(placement.Name, placement.Namespace).WithUID(placement.UID).WithResourceVersion(placement.ResourceVersion)
	if err := client.IgnoreNotFound(c.Status().Apply(ctx, object.WithStatus(patch), options...)); err != nil {
		return "", fmt.Errorf("apply status of placement %s: %w", placement.Name, err)
	}
	return ptr.Deref(object.ResourceVersion, ""), nil
}
