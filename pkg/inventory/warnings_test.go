package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestWarnings(t *testing.T) {
	status := mixed().Status
	status.Backends = []v1alpha1.BackendStatus{
		{Name: "amd", State: v1alpha1.BackendAbsent},
		{Name: "cpu", State: v1alpha1.BackendFound},
		{Name: "gaudi", State: v1alpha1.BackendDegraded, ErrorKind: v1alpha1.ErrorToolNotFound, Message: "hl-smi"},
		{Name: "nvidia", State: v1alpha1.BackendFailed, ErrorKind: v1alpha1.ErrorTimeout, Message: "hangs"},
	}
	same := v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "Xid79"}
	status.Device("nvidia-0000:03:00.0").Health = same
	status.Device("amd-cpu0").Health = v1alpha1.DeviceHealth{State: v1alpha1.Unknown}
	want := []Warning{
		{Backend: "gaudi", State: "Degraded", Reason: "ToolNotFound", Message: "hl-smi"},
		{Backend: "nvidia", State: "Failed", Reason: "Timeout", Message: "hangs"},
		{Devices: []v1alpha1.DeviceID{"nvidia-0000:02:00.0", "nvidia-0000:03:00.0"}, State: "Unhealthy", Reason: "Xid79"},
		{Devices: []v1alpha1.DeviceID{"intel-0000:00:0b.0"}, State: "Unknown", Reason: "DriverMissing"},
	}
	if diff := cmp.Diff(want, Warnings(&status)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
