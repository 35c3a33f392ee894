// Package binding binds pods to the places of their placement's mesh: a mutating webhook makes new pods wait, a controller
// gives them their nodes once there is a mesh, and evicts the pods of an old plan. pkg/binding knows how.
package binding

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/binding"
)

// readOffer reads what there is for the pods of a placement.
func readOffer(ctx context.Context, reader client.Reader, key types.NamespacedName) (*binding.Offer, error) {
	offer := &binding.Offer{}
	placement := &v1alpha1.ModelPlacement{}
	if found, err := objects.Read(ctx, reader, key, placement); err != nil {
		return nil, err
	} else if found {
		offer.Placement = placement
	}
	plan, err := planInForce(ctx, reader, key)
	if err != nil {
		return nil, err
	}
	offer.Plan = plan
	mesh := &v1alpha1.DeviceMesh{}
	if found, err := objects.Read(ctx, reader, key, mesh); err != nil {
		return nil, err
	} else if found && plan != nil && mesh.Spec.Plan == plan.Name && mesh.Spec.Placement.UID == plan.Spec.Placement.UID && mesh.DeletionTimestamp.IsZero() {
		offer.Mesh = mesh
	}
	if !offer.Complete() {
		return offer, nil
	}
	offer.Resource, err = servedResources(ctx, reader, &mesh.Spec)
	return offer, err
}

// planInForce returns the active plan of a placement with the highest revision; nil where there is none.
func planInForce(ctx context.Context, reader client.Reader, key types.NamespacedName) (*v1alpha1.ShardingPlan, error) {
	var plans v1alpha1.ShardingPlanList
	if err := reader.List(ctx, &plans, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: key.Name}); err != nil {
		return nil, fmt.Errorf("list plans of placement %s: %w", key, err)
	}
	active := ledger.InForce(slices.DeleteFunc(plans.Items, func(p v1alpha1.ShardingPlan) bool { return p.Spec.Placement.Name != key.Name }))
	if len(active) == 0 {
		return nil, nil
	}
	return &active[len(active)-1], nil
}

// servedResources returns the extended resource of each device of a mesh that a device plugin serves. DRA drivers serve by
// claims and not by resources.
func servedResources(ctx context.Context, reader client.Reader, mesh *v1alpha1.DeviceMeshSpec) (func(string, v1alpha1.DeviceID) string, error) {
	hosts, err := meshes.Hosts(ctx, reader, mesh.NodeNames())
	return func(node string, device v1alpha1.DeviceID) string {
		d := hosts.Device(node, device)
		if d == nil || d.Service == nil || d.Service.Server == v1alpha1.ServedByDRA || d.ClaimAttribute != nil {
			return ""
		}
		return d.Service.Resource
	}, err
}
