// Package snapshot reads from the API what plans are computed from at one moment.
package snapshot

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Index keeps the index of the cluster from one plan to the next. What the informers have of nodes and inventories is indexed
// when it changed. Plans come from the ledger. Nodes, inventories and pods may lag behind, so a plan that is made from them must be confirmed.
type Index struct {
	// Cache reads nodes, inventories and pods from informers.
	Cache client.Reader
	// Reader reads from the API server.
	Reader client.Reader
	// Silent returns the nodes whose agents have not been heard of for too long; nil means that none is.
	Silent func() map[string]bool

	mu       sync.Mutex
	follower fleet.Follower
}

// Read returns the cluster as it is by the informers. plans are the plans that the ledger showed. Before a decision that rests on the snapshot is
// carried out, Changed must have nothing to say of its nodes.
func (x *Index) Read(ctx context.Context, plans []v1alpha1.ShardingPlan) (*fleet.Snapshot, error) {
	now := fleet.Informed{Plans: plans, Silent: x.silent()}
	var err error
	if now.Inventories, now.Nodes, err = x.nodes(ctx); err != nil {
		return nil, err
	}
	pods, err := Informed(ctx, x.Cache, &corev1.Pod{}, &corev1.PodList{}, client.HasLabels{v1alpha1.LabelPlacement})
	if err != nil {
		return nil, err
	}
	now.Pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p.Labels[v1alpha1.LabelPlacement] == "" })
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.follower.FollowInformed(now), nil
}

// nodes returns the inventories and the nodes.
func (x *Index) nodes(ctx context.Context) ([]*v1alpha1.AcceleratorInventory, []*corev1.Node, error) {
	inventories, err := Informed(ctx, x.Cache, &v1alpha1.AcceleratorInventory{}, &v1alpha1.AcceleratorInventoryList{})
	if err != nil {
		return nil, nil, err
	}
	nodes, err := Informed(ctx, x.Cache, &corev1.Node{}, &corev1.NodeList{})
	return inventories, nodes, err
}

// Ready counts the nodes.
func (x *Index) Ready(ctx context.Context) (ready fleet.Readiness, err error) {
	now := fleet.Informed{Silent: x.silent()}
	if now.Inventories, now.Nodes, err = x.nodes(ctx); err != nil {
		return ready, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.follower.Ready(now), nil
}

func (x *Index) silent() map[string]bool {
	if x.Silent == nil {
		return nil
	}
	return x.Silent()
}

// maxConfirming bounds how many nodes are read at once.
const maxConfirming = 16

// Changed reads nodes, their inventories and the pods of placements on them from the API server, and returns those that no longer serve the plans
// that were made for them from the snapshot. Of a node without such plans every change counts.
func (x *Index) Changed(ctx context.Context, s *fleet.Snapshot, plans map[string][]*v1alpha1.ShardingPlan) (map[string]bool, error) {
	silent := x.silent()
	var mu sync.Mutex
	changed := map[string]bool{}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxConfirming)
	for name, served := range plans {
		reads.Go(func() error {
			serves, err := x.serves(ctx, s, name, silent[name], served)
			if !serves {
				mu.Lock()
				defer mu.Unlock()
				changed[name] = true
			}
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return changed, nil
}

func (x *Index) serves(ctx context.Context, s *fleet.Snapshot, node string, silent bool, plans []*v1alpha1.ShardingPlan) (bool, error) {
	now, err := look(ctx, x.Reader, node, silent)
	if err != nil {
		return false, err
	}
	var pods corev1.PodList
	if err := x.Reader.List(ctx, &pods, client.HasLabels{v1alpha1.LabelPlacement}, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return false, fmt.Errorf("list pods of node %s: %w", node, err)
	}
	if !s.HasPods(node, pods.Items) {
		return false, nil
	}
	for _, plan := range plans {
		if !s.Serves(node, now, &plan.Spec) {
			return false, nil
		}
	}
	return len(plans) > 0 || s.Host(node).Same(now), nil
}

// Hosts returns what the cache has of some nodes.
func (x *Index) Hosts(ctx context.Context, names []string) (map[string]*fleet.Host, error) {
	silent, hosts := x.silent(), make(map[string]*fleet.Host, len(names))
	for _, name := range names {
		host, err := look(ctx, x.Cache, name, silent[name])
		if err != nil {
			return nil, err
		}
		hosts[name] = host
	}
	return hosts, nil
}

// look reads what is known of a node.
func look(ctx context.Context, reader client.Reader, name string, silent bool) (*fleet.Host, error) {
	node, inventory := &corev1.Node{}, &v1alpha1.AcceleratorInventory{}
	there, err := objects.Read(ctx, reader, client.ObjectKey{Name: name}, node)
	if err != nil {
		return nil, err
	}
	if !there {
		node = nil
	}
	if there, err = objects.Read(ctx, reader, client.ObjectKey{Name: name}, inventory); err != nil {
		return nil, err
	}
	if !there {
		inventory = nil
	}
	return fleet.NewHost(node, inventory, silent), nil
}
