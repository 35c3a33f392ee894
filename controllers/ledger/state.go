package ledger

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// State is what a decision is made from.
type State struct {
	// Plans are all plans that exist. Each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// pending are the commits whose plans exist and are not active, waiting the placements of these plans.
	pending []entry
	waiting map[placed]bool
	// revisions are those of the record.
	revisions []numbered
}

// placed is a placement by namespace, name and UID.
type placed struct{ namespace, name, uid string }

// Revision is that of the last plan which was committed for the placement of a UID, as far as the record goes back; 0 where it has none.
func (s *State) Revision(placement types.UID) int64 {
	for _, n := range s.revisions {
		if n.Placement == string(placement) {
			return n.Revision
		}
	}
	return 0
}

// InForce returns the active plans that are not going, in order of their revisions.
func InForce(plans []v1alpha1.ShardingPlan) []v1alpha1.ShardingPlan {
	var active []v1alpha1.ShardingPlan
	for i := range plans {
		if plans[i].InForce() {
			active = append(active, plans[i])
		}
	}
	slices.SortFunc(active, func(a, b v1alpha1.ShardingPlan) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	return active
}

// Waits says whether a plan of a placement is committed and not active yet. Until it is, or is gone, no other is committed for it.
func (s *State) Waits(namespace string, placement v1alpha1.PlacementRef) bool {
	return s.waiting[placed{namespace, placement.Name, placement.UID}]
}

// committed says whether a plan that is not active is committed.
func (s *State) committed(plan *v1alpha1.ShardingPlan) bool {
	return slices.ContainsFunc(s.pending, func(e entry) bool { return e.Plan.UID == plan.UID })
}

// Leftovers returns the plans that were created and never committed: an operator ended between the two steps, or is between them now.
func (s *State) Leftovers() []v1alpha1.ShardingPlan {
	var left []v1alpha1.ShardingPlan
	for i := range s.Plans {
		if plan := &s.Plans[i]; !plan.Active() && plan.DeletionTimestamp.IsZero() && !s.committed(plan) {
			left = append(left, *plan)
		}
	}
	return left
}

// pend notes which of some commits are pending.
func (s *State) pend(entries []entry) {
	inactive := map[types.UID]*v1alpha1.ShardingPlan{}
	for i := range s.Plans {
		if plan := &s.Plans[i]; !plan.Active() {
			inactive[plan.UID] = plan
		}
	}
	s.pending, s.waiting = nil, map[placed]bool{}
	for _, e := range entries {
		if plan := inactive[e.Plan.UID]; plan != nil {
			s.pending = append(s.pending, e)
			s.waiting[placed{plan.Namespace, plan.Spec.Placement.Name, plan.Spec.Placement.UID}] = true
		}
	}
}

func (s *State) find(uid types.UID) *v1alpha1.ShardingPlan {
	at := slices.IndexFunc(s.Plans, func(p v1alpha1.ShardingPlan) bool { return p.UID == uid })
	if at < 0 {
		return nil
	}
	return &s.Plans[at]
}
