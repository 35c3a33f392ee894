package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func (i Installation) agents(ctx context.Context) (string, error) {
	daemons := &appsv1.DaemonSet{}
	if err := i.Reader.Get(ctx, client.ObjectKey{Namespace: i.AgentNamespace, Name: agentName}, daemons); err != nil {
		return "", err
	}
	wanted, status := daemons.Status.DesiredNumberScheduled, daemons.Status
	if status.ObservedGeneration < daemons.Generation || status.UpdatedNumberScheduled < wanted || status.NumberReady < wanted {
		return "", fmt.Errorf("%d of %d agents are updated, %d ready: kubectl describe -n %s daemonset %s",
			status.UpdatedNumberScheduled, wanted, status.NumberReady, i.AgentNamespace, agentName)
	}
	if wanted == 0 {
		return "", errors.New("no node is to have an agent: look at agent.nodeSelector, agent.affinity and agent.tolerations")
	}
	return fmt.Sprintf("%d nodes", wanted), nil
}

// inventories looks whether every node with an agent has an inventory.
func (i Installation) inventories(ctx context.Context) (string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AcceleratorInventoryList"))
	if err := i.Reader.List(ctx, list); err != nil {
		return "", err
	}
	present := map[string]bool{}
	for k := range list.Items {
		present[list.Items[k].Name] = true
	}
	return i.everyNode(ctx, "AcceleratorInventory", present)
}

// heartbeats looks whether every node with an agent has a Lease that holds.
func (i Installation) heartbeats(ctx context.Context) (string, error) {
	leases := &coordinationv1.LeaseList{}
	if err := i.Reader.List(ctx, leases, client.InNamespace(i.AgentNamespace)); err != nil {
		return "", err
	}
	present, now := map[string]bool{}, i.Now()
	for k := range leases.Items {
		present[leases.Items[k].Name] = fresh(&leases.Items[k], now)
	}
	return i.everyNode(ctx, "Lease that holds", present)
}

// maxNamed bounds the nodes that a problem names.
const maxNamed = 5

// everyNode looks whether something is present for every node with an agent.
func (i Installation) everyNode(ctx context.Context, what string, present map[string]bool) (string, error) {
	pods := &corev1.PodList{}
	err := i.Reader.List(ctx, pods, client.InNamespace(i.AgentNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": "rankwright", "app.kubernetes.io/component": "node-agent"})
	if err != nil {
		return "", err
	}
	var missing []string
	nodes := map[string]bool{}
	for k := range pods.Items {
		node := pods.Items[k].Spec.NodeName
		if node == "" || nodes[node] {
			continue
		}
		nodes[node] = true
		if !present[node] {
			missing = append(missing, node)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		named := missing[:min(len(missing), maxNamed)]
		return "", fmt.Errorf("%d of %d nodes with an agent have no %s (%s): look at the logs of the agents there",
			len(missing), len(nodes), what, strings.Join(named, ", "))
	}
	return fmt.Sprintf("%d nodes", len(nodes)), nil
}
