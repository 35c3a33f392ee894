package ledger

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// shown notes a plan that the informer shows.
func (m *memory) shown(plan *v1alpha1.ShardingPlan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans[plan.UID] == nil && !m.ended[plan.UID] {
		m.strange = with(m.strange, plan.UID)
	}
	m.learn(plan)
}

// shownGone notes that the informer no longer has a plan.
func (m *memory) shownGone(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ended, uid)
	delete(m.strange, uid)
	m.remove(uid)
}

// updated returns the plans of a name of placements that an informer shows, brought up to what is known of them, and those that it does not
// show yet, in order of their names.
func (m *memory) updated(shown []v1alpha1.ShardingPlan, namespace, placement string) []v1alpha1.ShardingPlan {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[types.UID]*v1alpha1.ShardingPlan{}
	for i := range shown {
		all[shown[i].UID] = later(&shown[i], m.plans[shown[i].UID])
	}
	for uid, plan := range m.plans {
		if plan.Namespace == namespace && plan.Spec.Placement.Name == placement && all[uid] == nil {
			all[uid] = plan
		}
	}
	var plans []v1alpha1.ShardingPlan
	for uid, plan := range all {
		if !m.ended[uid] {
			plans = append(plans, *plan)
		}
	}
	slices.SortFunc(plans, func(a, b v1alpha1.ShardingPlan) int { return cmp.Compare(a.Name, b.Name) })
	return plans
}

// unshown returns the plans that are remembered and not among those that an informer shows.
func (m *memory) unshown(shown []v1alpha1.ShardingPlan) []*v1alpha1.ShardingPlan {
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := maps.Clone(m.plans)
	for i := range shown {
		delete(missing, shown[i].UID)
	}
	return slices.Collect(maps.Values(missing))
}

// untold says whether plans are gone of which the informer will not tell, since it does not show them. It says so once of each.
func (m *memory) untold(shown []v1alpha1.ShardingPlan) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.ended)
	maps.DeleteFunc(m.ended, func(uid types.UID, _ bool) bool {
		return !slices.ContainsFunc(shown, func(p v1alpha1.ShardingPlan) bool { return p.UID == uid })
	})
	return len(m.ended) < before
}
