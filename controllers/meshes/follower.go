package meshes

import (
	"context"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// Follower is what a controller works with that follows meshes.
type Follower struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of meshes.
	Events events.EventRecorder
	// Now is the clock of conditions and deadlines.
	Now func() time.Time
}

// Mesh reads a mesh; it is nil where it is gone or going.
func (f *Follower) Mesh(ctx context.Context, key client.ObjectKey) (*v1alpha1.DeviceMesh, error) {
	mesh := &v1alpha1.DeviceMesh{}
	if found, err := objects.Read(ctx, f.Client, key, mesh); err != nil || !found || !mesh.DeletionTimestamp.IsZero() {
		return nil, err
	}
	return mesh, nil
}

// Placement reads the placement that a mesh was made for. It returns nil where that is gone, even if another placement has its
// name: the mesh is about to be replaced.
func (f *Follower) Placement(ctx context.Context, mesh *v1alpha1.DeviceMesh) (*v1alpha1.ModelPlacement, error) {
	placement := &v1alpha1.ModelPlacement{}
	found, err := objects.Read(ctx, f.Client, client.ObjectKey{Namespace: mesh.Namespace, Name: mesh.Spec.Placement.Name}, placement)
	if err != nil || !found || !mesh.Spec.Placement.Is(placement) {
		return nil, err
	}
	return placement, nil
}

// Sources reads the placement that a mesh was made for, and its plan. Both are nil where either is gone, even if another object
// has its name.
func (f *Follower) Sources(ctx context.Context, mesh *v1alpha1.DeviceMesh) (*v1alpha1.ModelPlacement, *v1alpha1.ShardingPlan, error) {
	placement, err := f.Placement(ctx, mesh)
	if err != nil || placement == nil {
		return nil, nil, err
	}
	plan := &v1alpha1.ShardingPlan{}
	found, err := objects.Read(ctx, f.Client, client.ObjectKey{Namespace: mesh.Namespace, Name: mesh.Spec.Plan}, plan)
	if err != nil || !found || !plan.Spec.Placement.Is(placement) {
		return nil, nil, err
	}
	return placement, plan, nil
}

// Revision returns the revision of the plan that a mesh is of; 0 where it is of none.
func Revision(mesh *v1alpha1.DeviceMesh) int64 {
	revision, _ := strconv.ParseInt(mesh.Labels[v1alpha1.LabelRevision], 10, 64)
	return revision
}

const kind = "DeviceMesh"

// Owner returns the reference by which a mesh owns an object as its controller. It does not block the mesh's deletion.
func Owner(mesh *v1alpha1.DeviceMesh) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: mesh.Name, UID: mesh.UID, Controller: new(true)}
}

// OwnerOf returns the reference to the mesh that controls an object; nil where none does.
func OwnerOf(object metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(object)
	if owner == nil || owner.Kind != kind || owner.APIVersion != v1alpha1.GroupVersion.String() {
		return nil
	}
	return owner
}
