package nodeagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestMonitoredCondition(t *testing.T) {
	unwatched := func(d *v1alpha1.Device) {
		d.Health = v1alpha1.DeviceHealth{State: "Unknown", Reason: "NotMonitored", Message: "no tool: install one"}
	}
	of := func(vendor string) func(*v1alpha1.Device) {
		return func(d *v1alpha1.Device) { d.Vendor = vendor }
	}
	tests := map[string]struct {
		devices []v1alpha1.Device
		asked   bool
		want    metav1.Condition
	}{
		"no device": {nil, false, metav1.Condition{Type: "Monitored", Status: "True", Reason: "AllDevicesObserved", Message: "the health of every device is observed"}},
		"all, also those with a fault": {
			[]v1alpha1.Device{h100(0), h100(1, in("Unhealthy", "XID79"))},
			false,
			metav1.Condition{Type: "Monitored", Status: "True", Reason: "AllDevicesObserved", Message: "the health of every device is observed"},
		},
		"some": {
			[]v1alpha1.Device{h100(0, unwatched), h100(1, unwatched), h100(2)},
			true,
			metav1.Condition{
				Type: "Monitored", Status: "False", Reason: "DevicesUnobserved",
				Message: "the health of 2 of 3 devices is not known: nvidia-0000:10:00.0, nvidia-0000:11:00.0: NotMonitored: no tool: install one",
			},
		},
		"no driver was asked": {
			[]v1alpha1.Device{h100(0, unwatched), h100(1, unwatched, of("huawei"))},
			false,
			metav1.Condition{
				Type: "Monitored", Status: "False", Reason: "DriversNotAsked",
				Message: "no driver is asked on this node: add huawei to agent.tools.vendors and set agent.nvml.enabled=true in the chart's values " +
					"(docs/operate/drivers.md); the health of 2 of 2 devices is not known: nvidia-0000:10:00.0, nvidia-0000:11:00.0: NotMonitored: no tool: install one",
			},
		},
		"no driver was asked, and none has a tool": {
			[]v1alpha1.Device{h100(0, unwatched, of("groq"))},
			false,
			metav1.Condition{
				Type: "Monitored", Status: "False", Reason: "DevicesUnobserved",
				Message: "the health of 1 of 1 devices is not known: nvidia-0000:10:00.0: NotMonitored: no tool: install one",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, monitoredCondition(tc.devices, tc.asked)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
