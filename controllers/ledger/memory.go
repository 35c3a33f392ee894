package ledger

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// memory is what a process knows of the ledger and of the plans from one commit to the next. While the ledger is as this process wrote it, nobody
// else has committed anything, so that the plans it listed last and those it committed since are all that can be committed: they need not be
// listed again. Whether that is so shows when the ledger is written with the resourceVersion that is remembered. docs/internals/ledger.md has the proof.
//
// The zero value knows nothing, and the ledger and the plans must be read.
type memory struct {
	mu sync.Mutex
	// config is the ledger as this process read or wrote it last; nil where it must be read. record is what it says.
	config *corev1.ConfigMap
	record record
	// plans exist, as far as is known.
	plans map[types.UID]*v1alpha1.ShardingPlan
	// left are plans that are gone. They count as taken until the ledger is written again: a backup of etcd from before could bring
	// them back, and then it has the ledger as it was.
	left map[types.UID]*v1alpha1.ShardingPlan
	// ended are plans that were remembered and that a read or a list showed to be gone. The informer may still tell of them, or never.
	ended map[types.UID]bool
	// strange are plans that the informer shows and that were neither listed nor made here. While there are any, plans must be listed.
	strange map[types.UID]bool
	// dead are the placements of the record that are gone.
	dead map[string]bool
	// vacated takes a value when a plan has left.
	vacated chan struct{}
	// ordered are plans and those that left, in order of their names, and leaves which of them left; nil where something changed since they were put in
	// order. Views share them, and nobody writes to them.
	ordered []v1alpha1.ShardingPlan
	leaves  []types.UID
	// since is what was learnt while plans are being listed, which the list may not have; nil while they are not.
	since *learnt
}

// learnt is what became known of plans during a time.
type learnt struct {
	plans map[types.UID]*v1alpha1.ShardingPlan
	gone  map[types.UID]bool
}

// view returns the ledger and the plans as they are remembered; nil where they must be read.
func (m *memory) view() *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config == nil || len(m.strange) > 0 {
		return nil
	}
	v := &view{config: m.config, sequence: m.record.Sequence, State: State{revisions: m.record.Revisions}}
	if m.ordered == nil {
		m.order()
	}
	v.Plans, v.left = slices.Clip(m.ordered), m.leaves // who adds to them adds to a copy
	v.pend(m.record.Pending)
	return v
}

// order puts the plans in order. It must be called with the lock held.
func (m *memory) order() {
	all := slices.AppendSeq(make([]*v1alpha1.ShardingPlan, 0, len(m.plans)+len(m.left)), maps.Values(m.plans))
	all = slices.AppendSeq(all, maps.Values(m.left))
	slices.SortFunc(all, func(a, b *v1alpha1.ShardingPlan) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	m.ordered, m.leaves = make([]v1alpha1.ShardingPlan, len(all)), nil
	for i, plan := range all {
		m.ordered[i] = *plan
		if m.left[plan.UID] == plan {
			m.leaves = append(m.leaves, plan.UID)
			m.ordered[i].DeletionTimestamp = cmp.Or(plan.DeletionTimestamp, &metav1.Time{})
		}
	}
}

// listing notes that the ledger and plans are about to be read.
func (m *memory) listing() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config, m.since = nil, &learnt{map[types.UID]*v1alpha1.ShardingPlan{}, map[types.UID]bool{}}
}

// listed notes the ledger as it was read, and the plans that were listed after that.
func (m *memory) listed(config *corev1.ConfigMap, r record, plans []v1alpha1.ShardingPlan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.plans
	m.config, m.record = config, r
	m.plans, m.left, m.strange, m.ordered = make(map[types.UID]*v1alpha1.ShardingPlan, len(plans)), nil, nil, nil
	for i := range plans {
		plan := &plans[i]
		plan.ManagedFields = nil
		if newer := m.since.plans[plan.UID]; newer != nil {
			plan = later(plan, newer)
		}
		if !m.since.gone[plan.UID] {
			m.plans[plan.UID] = plan
			delete(m.ended, plan.UID) // an older backup of etcd may have it
		}
	}
	for uid := range before {
		if m.plans[uid] == nil && m.since.plans[uid] == nil && !m.since.gone[uid] {
			m.ended = with(m.ended, uid)
		}
	}
	for uid := range m.since.plans {
		if m.plans[uid] == nil && !m.since.gone[uid] {
			m.strange = with(m.strange, uid)
		}
	}
	m.since = nil
}

