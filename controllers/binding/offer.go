// Package binding binds pods to the places of their placement's mesh: a mutating webhook makes new pods wait, a controller
// gives them their nodes once there is a mesh, and evicts the pods that another plan moves. pkg/binding knows how.
package binding

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/meshes"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// readOffer reads what there is for the pods of a placement.
func readOffer(ctx context.Context, reader client.Reader, key types.NamespacedName) (*binding.Offer, error) {
	offer := &binding.Offer{}
	placement := &v1alpha1.ModelPlacement{}
	if found, err := objects.Read(ctx, reader, key, placement); err != nil {
		return nil, err
	} else if !found {
		return offer, nil
	}
	offer.Placement = placement
	plan, err := readPlan(ctx, reader, placement)
	if err != nil {
		return nil, err
	}
	offer.Plan = plan
	made := &v1alpha1.DeviceMesh{}
	if found, err := objects.Read(ctx, reader, key, made); err != nil {
		return nil, err
	} else if found && plan != nil && made.Spec.Plan == plan.Name && made.Spec.Placement.Is(placement) && made.DeletionTimestamp.IsZero() {
		offer.Mesh = made
	}
	if !offer.Complete() {
		return offer, nil
	}
	hosts, err := meshes.Hosts(ctx, reader, made.Spec.NodeNames())
	offer.Resource, offer.Slot = servedBy(hosts), hosts.Slot
	offer.Claimable, offer.Files = meshes.Claimable(hosts), filesOf(offer, hosts)
	return offer, err
}

// readPlan returns the plan in force of a placement; nil where there is none.
func readPlan(ctx context.Context, reader client.Reader, placement *v1alpha1.ModelPlacement) (*v1alpha1.ShardingPlan, error) {
	var plans v1alpha1.ShardingPlanList
	if err := reader.List(ctx, &plans, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name}); err != nil {
		return nil, fmt.Errorf("list plans of placement %s: %w", client.ObjectKeyFromObject(placement), err)
	}
	return inForce(plans.Items, placement), nil
}

// inForce returns the active plan of a placement with the highest revision; nil where there is none. A plan of an earlier placement of the name,
// which may still be seen beside the new one, gives nobody a place.
func inForce(plans []v1alpha1.ShardingPlan, placement *v1alpha1.ModelPlacement) *v1alpha1.ShardingPlan {
	active := ledger.InForce(slices.DeleteFunc(plans, func(p v1alpha1.ShardingPlan) bool { return !p.Spec.Placement.Is(placement) }))
	if len(active) == 0 {
		return nil
	}
	return &active[len(active)-1]
}

// servedBy returns the extended resource of each device of some hosts that a device plugin serves. DRA drivers serve by claims and
// not by resources.
func servedBy(hosts mesh.Hosts) func(string, v1alpha1.DeviceID) string {
	return func(node string, device v1alpha1.DeviceID) string {
		d := hosts.Device(node, device)
		if d == nil || d.Service == nil || d.Service.Server == v1alpha1.ServedByDRA || d.ClaimAttribute != nil {
			return ""
		}
		return d.Service.Resource
	}
}

// filesOf returns the digests of the launchers' files by the pod's index. They are made when the first is asked for, from a mesh
// without the plan's name, which alone changes nothing for a pod. Why there are no files is said by the mesh's status.
func filesOf(offer *binding.Offer, hosts mesh.Hosts) func(int) string {
	digests := sync.OnceValue(func() []string {
		spec := offer.Mesh.Spec
		spec.Plan = ""
		_, bundle, err := meshes.Bundle(offer.Placement, offer.Plan, &spec, hosts)
		if err != nil {
			return nil
		}
		return bundle.Digests()
	})
	return func(index int) string {
		if index >= len(digests()) {
			return ""
		}
		return digests()[index]
	}
}
