// Package snapshot says what a plan is computed from at one moment: who is there, and which devices are taken for whom.
package snapshot

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Snapshot is the cluster at one moment.
type Snapshot struct {
	// Plans are all that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Pods of placements that may hold devices: those that are on a node and did not end.
	Pods []corev1.Pod

	hosts   map[string]*Host
	claims  map[string]claims // by node
	planAt  map[types.NamespacedName]int32
	cluster *fleet.Cluster // with all that is taken
}

// Read reads all of the cluster from the API server. The plans are those that the ledger showed.
func Read(ctx context.Context, reader client.Reader, plans []v1alpha1.ShardingPlan) (*Snapshot, error) {
	var inventories v1alpha1.AcceleratorInventoryList
	var nodes corev1.NodeList
	var pods corev1.PodList
	reads, ctx := errgroup.WithContext(ctx)
	reads.Go(func() error { return list(ctx, reader, "inventories", &inventories) })
	reads.Go(func() error { return list(ctx, reader, "nodes", &nodes) })
	reads.Go(func() error { return listPods(ctx, reader, &pods) })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return New(plans, inventories.Items, nodes.Items, pods.Items, nil), nil
}

func listPods(ctx context.Context, reader client.Reader, pods *corev1.PodList) error {
	return list(ctx, reader, "pods of placements", pods, client.HasLabels{v1alpha1.LabelPlacement})
}

func list(ctx context.Context, reader client.Reader, what string, into client.ObjectList, options ...client.ListOption) error {
	if err := reader.List(ctx, into, options...); err != nil {
		return fmt.Errorf("list %s: %w", what, err)
	}
	return nil
}

// New makes a snapshot of lists in any order. Silent nodes are those whose agent has not been heard of for too long.
func New(plans []v1alpha1.ShardingPlan, inventories []v1alpha1.AcceleratorInventory, nodes []corev1.Node, pods []corev1.Pod,
	silent map[string]bool,
) *Snapshot {
	hosts := newHosts()
	hosts.follow(inventories, nodes, silent)
	return hosts.snapshot(plans, pods)
}

// snapshot adds plans and pods to the hosts.
func (h *hosts) snapshot(plans []v1alpha1.ShardingPlan, pods []corev1.Pod) *Snapshot {
	s := &Snapshot{
		Plans: plans, Pods: slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !Holds(&p) }),
		hosts: h.byName, claims: map[string]claims{}, planAt: make(map[types.NamespacedName]int32, len(plans)),
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
	return s
}

// Host returns what is known of a node; the zero value where that is nothing.
func (s *Snapshot) Host(name string) Host {
	if h := s.hosts[name]; h != nil {
		return *h
	}
	return Host{}
}

// Holds says whether a pod may hold devices. One that is being deleted does until it ended.
func Holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
