//go:build linux

package allocations

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/otherplugin"
)

// holds says whether exactly these pods hold devices, each as POD DEVICE.
func holds(want ...string) func(v1alpha1.AcceleratorInventoryStatus) bool {
	return func(status v1alpha1.AcceleratorInventoryStatus) bool {
		var got []string
		for _, a := range status.Allocations {
			if a.Namespace == "default" && a.Container == "model" {
				got = append(got, a.Pod+" "+string(a.Device))
			}
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	}
}

// current says whether the condition AllocationsCurrent has a status.
func current(want bool) func(v1alpha1.AcceleratorInventoryStatus) bool {
	return func(status v1alpha1.AcceleratorInventoryStatus) bool {
		condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAllocationsCurrent)
		return condition != nil && (condition.Status == "True") == want
	}
}

// served says whether every device is served by this one.
func served(service v1alpha1.DeviceService) func(v1alpha1.AcceleratorInventoryStatus) bool {
	return func(status v1alpha1.AcceleratorInventoryStatus) bool {
		return !slices.ContainsFunc(status.Devices, func(d v1alpha1.Device) bool { return d.Service == nil || *d.Service != service })
	}
}

func both(a, b func(v1alpha1.AcceleratorInventoryStatus) bool) func(v1alpha1.AcceleratorInventoryStatus) bool {
	return func(status v1alpha1.AcceleratorInventoryStatus) bool { return a(status) && b(status) }
}

// Another vendor's plugin gives devices out; pods come, the kubelet goes and comes back, pods go.
func TestAnotherPluginsAllocations(t *testing.T) {
	s := startAgent(t)
	service := v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu"}
	p := startPlugin(t, service.Resource, "nvidia-gpu.sock", nil, gpu(0).UUID, gpu(1).UUID)
	s.await("the plugin to be named", both(served(service), current(true)))

	s.startPod("all", service.Resource, 2)
	all := holds("all "+string(gpu(0).ID), "all "+string(gpu(1).ID))
	s.await("the pod to hold both", all)

	p.Spoil(gpu(1).UUID)
	node.Kill("kubelet")
	s.await("a kubelet that is away to be told of", both(all, current(false)))
	if err := node.StartKubelet(); err != nil {
		t.Fatal(err)
	}
	s.await("the kubelet to be back, with the same", both(all, current(true)))
	s.await("the plugin to keep its devices while it is away", served(service))

	s.stopPod("all")
	s.await("the devices to be free", holds())
}

// Ids of ours, with shares, under a resource of ours: the poke of an allocation is answered by the kubelet's knowledge.
func TestOwnAllocations(t *testing.T) {
	s := startAgent(t)
	const resource = "rankwright.dev/nvidia-gpu.shared"
	id := string(gpu(0).ID)
	startPlugin(t, resource, "rankwright.sock", s.agent.Poke, id+"/0", id+"/1")
	s.startPod("one", resource, 1)
	s.await("the first share", holds("one "+id))
	s.startPod("two", resource, 1)
	s.await("the second share", holds("one "+id, "two "+id))
	s.stopPod("one")
	s.stopPod("two")
	s.await("none", holds())
}

// A plugin whose ids nothing tells: the devices are not given to anybody by guess, and the condition names what is unknown.
func TestUnknownAllocations(t *testing.T) {
	s := startAgent(t)
	const resource = "aws.amazon.com/neuroncore"
	startPlugin(t, resource, "neuron.sock", nil, "0")
	s.startPod("core", resource, 1)
	s.await("the condition to name it", func(status v1alpha1.AcceleratorInventoryStatus) bool {
		condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAllocationsCurrent)
		return condition != nil && condition.Reason == "UnknownDevices" && holds()(status) &&
			condition.Message == "pods hold devices of which nothing tells which they are, so they count as free: aws.amazon.com/neuroncore=0"
	})
	s.stopPod("core")
	s.await("nothing to be unknown", current(true))
}

// startPlugin starts another plugin that goes with the test.
func startPlugin(t *testing.T, resource, socket string, allocate func(), ids ...string) *otherplugin.Plugin {
	t.Helper()
	p, err := otherplugin.Start(t.Context(), node.DevicePlugins(), resource, socket, allocate, ids...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}
