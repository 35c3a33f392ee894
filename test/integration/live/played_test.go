package live

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// takeDevice gives a device to a pod of no placement.
func (w *world) takeDevice(node, name string) {
	w.Helper()
	w.Must(w.Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "jupyter", Image: "jupyter"}}},
	}))
	inventory := w.inventory(node)
	w.Change(inventory, func() {
		inventory.Status.Allocations = []v1alpha1.Allocation{{Device: inventory.Status.Devices[2].ID, Namespace: "team-b", Pod: name, Container: "jupyter"}}
	})
}

func (w *world) spoilDevice(node string) {
	w.Helper()
	inventory := w.inventory(node)
	w.Change(inventory, func() {
		inventory.Status.Devices[2].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "XID79", Message: "GPU has fallen off the bus"}
	})
}

func (w *world) mendDevice(node string) {
	w.Helper()
	inventory := w.inventory(node)
	w.Change(inventory, func() { inventory.Status.Devices[2].Health = v1alpha1.DeviceHealth{State: v1alpha1.Healthy} })
}

// endPod is the kubelet that ends a pod which was deleted, and the agent that sees its devices free.
func (w *world) endPod(namespace, name, node string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.Eventually("pod "+name+" is deleted", func(ctx context.Context) bool {
		err := w.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if err == nil && !pod.DeletionTimestamp.IsZero() {
			err = w.Delete(ctx, pod, client.GracePeriodSeconds(0))
		}
		w.Must(client.IgnoreNotFound(err))
		return apierrors.IsNotFound(err)
	})
	inventory := w.inventory(node)
	w.Change(inventory, func() { inventory.Status.Allocations = nil })
}

// freeClaim does what the controller of claims does once no pod uses one.
func (w *world) freeClaim(name string) {
	w.Helper()
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: waiting, Name: name}}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(claim), claim))
	w.Change(claim, func() { claim.Status = resourcev1.ResourceClaimStatus{} })
}

func (w *world) cordonNode(name string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(node), node))
	node.Spec.Unschedulable = true
	w.Must(w.Update(w.Context(), node))
}

// offerDevices has a DRA driver offer the devices of a node, of which a claim of somebody else gets the first.
func (w *world) offerDevices(node string) {
	w.Helper()
	const driver = "gpu.example.com"
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
	}}
	inventory := w.inventory(node)
	w.Change(inventory, func() {
		for i := range inventory.Status.Devices {
			d := &inventory.Status.Devices[i]
			uuid := node + string(d.ID)
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name: "gpu-" + string(rune('0'+i)), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"uuid": {StringValue: &uuid}},
			})
			d.Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByDRA, Resource: driver}
			d.ClaimAttribute = &v1alpha1.ClaimAttribute{Name: driver + "/uuid", String: &uuid}
		}
	})
	w.Must(w.Create(w.Context(), slice))
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DRADeviceClass}}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), class)))
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: waiting, Name: "other"},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "any", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: v1alpha1.DRADeviceClass}}}}},
	}
	w.Must(w.Create(w.Context(), claim))
	w.Must(w.Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: waiting, Name: "other"},
		Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "any", ResourceClaimName: &claim.Name}},
			Containers:     []corev1.Container{{Name: "c", Image: "c", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "any"}}}}},
			Tolerations:    []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}))
	w.Eventually("the claim of somebody else has a device", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(claim), claim))
		return claim.Status.Allocation != nil
	})
}
