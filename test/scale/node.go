package scale

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apply "k8s.io/client-go/applyconfigurations/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// kwok has the controller of that name, where a cluster has it, keep a Node without a kubelet ready and run its pods.
var kwok = map[string]string{"kwok.x-k8s.io/node": "fake"}

// MakeNode makes a Node that is ready, with the inventory of a synthetic node and what its kubelet reports of its devices.
func MakeNode(ctx context.Context, c client.Client, of *fleet.Node, allocations []v1alpha1.Allocation) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: of.Name, Labels: of.Labels, Annotations: kwok}, Spec: corev1.NodeSpec{ProviderID: "scale://" + of.Name}}
	if err := c.Create(ctx, node); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	room := corev1.ResourceList{corev1.ResourceCPU: *quantity(192), corev1.ResourceMemory: *quantity(2 << 40), corev1.ResourcePods: *quantity(110)}
	for _, resource := range []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"} {
		room[resource] = *quantity(8)
	}
	node.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: of.Address}},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}
	if err := c.Status().Update(ctx, node); err != nil {
		return fmt.Errorf("node status: %w", err)
	}
	made := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: of.Name}}
	if err := c.Create(ctx, made); err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	made.Status = of.Inventory.Status
	made.Status.Allocations = append(made.Status.Allocations, allocations...)
	if err := c.Status().Update(ctx, made); err != nil {
		return fmt.Errorf("inventory status: %w", err)
	}
	return nil
}

// Beat applies the Lease of a node's agent, which is good for an hour and says how busy the devices are, in one request as the agent does.
func Beat(ctx context.Context, c client.Client, node *fleet.Node, now time.Time) error {
	busy := inventory.Utilization{ReadAt: metav1.NewTime(now), Percent: map[v1alpha1.DeviceID]int64{}}
	for i := range node.Inventory.Status.Devices {
		busy.Percent[node.Inventory.Status.Devices[i].ID] = (now.Unix() + int64(i)*17) % 101
	}
	text, err := busy.Text()
	if err != nil {
		return fmt.Errorf("utilization: %w", err)
	}
	lease := apply.Lease(node.Name, AgentNamespace).WithAnnotations(map[string]string{v1alpha1.AnnotationUtilization: text}).WithSpec(apply.LeaseSpec().
		WithHolderIdentity(node.Name).WithLeaseDurationSeconds(3600).WithRenewTime(metav1.NewMicroTime(now)))
	if err := c.Apply(ctx, lease, client.FieldOwner(v1alpha1.NodeAgentFieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	return nil
}
