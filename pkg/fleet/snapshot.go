package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Snapshot is what plans are computed from at one moment: the hosts, and which devices are taken for whom. It is never
// changed and may be used concurrently.
type Snapshot struct {
	// Plans are all plans that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Pods are the pods of placements that may hold devices: those that are on a node and have not ended.
	Pods []corev1.Pod

	podsUnknown bool
	hosts       map[string]*Host
	claims      map[string]claims // by node
	planAt      map[types.NamespacedName]int32
	claimants   map[string]string // by node: who may hold devices
	cluster     *Cluster          // with all that is taken
}

// claims lists what may hold devices of a node, as indexes in the lists of plans and pods.
type claims struct{ plans, pods []int32 }

// snapshotOf adds plans and pods to hosts.
func snapshotOf(hosts map[string]*Host, now *State) *Snapshot {
	s := &Snapshot{
		Plans: now.Plans, Pods: slices.DeleteFunc(now.Pods, func(p corev1.Pod) bool { return !Holds(&p) }), podsUnknown: now.PodsUnknown,
		hosts: hosts, claims: map[string]claims{}, planAt: make(map[types.NamespacedName]int32, len(now.Plans)),
	}
	for i := range s.Plans {
		p := &s.Plans[i]
		s.planAt[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = int32(i)
		for j := range p.Spec.Nodes {
			on := s.claims[p.Spec.Nodes[j].Node]
			if n := len(on.plans); n == 0 || on.plans[n-1] != int32(i) {
				on.plans = append(on.plans, int32(i))
				s.claims[p.Spec.Nodes[j].Node] = on
			}
		}
	}
	for i := range s.Pods {
		on := s.claims[s.Pods[i].Spec.NodeName]
		on.pods = append(on.pods, int32(i))
		s.claims[s.Pods[i].Spec.NodeName] = on
	}
	s.claimants = s.describeClaims()
	return s
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
