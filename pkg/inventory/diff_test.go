package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestDiff(t *testing.T) {
	since := metav1.Unix(1_700_000_000, 0)
	tests := map[string]struct {
		edit func(*v1alpha1.AcceleratorInventoryStatus)
		want []Change
	}{
		"nothing": {func(*v1alpha1.AcceleratorInventoryStatus) {}, nil},
		"the summary and times only": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.Summary.Devices = 99
				s.Device("nvidia-0000:01:00.0").Health.Since = &since
			},
			nil,
		},
		"health": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.Device("nvidia-0000:01:00.0").Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "Xid79"}
			},
			[]Change{{Kind: Changed, What: "Device", Name: "nvidia-0000:01:00.0", Fields: []FieldChange{
				{Field: "health.reason", New: "Xid79"},
				{Field: "health.state", Old: "Healthy", New: "Unhealthy"},
			}}},
		},
		"fields that go and lists": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				d := s.Device("nvidia-0000:03:00.0")
				d.Memory.UsedByOthersMiB, d.Paths = 0, []string{"/dev/nvidia0", "/dev/nvidiactl"}
				d.Performance.Peak[0].GFLOPS = 1
			},
			[]Change{{Kind: Changed, What: "Device", Name: "nvidia-0000:03:00.0", Fields: []FieldChange{
				{Field: "memory.usedByOthersMiB", Old: "5120"},
				{Field: "paths", New: "/dev/nvidia0 /dev/nvidiactl"},
				{Field: "performance.peak", Old: `[{"gflops":65000,"precision":"FP16"}]`, New: `[{"gflops":1,"precision":"FP16"}]`},
			}}},
		},
		"everything that has a name": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.Devices = s.Devices[1:]
				s.Links.Domains[0].DeviceMBps = 300
				s.Links.Pairs = nil
				s.NICs = []v1alpha1.NIC{{Name: "mlx5_0/1"}}
				s.Storage = []v1alpha1.StorageDevice{{Name: "nvme0n1"}}
				s.Backends = []v1alpha1.BackendStatus{{Name: "nvidia"}}
				s.Host.Kernel = "6.12"
				s.Allocations = nil
			},
			[]Change{
				{Kind: Removed, What: "Device", Name: "amd-cpu0"},
				{Kind: Removed, What: "Link", Name: "ICI google-0000:05:00.0-0 - google-0000:05:00.0-1"},
				{Kind: Changed, What: "Link", Name: "x", Fields: []FieldChange{{Field: "deviceMBps", Old: "200", New: "300"}}},
				{Kind: Added, What: "NIC", Name: "mlx5_0/1"},
				{Kind: Added, What: "Disk", Name: "nvme0n1"},
				{Kind: Added, What: "Backend", Name: "nvidia"},
				{Kind: Changed, What: "Host", Name: "host", Fields: []FieldChange{{Field: "kernel", New: "6.12"}}},
				{Kind: Removed, What: "Allocation", Name: "nvidia-0000:03:00.0: default/a"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			older, newer := mixed(), mixed()
			test.edit(&newer.Status)
			if diff := cmp.Diff(test.want, Diff(&older.Status, &newer.Status)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