// wrote notes the ledger as it was written while some plans had left.
func (m *memory) wrote(config *corev1.ConfigMap, r record, left []types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config, m.record = config, r
	for _, uid := range left {
		delete(m.left, uid)
		m.ordered = nil
	}
	for _, n := range r.Revisions { // what was noted while the ledger was written stays
		if m.dead[n.Placement] {
			return
		}
	}
	m.dead = nil
}

// forget has the ledger and the plans read again before the next commit: another process is at work, or it is not known what a write did.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config = nil
}

// made notes a plan as this process created it.
func (m *memory) made(plan *v1alpha1.ShardingPlan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.strange, plan.UID)
	m.learn(plan)
}

// changed notes a plan as this process changed it, unless it left since: who deleted it may have been answered sooner, and nobody tells again that it
// is gone.
func (m *memory) changed(plan *v1alpha1.ShardingPlan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans[plan.UID] != nil {
		m.learn(plan)
	}
}

// learn notes a plan. It must be called with the lock held.
func (m *memory) learn(plan *v1alpha1.ShardingPlan) {
	if m.ended[plan.UID] {
		return
	}
	if m.since != nil {
		m.since.plans[plan.UID] = later(plan, m.since.plans[plan.UID])
	}
	if m.plans == nil {
		m.plans = map[types.UID]*v1alpha1.ShardingPlan{}
	}
	if next := later(plan, m.plans[plan.UID]); next != m.plans[plan.UID] {
		m.plans[plan.UID], m.ordered = next, nil
	}
}

// gone notes that a plan is gone, which a read showed.
func (m *memory) gone(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plans[uid] != nil { // else the informer told of it
		m.ended = with(m.ended, uid)
	}
	m.remove(uid)
}

func (m *memory) remove(uid types.UID) {
	if m.since != nil {
		m.since.gone[uid] = true
	}
	plan := m.plans[uid]
	if plan == nil {
		return
	}
	delete(m.plans, uid)
	m.ordered = nil
	if m.left == nil {
		m.left = map[types.UID]*v1alpha1.ShardingPlan{}
	}
	m.left[uid] = plan
	select {
	case m.leaving() <- struct{}{}:
	default:
	}
}

// leaving is where it is told that a plan has left. It must be called with the lock held.
func (m *memory) leaving() chan struct{} {
	if m.vacated == nil {
		m.vacated = make(chan struct{}, 1)
	}
	return m.vacated
}

func (m *memory) signal() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leaving()
}

// end notes that a placement is gone.
func (m *memory) end(placement string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(m.record.Revisions, func(n numbered) bool { return n.Placement == placement }) {
		return
	}
	if m.dead == nil {
		m.dead = map[string]bool{}
	}
	m.dead[placement] = true
}

// living returns the revisions of placements that are not known to be gone.
func (m *memory) living(revisions []numbered) []numbered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(revisions), func(n numbered) bool { return m.dead[n.Placement] })
}

// active returns a plan that is known to be active; nil where it is not.
func (m *memory) active(uid types.UID) *v1alpha1.ShardingPlan {
	m.mu.Lock()
	defer m.mu.Unlock()
	if plan := m.plans[uid]; plan != nil && plan.Active() {
		return plan
	}
	return nil
}

// later returns the later of two states of a plan, of which the second may be nil.
func later(a, b *v1alpha1.ShardingPlan) *v1alpha1.ShardingPlan {
	if b == nil {
		return a
	}
	// What cannot be compared is not of one API server: the new one counts.
	if order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion); err == nil && order < 0 {
		return b
	}
	return a
}

// with returns a set with one more member; a set of none may be nil.
func with(set map[types.UID]bool, uid types.UID) map[types.UID]bool {
	if set == nil {
		set = map[types.UID]bool{}
	}
	set[uid] = true
	return set
}
