package fleet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Usage is what the pods on each node ask of it together. A change of one pod costs no look at another. The zero value is ready for
// use. Only Set and Remove change it; they must run alone.
type Usage struct {
	pods  map[types.UID]usage
	nodes map[string]load
}

// load is what the pods on a node ask for: all of them, and those of each placement ("namespace/name") that has any there.
type load struct {
	all  Amounts
	owed map[string]Amounts
}

// usage is what a pod asks of a node.
type usage struct {
	node, owner string
	asks        Amounts
}

// Trimmed leaves of a pod nothing but what Set looks at, in place: what it asks for stands in one container.
func Trimmed(pod *corev1.Pod) *corev1.Pod {
	asks := corev1.ResourceList{}
	for _, a := range RequestsOf(pod) {
		asks[corev1.ResourceName(a.Of)] = *a.quantity()
	}
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: asks}}}}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase}
	pod.Annotations, pod.ManagedFields, pod.OwnerReferences = nil, nil, nil
	return pod
}

// Set adds a pod, or replaces what is known of it; a pod that is on no node or has ended asks for nothing. It says whether that left
// more room on a node.
func (u *Usage) Set(pod *corev1.Pod) (freed bool) {
	if !Holds(pod) {
		return u.Remove(pod.UID)
	}
	if u.pods == nil {
		u.pods, u.nodes = map[types.UID]usage{}, map[string]load{}
	}
	now := usage{node: pod.Spec.NodeName, asks: RequestsOf(pod)}
	if name := pod.Labels[v1alpha1.LabelPlacement]; name != "" {
		now.owner = pod.Namespace + "/" + name
	}
	before, known := u.pods[pod.UID]
	if known {
		u.add(&before, Amounts.minus)
	}
	u.pods[pod.UID] = now
	u.add(&now, Amounts.plus)
	return known && (before.node != now.node || before.asks.share(now.asks) < 1)
}

// Remove forgets a pod, and says whether that left more room on a node.
func (u *Usage) Remove(uid types.UID) (freed bool) {
	before, known := u.pods[uid]
	if known {
		u.add(&before, Amounts.minus)
		delete(u.pods, uid)
	}
	return known
}

// add adds a pod to the sums of its node, or subtracts it.
func (u *Usage) add(pod *usage, sum func(a, b Amounts) Amounts) {
	on := u.nodes[pod.node]
	on.all = sum(sum(on.all, pod.asks), onePod)
	if pod.owner != "" {
		if on.owed == nil {
			on.owed = map[string]Amounts{}
		}
		if on.owed[pod.owner] = sum(sum(on.owed[pod.owner], pod.asks), onePod); len(on.owed[pod.owner]) == 0 {
			delete(on.owed, pod.owner)
		}
	}
	if u.nodes[pod.node] = on; len(on.all) == 0 {
		delete(u.nodes, pod.node)
	}
}

// free returns what a node has free for the pods of a placement, of the resources in a list.
func (u *Usage) free(h *Host, placement string, of Amounts) Amounts {
	on := u.nodes[h.Name]
	own, free := on.owed[placement], make(Amounts, len(of))
	for i, a := range of {
		free[i] = Amount{a.Of, h.Allocatable.of(a.Of) - on.all.of(a.Of) + own.of(a.Of)}
	}
	return free
}
