// Package invariant judges a cluster from outside, by its objects alone: what must hold at every moment, and what must hold when nothing
// changes any more.
package invariant

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/controllers/snapshot"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Doubles names the devices that are in two of the plans.
func Doubles(plans map[types.UID]v1alpha1.ShardingPlan) []string {
	holder := map[string]string{}
	var found []string
	for _, plan := range plans {
		for _, row := range plan.Spec.Nodes {
			for _, id := range row.Devices {
				device := row.Node + "/" + string(id)
				if other, held := holder[device]; held {
					found = append(found, fmt.Sprintf("device %s is in the active plans %s and %s", device, other, plan.Name))
				}
				holder[device] = plan.Name
			}
		}
	}
	return found
}

// Unsettled says what is not as it should be when nothing changes any more: a plan or a mesh that was left behind, or a placement that does
// not have what it could have. It is empty where all is well.
func Unsettled(ctx context.Context, reader client.Reader) (string, error) {
	var placements v1alpha1.ModelPlacementList
	var plans v1alpha1.ShardingPlanList
	var meshes v1alpha1.DeviceMeshList
	for _, list := range []client.ObjectList{&placements, &plans, &meshes} {
		if err := reader.List(ctx, list); err != nil {
			return "", fmt.Errorf("list %T: %w", list, err)
		}
	}
	now, err := (&snapshot.Index{Cache: reader, Reader: reader}).Read(ctx, plans.Items)
	if err != nil {
		return "", err
	}
	owners := map[string]*v1alpha1.ModelPlacement{}
	for i := range placements.Items {
		owners[string(placements.Items[i].UID)] = &placements.Items[i]
	}
	for i := range now.Plans {
		p := &now.Plans[i]
		owner := owners[p.Spec.Placement.UID]
		if !p.Active() || owner == nil || owner.Status.Plan != p.Name {
			return "plan " + p.Name + " is left behind", nil
		}
	}
	for i := range meshes.Items {
		m := &meshes.Items[i]
		owner := owners[m.Spec.Placement.UID]
		if owner == nil || owner.Status.Plan != m.Spec.Plan {
			return "mesh " + m.Name + " is left behind", nil
		}
	}
	for i := range placements.Items {
		if why := unserved(ctx, now, &placements.Items[i]); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// Placed returns the placement's condition Placed once it speaks of the spec as it is.
func Placed(p *v1alpha1.ModelPlacement) metav1.Condition {
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
	if c == nil || p.Status.ObservedGeneration != p.Generation || c.ObservedGeneration != p.Generation {
		return metav1.Condition{}
	}
	return *c
}

// unserved says whether a placement does not have what it could have.
func unserved(ctx context.Context, now *fleet.Snapshot, p *v1alpha1.ModelPlacement) string {
	c := Placed(p)
	switch {
	case c.Type == "":
		return p.Name + " was not seen"
	case c.Reason == v1alpha1.ReasonPlaced && p.Status.PlannedReplicas != *p.Spec.Replicas:
		return fmt.Sprintf("%s has %d copies of %d", p.Name, p.Status.PlannedReplicas, *p.Spec.Replicas)
	case c.Reason == v1alpha1.ReasonPlaced || *p.Spec.Replicas == 0 && p.Status.Plan == "":
		return ""
	}
	var own []v1alpha1.ShardingPlan
	request := shape.Request{Placement: p}
	for i := range now.Plans {
		if now.Plans[i].Spec.Placement.UID == string(p.UID) {
			own, request.Previous = append(own, now.Plans[i]), &now.Plans[i].Spec
		}
	}
	m, err := model.FromArchitecture(p.Name, *p.Spec.Model.Architecture)
	if err != nil {
		return err.Error()
	}
	request.Model = m
	if _, err := placement.DefaultPlanner(ctx, now.Cluster(p.UID, own, nil), request); err == nil {
		return p.Name + " fits and is not placed: " + c.Reason
	}
	return ""
}
