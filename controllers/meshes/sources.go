// Package meshes has what the controllers share that follow meshes.
package meshes

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Sources are the placement and the plan of a mesh. One that is not there, or not the one that the mesh was made for, is nil:
// another mesh is about to come.
func Sources(ctx context.Context, reader client.Reader, mesh *v1alpha1.DeviceMesh) (*v1alpha1.ModelPlacement, *v1alpha1.ShardingPlan, error) {
	placement, plan := &v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: mesh.Namespace, Name: mesh.Spec.Placement.Name}, placement)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("read placement %s: %w", mesh.Spec.Placement.Name, err)
	}
	if err != nil || string(placement.UID) != mesh.Spec.Placement.UID {
		return nil, nil, nil
	}
	err = reader.Get(ctx, client.ObjectKey{Namespace: mesh.Namespace, Name: mesh.Spec.Plan}, plan)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("read plan %s: %w", mesh.Spec.Plan, err)
	}
	if err != nil || !metav1.IsControlledBy(plan, placement) {
		return nil, nil, nil
	}
	return placement, plan, nil
}
