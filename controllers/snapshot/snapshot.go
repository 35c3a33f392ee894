// Package snapshot reads what a plan is computed from, at one moment and never from a cache, and says which devices are
// taken for whom.
package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Snapshot is the cluster at one moment: nodes and inventories in order of their names.
type Snapshot struct {
	// Plans are all that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Inventories by the node's name.
	Inventories map[string]*v1alpha1.AcceleratorInventory
	// Nodes in order of their names.
	Nodes []corev1.Node
	// Pods of placements that may hold devices: those that are on a node and did not end.
	Pods []corev1.Pod
	// Silent nodes are those whose agent has not been heard of for too long.
	Silent map[string]bool
}

// Read reads the cluster. The plans are those that the ledger showed. The lists are read at once, because the API server
// may let each consistent read wait up to a tenth of a second for its cache to catch up.
func Read(ctx context.Context, reader client.Reader, plans []v1alpha1.ShardingPlan) (*Snapshot, error) {
	var inventories v1alpha1.AcceleratorInventoryList
	var nodes corev1.NodeList
	var pods corev1.PodList
	reads, ctx := errgroup.WithContext(ctx)
	for _, read := range []struct {
		what    string
		list    client.ObjectList
		options []client.ListOption
	}{
		{"inventories", &inventories, nil},
		{"nodes", &nodes, nil},
		{"pods of placements", &pods, []client.ListOption{client.HasLabels{v1alpha1.LabelPlacement}}},
	} {
		reads.Go(func() error {
			if err := reader.List(ctx, read.list, read.options...); err != nil {
				return fmt.Errorf("list %s: %w", read.what, err)
			}
			return nil
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return New(plans, inventories.Items, nodes.Items, pods.Items), nil
}

// New makes a snapshot of lists in any order.
func New(plans []v1alpha1.ShardingPlan, inventories []v1alpha1.AcceleratorInventory, nodes []corev1.Node, pods []corev1.Pod) *Snapshot {
	s := &Snapshot{
		Plans:       plans,
		Inventories: make(map[string]*v1alpha1.AcceleratorInventory, len(inventories)),
		Nodes:       nodes,
		Pods:        slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !Holds(&p) }),
	}
	for i := range inventories {
		s.Inventories[inventories[i].Name] = &inventories[i]
	}
	slices.SortFunc(s.Nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Holds says whether a pod may hold devices. One that is being deleted does until it ended.
func Holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
