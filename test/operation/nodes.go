package operation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// AddNode makes a node and its inventory, both with their status.
func (w *World) AddNode(node *corev1.Node, status *v1alpha1.AcceleratorInventoryStatus) {
	w.Helper()
	w.Must(w.Create(w.Context(), node))
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	w.Must(w.Create(w.Context(), inventory))
	before := client.MergeFrom(inventory.DeepCopy()) // an operator may have written its cordons again
	inventory.Status = *status
	w.Must(w.Status().Patch(w.Context(), inventory, before))
}

// GPUs returns the status of an inventory of so many healthy devices.
func GPUs(count int) *v1alpha1.AcceleratorInventoryStatus {
	status := &v1alpha1.AcceleratorInventoryStatus{AgentVersion: "test"}
	for i := range count {
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: DeviceID(i), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "Test GPU",
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 81920}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	return status
}

// DeviceID returns the id of a device of GPUs.
func DeviceID(i int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i))
}

// Serve says of every device that Rankwright serves it as a resource.
func Serve(status *v1alpha1.AcceleratorInventoryStatus, resource string) {
	for i := range status.Devices {
		status.Devices[i].Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: resource}
	}
}

// At returns a node's status with an address.
func At(address string) corev1.NodeStatus {
	return corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}
}
