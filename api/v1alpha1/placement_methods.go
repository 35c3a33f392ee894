package v1alpha1

import "k8s.io/apimachinery/pkg/api/meta"

// Is says whether the reference, which stands in an object of the placement's namespace, means this placement: one that was made
// anew under the name is another one.
func (r PlacementRef) Is(placement *ModelPlacement) bool {
	return r.Name == placement.Name && r.UID != "" && r.UID == string(placement.UID)
}

// Starter names the launcher that is asked for; empty stands for that of the engine.
func (l *Launch) Starter() string {
	if l == nil {
		return ""
	}
	return l.Launcher
}

// PodDevices is the number of devices of each pod; 0 stands for all that a copy has on a node.
func (l *Launch) PodDevices() int {
	if l == nil || l.DevicesPerPod == nil {
		return 0
	}
	return int(*l.DevicesPerPod)
}

// Active says whether the ledger holds the plan.
func (p *ShardingPlan) Active() bool {
	return meta.IsStatusConditionTrue(p.Status.Conditions, ConditionActive)
}

// InForce says whether the plan is active and not going.
func (p *ShardingPlan) InForce() bool { return p.Active() && p.DeletionTimestamp.IsZero() }
