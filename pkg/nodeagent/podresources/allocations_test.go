package podresources

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
)

func held(resource string, ids ...string) []*podresourcesv1.ContainerDevices {
	return []*podresourcesv1.ContainerDevices{{ResourceName: resource, DeviceIds: ids}}
}

func pod(name string, containers ...*podresourcesv1.ContainerResources) *podresourcesv1.PodResources {
	return &podresourcesv1.PodResources{Namespace: "models", Name: name, Containers: containers}
}

func container(name string, devices []*podresourcesv1.ContainerDevices, claims ...*podresourcesv1.DynamicResource) *podresourcesv1.ContainerResources {
	return &podresourcesv1.ContainerResources{Name: name, Devices: devices, DynamicResources: claims}
}

func TestAllocations(t *testing.T) {
	row := func(device v1alpha1.DeviceID, pod, container, resource string) v1alpha1.Allocation {
		return v1alpha1.Allocation{Device: device, Namespace: "models", Pod: pod, Container: container, Resource: resource}
	}
	tests := []struct {
		about   string
		pods    []*podresourcesv1.PodResources
		want    []v1alpha1.Allocation
		unknown []Name
	}{
		{about: "no pod"},
		{about: "a pod without devices", pods: []*podresourcesv1.PodResources{pod("a", container("c", nil))}},
		{
			about: "two pods share a device; shares of one container are one row",
			pods: []*podresourcesv1.PodResources{
				pod("b", container("c", held("nvidia.com/gpu", gpuUUID+"::0", gpuUUID+"::1"))),
				pod("a", container("c", held("nvidia.com/gpu", gpuUUID+"::2"))),
			},
			want: []v1alpha1.Allocation{row("nvidia-0000:17:00.0", "a", "c", "nvidia.com/gpu"), row("nvidia-0000:17:00.0", "b", "c", "nvidia.com/gpu")},
		},
		{
			about: "a device of two NUMA nodes is said twice",
			pods: []*podresourcesv1.PodResources{pod("a", container("c", append(
				held("amd.com/gpu", "0000:27:00.0"), held("amd.com/gpu", "0000:27:00.0")...)))},
			want: []v1alpha1.Allocation{row("amd-0000:27:00.0", "a", "c", "amd.com/gpu")},
		},
		{
			about: "a claim",
			pods: []*podresourcesv1.PodResources{pod("a", container("c", nil, &podresourcesv1.DynamicResource{
				ClaimName: "gpu", ClaimNamespace: "models",
				ClaimResources: []*podresourcesv1.ClaimResource{{DriverName: "gpu.nvidia.com", PoolName: "node-1", DeviceName: "gpu-0"}},
			}))},
			want: []v1alpha1.Allocation{row("nvidia-0000:17:00.0", "a", "c", "gpu.nvidia.com")},
		},
		{
			about: "claims of our own driver, one of a device that is gone",
			pods: []*podresourcesv1.PodResources{pod("a", container("c", nil, &podresourcesv1.DynamicResource{
				ClaimResources: []*podresourcesv1.ClaimResource{
					{DriverName: v1alpha1.DRADriver, PoolName: "node-1", DeviceName: devicename.Of("nvidia-0000:17:00.0")},
					{DriverName: v1alpha1.DRADriver, PoolName: "node-1", DeviceName: "gone"},
				},
			}))},
			want:    []v1alpha1.Allocation{row("nvidia-0000:17:00.0", "a", "c", v1alpha1.DRADriver)},
			unknown: []Name{{v1alpha1.ServedByDRA, v1alpha1.DRADriver, "node-1", "gone"}},
		},
		{
			about:   "what nothing tells is named once",
			pods:    []*podresourcesv1.PodResources{pod("a", container("c", held("nvidia.com/gpu", "GPU-x")), container("d", held("nvidia.com/gpu", "GPU-x")))},
			unknown: []Name{plugin("nvidia.com/gpu", "GPU-x")},
		},
		{
			about: "what is no accelerator is not named",
			pods:  []*podresourcesv1.PodResources{pod("a", container("c", held("example.com/fuse", "fuse-1")))},
		},
		{
			about: "sight of all devices holds none",
			pods:  []*podresourcesv1.PodResources{pod("a", container("c", held("gpu.intel.com/i915_monitoring", "all")))},
		},
	}
	for _, tc := range tests {
		t.Run(tc.about, func(t *testing.T) {
			got := NewHardware(host, nil).Allocations(newAnswer(tc.pods, nil).Grants)
			if diff := cmp.Diff(Allocations{Rows: tc.want, Unknown: tc.unknown}, got); diff != "" {
				t.Errorf("allocations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryHeldDeviceHasARow(t *testing.T) {
	devices := make([]v1alpha1.Device, 64)
	var grants []Grant
	for i := range devices {
		devices[i] = device("nvidia", v1alpha1.FamilyGPU, i)
		for share := range 100 {
			grants = append(grants, Grant{
				"models", fmt.Sprintf("p-%d", share), "c", "", plugin("rankwright.dev/nvidia-gpu", fmt.Sprintf("%s/%d", devices[i].ID, share)),
			})
		}
	}
	got := NewHardware(devices, nil).Allocations(grants)
	if len(got.Rows) != MaxAllocations || got.Omitted != 6400-MaxAllocations {
		t.Errorf("%d rows and %d omitted, want %d and %d", len(got.Rows), got.Omitted, MaxAllocations, 6400-MaxAllocations)
	}
	rows := map[v1alpha1.DeviceID]int{}
	for _, row := range got.Rows {
		rows[row.Device]++
	}
	if len(rows) != len(devices) {
		t.Errorf("%d of %d devices have a row", len(rows), len(devices))
	}
}
