package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Snapshot is what plans are computed from at one moment: the hosts, and which devices are taken for whom. It may be used concurrently, but
// for Hold.
type Snapshot struct {
	// Plans are all plans that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Pods are the pods of placements that may hold devices: those that are on a node and have not ended.
	Pods []*corev1.Pod

	podsUnknown bool
	ready       Readiness
	hosts       map[string]*Host
	claims      map[string]claims // by node
	planAt      map[types.NamespacedName]int32
	claimants   map[string]string // by node: who may hold devices
	cluster     *Cluster          // with all that is taken
	sum         sum               // of the digests of all nodes
	epochs      epochs
	holding     bool // plans are held that were not there
}

// Readiness counts the nodes with inventories, and those of them that are not ready.
type Readiness struct{ Nodes, Not int }

// Ready counts the nodes of the snapshot.
func (s *Snapshot) Ready() Readiness { return s.ready }

// snapshotOf adds plans, of which some may be remembered, and pods to hosts.
func snapshotOf(hosts map[string]*Host, now *Informed, known holdings) *Snapshot {
	s := &Snapshot{
		Plans: now.Plans, Pods: slices.DeleteFunc(now.Pods, func(p *corev1.Pod) bool { return !Holds(p) }), podsUnknown: now.PodsUnknown,
		hosts: hosts, claims: map[string]claims{}, planAt: make(map[types.NamespacedName]int32, len(now.Plans)),
	}
	for i := range s.Plans {
		p := &s.Plans[i]
		s.planAt[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = int32(i)
		s.claim(int32(i), known.of(p))
	}
	for i := range s.Pods {
		on := s.claims[s.Pods[i].Spec.NodeName]
		on.pods = append(on.pods, int32(i))
		s.claims[s.Pods[i].Spec.NodeName] = on
	}
	s.claimants = make(map[string]string, len(s.claims))
	for node := range s.claims {
		s.claimants[node] = s.describeClaims(node)
	}
	return s
}

// Epoch names the state of the cluster, to ask a later snapshot what became better. With plans that are held it is a state that nothing is
// known of, so that everything is better.
func (s *Snapshot) Epoch() int64 {
	if s.holding {
		return -1
	}
	return s.epochs.current
}

// Better says whether some node that has devices of an admitted class may have more to give than it had in an epoch. Devices that were taken after
// that and are free again are no more.
func (s *Snapshot) Better(epoch int64, admits func(*Class) bool) bool {
	return s.epochs.anyBetter(epoch, admits)
}

// BetterSince says whether some of the nodes may have more to give than they had in an epoch.
func (s *Snapshot) BetterSince(epoch int64, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(node string) bool { return s.epochs.better(node, epoch) })
}

// claim notes what a plan has on which node.
func (s *Snapshot) claim(plan int32, list []held) {
	for _, of := range list {
		on := s.claims[of.node]
		on.plans = append(on.plans, claim{plan, of})
		s.claims[of.node] = on
	}
}

// Hold adds a plan, which holds its devices from then on.
func (s *Snapshot) Hold(plan *v1alpha1.ShardingPlan) {
	s.holding = true
	s.Plans = append(s.Plans, *plan)
	at := int32(len(s.Plans) - 1)
	s.planAt[types.NamespacedName{Namespace: plan.Namespace, Name: plan.Name}] = at
	nodes := plan.Spec.NodeNames()
	for _, node := range nodes {
		s.sum.take(digestOf(node, s.hosts[node], s.claimants))
	}
	s.claim(at, heldBy(plan))
	for _, node := range nodes {
		s.claimants[node] = s.describeClaims(node)
		s.sum.add(digestOf(node, s.hosts[node], s.claimants))
		if h := s.hosts[node]; h != nil && h.plannable() {
			s.cluster.Update(s.node(h, leavingFor("", nil), nil))
		}
	}
}

// Host returns what is known of a node; an empty Host where nothing is.
func (s *Snapshot) Host(name string) *Host {
	if h := s.hosts[name]; h != nil {
		return h
	}
	return NewHost(nil, nil, false)
}

// Holds reports whether a pod may hold devices. A pod that is being deleted does until it has ended.
func Holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
