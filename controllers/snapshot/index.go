package snapshot

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Index keeps the planner's index of the cluster from one plan to the next. What the informers have of nodes and inventories
// is indexed when it changed. What holds devices is never taken from a cache: plans come from the ledger, and pods from the
// API server. Nodes and inventories may lag behind, so a plan that is made from them must be confirmed.
type Index struct {
	// Cache reads nodes and inventories from informers.
	Cache client.Reader
	// Reader reads from the API server.
	Reader client.Reader
	// Silent returns the nodes whose agents have not been heard of for too long; nil means that none is.
	Silent func() map[string]bool

	mu      sync.Mutex
	hosts   *hosts
	cluster *fleet.Cluster
	claimed map[string]string // by node: who was known to hold devices when it was indexed
}

// Read returns the cluster as it is now. The plans are those that the ledger showed. It may not be used for a decision
// without Confirm.
func (x *Index) Read(ctx context.Context, plans []v1alpha1.ShardingPlan) (*Snapshot, error) {
	var inventories v1alpha1.AcceleratorInventoryList
	var nodes corev1.NodeList
	var pods corev1.PodList
	// The informers' objects are read and never written, so that they need not be copied.
	shared := client.UnsafeDisableDeepCopy
	reads, ctx := errgroup.WithContext(ctx)
	reads.Go(func() error { return list(ctx, x.Cache, "inventories", &inventories, shared) })
	reads.Go(func() error { return list(ctx, x.Cache, "nodes", &nodes, shared) })
	reads.Go(func() error { return listPods(ctx, x.Reader, &pods) })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	return x.read(plans, inventories.Items, nodes.Items, pods.Items), nil
}

// rebuildShare is the share of the hosts that must have changed for building the index anew to be cheaper: one part in so
// many.
const rebuildShare = 4

// read brings the index to what the lists say.
func (x *Index) read(plans []v1alpha1.ShardingPlan, inventories []v1alpha1.AcceleratorInventory, nodes []corev1.Node, pods []corev1.Pod) *Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.hosts == nil {
		x.hosts = newHosts()
	}
	changed := map[string]bool{}
	for _, name := range x.hosts.follow(inventories, nodes, x.silent()) {
		changed[name] = true
	}
	s := x.hosts.snapshot(plans, pods)
	s.hosts = maps.Clone(s.hosts)
	claimed := s.claimants()
	for name, who := range claimed {
		if x.claimed[name] != who {
			changed[name] = true
		}
	}
	for name := range x.claimed {
		if _, still := claimed[name]; !still {
			changed[name] = true
		}
	}
	x.claimed = claimed
	if x.cluster == nil || len(changed) > len(s.hosts)/rebuildShare {
		x.cluster = fleet.NewCluster(s.PlanNodes(nil))
	} else {
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if h := s.hosts[name]; h != nil && h.plannable() {
				x.cluster.Update(s.planNode(h, nil, nil))
			} else {
				x.cluster.Remove(name)
			}
		}
	}
	s.cluster = x.cluster.Clone()
	return s
}

func (x *Index) silent() map[string]bool {
	if x.Silent == nil {
		return nil
	}
	return x.Silent()
}

// claimants are the plans and pods that may hold devices, by node, in a form that can be compared.
func (s *Snapshot) claimants() map[string]string {
	all := make(map[string]string, len(s.claims))
	for node, on := range s.claims {
		who := make([]string, 0, len(on.plans)+len(on.pods))
		for _, at := range on.plans {
			who = append(who, "plan "+string(s.Plans[at].UID))
		}
		for _, at := range on.pods {
			line := podLine(&s.Pods[at])
			if p := s.planOf(&s.Pods[at]); p != nil {
				line += " of " + string(p.UID)
			}
			who = append(who, line)
		}
		slices.Sort(who)
		all[node] = strings.Join(who, "\n")
	}
	return all
}

// maxConfirming bounds how many nodes are read at once.
const maxConfirming = 16

// Confirm reads nodes and their inventories from the API server, and says whether they are as the snapshot has them.
func (x *Index) Confirm(ctx context.Context, s *Snapshot, names []string) (bool, error) {
	silent := x.silent()
	current := make([]bool, len(names))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxConfirming)
	for i, name := range names {
		reads.Go(func() error {
			now, err := x.look(ctx, name, silent)
			current[i] = err == nil && s.Host(name).equals(now)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return false, err
	}
	return !slices.Contains(current, false), nil
}

// look reads a host from the API server.
func (x *Index) look(ctx context.Context, name string, silent map[string]bool) (*Host, error) {
	var node corev1.Node
	var inventory v1alpha1.AcceleratorInventory
	found := &Host{}
	err := x.Reader.Get(ctx, client.ObjectKey{Name: name}, &node)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	if !apierrors.IsNotFound(err) {
		found.NodeFacts, found.Exists = FactsOf(&node), true
		found.Closed = found.Closed || silent[name]
	}
	err = x.Reader.Get(ctx, client.ObjectKey{Name: name}, &inventory)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read inventory %s: %w", name, err)
	}
	if !apierrors.IsNotFound(err) {
		found.Inventory = &inventory
	}
	return found, nil
}

// equals says whether the planner would see no difference.
func (h Host) equals(now *Host) bool {
	return h.Exists == now.Exists && same(h.Inventory, now.Inventory) && (!h.Exists || reflect.DeepEqual(h.NodeFacts, now.NodeFacts))
}
