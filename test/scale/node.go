package scale

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// MakeNode makes a Node that is ready, with the inventory of a synthetic node and what its kubelet reports of its devices.
func MakeNode(ctx context.Context, c client.Client, of *fleet.Node, allocations []v1alpha1.Allocation) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: of.Name, Labels: of.Labels}, Spec: corev1.NodeSpec{ProviderID: "scale://" + of.Name}}
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
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: of.Name}}
	if err := c.Create(ctx, inventory); err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	inventory.Status = of.Inventory.Status
	inventory.Status.Allocations = append(inventory.Status.Allocations, allocations...)
	if err := c.Status().Update(ctx, inventory); err != nil {
		return fmt.Errorf("inventory status: %w", err)
	}
	return nil
}

// Beat writes the Lease of a node's agent, which is good for an hour.
func Beat(ctx context.Context, c client.Client, node string, now time.Time) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: AgentNamespace, Name: node}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &node, LeaseDurationSeconds: ptr.To(int32(3600)), RenewTime: &metav1.MicroTime{Time: now},
	}
	err := c.Create(ctx, lease)
	if client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("lease: %w", err)
	}
	if err != nil {
		err = c.Update(ctx, lease)
	}
	return err
}
