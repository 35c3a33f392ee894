package binding

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/drain"
	"github.com/rankwright/rankwright/pkg/binding"
)

// turn is how long a copy that its budget holds no longer is left to those who drain its nodes. `kubectl drain` tries to evict a pod every 5
// seconds, by its name and until it succeeds: were the operator faster, it would go on trying with the pod that a StatefulSet makes
// elsewhere under that name, and never end.
const turn = 10 * time.Second

// release takes pods that are to be evicted out of their placement's budget, where it has one. It returns those that the operator evicts itself:
// of copies that are on no cordoned node, or whose turn is over.
func (r *Reconciler) release(ctx context.Context, offer *binding.Offer, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	if offer.Placement.Spec.FailurePolicy.Drain == nil {
		return pods, nil
	}
	running := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
	nodes := make([]string, len(running))
	for i, pod := range running {
		nodes[i] = pod.Spec.NodeName
	}
	slices.Sort(nodes)
	hosts, err := r.Index.Hosts(ctx, slices.Compact(nodes))
	if err != nil {
		return nil, err
	}
	key, now := client.ObjectKeyFromObject(offer.Placement), r.Now()
	known, released, waits := r.released.Get(key), map[types.UID]time.Time{}, map[int]bool{}
	for _, pod := range running {
		err := drain.Release(ctx, r.Client, pod, drain.Moved)
		if ignoreGone(err) != nil {
			return nil, err
		}
		since, was := known[pod.UID]
		if !was {
			since = now
		}
		if released[pod.UID] = since; apierrors.IsConflict(err) || hosts[pod.Spec.NodeName].Cordoned && now.Sub(since) < turn {
			waits[replicaOf(pod)] = true
		}
	}
	r.released.Set(key, released)
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return waits[replicaOf(pod)] }), nil
}
