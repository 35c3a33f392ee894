package nodeagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure/measuretest"
)

// Who holds which device is what was published, and goes with the pod.
func TestDevicesByPodAreMetrics(t *testing.T) {
	m := newMetrics("n", "v1")
	now := published{}
	now.status = status(nil, h100(0), mi300x(0))
	now.status.Allocations = []v1alpha1.Allocation{
		{Device: h100(0).ID, Namespace: "team", Pod: "llm-0", Container: "model", Resource: "nvidia.com/gpu"},
		{Device: h100(0).ID, Namespace: "team", Pod: "llm-1", Container: "model", Resource: "nvidia.com/gpu"},
	}
	m.published(now, nil)
	const holds = "rankwright_device_pod_info{container=model,device=nvidia-0000:10:00.0,namespace=team,node=n,pod=llm-0,resource=nvidia.com/gpu,vendor=nvidia} 1"
	want := []string{holds, "rankwright_device_pod_info{container=model,device=nvidia-0000:10:00.0,namespace=team,node=n,pod=llm-1,resource=nvidia.com/gpu,vendor=nvidia} 1"}
	if diff := cmp.Diff(want, measuretest.Series(t, m.registry, "rankwright_device_pod_info")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now.status.Allocations = now.status.Allocations[:1]
	m.published(now, nil)
	if diff := cmp.Diff(want[:1], measuretest.Series(t, m.registry, "rankwright_device_pod_info")); diff != "" {
		t.Errorf("after a pod went (-want +got):\n%s", diff)
	}
	want = []string{
		"rankwright_device_info{device=amd-0000:80:00.0,driver_version=6.10.5,family=GPU,node=n,partition=,pci=0000:80:00.0,product=AMD Instinct MI300X,uuid=,vendor=amd} 1",
		"rankwright_device_info{device=nvidia-0000:10:00.0,driver_version=570.86.15,family=GPU,node=n,partition=,pci=0000:10:00.0,product=NVIDIA H100 80GB HBM3,uuid=GPU-00000000,vendor=nvidia} 1",
		"rankwright_device_memory_bytes{device=amd-0000:80:00.0,node=n,product=AMD Instinct MI300X,vendor=amd} 2.06141652992e+11",
		"rankwright_device_memory_bytes{device=nvidia-0000:10:00.0,node=n,product=NVIDIA H100 80GB HBM3,vendor=nvidia} 8.5520809984e+10",
	}
	got := append(measuretest.Series(t, m.registry, "rankwright_device_info"), measuretest.Series(t, m.registry, "rankwright_device_memory_bytes")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
