package fleet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// A plan that was made a moment ago holds where what changed is not of its devices.
func TestAPlanIsServedWhereItsDevicesAreAsTheyWere(t *testing.T) {
	plan := planOn("a", "d0")
	plan.Spec.Stages = []v1alpha1.Stage{{PerDevice: v1alpha1.MemoryUse{TotalBytes: 40000 << 20}}}
	allocate := func(device v1alpha1.DeviceID) func(*v1alpha1.AcceleratorInventory, *corev1.Node) {
		return func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) { *i = allocated(*i, device, "stranger") }
	}
	others := func(device int, mib int64) func(*v1alpha1.AcceleratorInventory, *corev1.Node) {
		return func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) {
			i.Status.Devices[device].Memory.UsedByOthersMiB = mib
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.AcceleratorInventory, *corev1.Node)
		want   bool
	}{
		"a new version":                 {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) {}, true},
		"a pod on its device":           {allocate("d0"), false},
		"a pod on another device":       {allocate("d1"), true},
		"less memory, and enough":       {others(0, 6000), true},
		"less memory than it needs":     {others(0, 6100), false},
		"less memory of another device": {others(1, 40000), true},
		"the device fell ill": {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) {
			i.Status.Devices[0].Health.State = v1alpha1.Unhealthy
		}, false},
		"another device fell ill": {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) {
			i.Status.Devices[1].Health.State = v1alpha1.Unhealthy
		}, true},
		"the device is gone": {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) { i.Status.Devices = i.Status.Devices[1:] }, false},
		"a device is being repaired": {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) {
			i.Status.Repairs = []v1alpha1.Repair{{Device: "d0"}}
		}, false},
		"the node was cordoned":      {func(_ *v1alpha1.AcceleratorInventory, n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		"the node has another label": {func(_ *v1alpha1.AcceleratorInventory, n *corev1.Node) { n.Labels["rack"] = "1" }, false},
		"a port is gone":             {func(i *v1alpha1.AcceleratorInventory, _ *corev1.Node) { i.Status.NICs = []v1alpha1.NIC{{Name: "eth0"}} }, false},
	} {
		state := hostOf("a", "1", "d0", "d1")
		s := NewSnapshot(state)
		now := state.Inventories[0].DeepCopy()
		now.ResourceVersion = "2"
		node := state.Nodes[0].DeepCopy()
		node.ResourceVersion = "2"
		c.change(now, node)
		if got := s.Serves("a", NewHost(node, now, false), &plan.Spec); got != c.want {
			t.Errorf("%s: the plan is served: %v, want %v", name, got, c.want)
		}
	}
	if s := NewSnapshot(hostOf("a", "1", "d0")); s.Serves("a", NewHost(nil, nil, false), &plan.Spec) {
		t.Error("the plan is served by a node that is gone")
	}
}
