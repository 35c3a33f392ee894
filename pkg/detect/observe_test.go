package detect

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func TestJudged(t *testing.T) {
	off, up := pci.Check{Fault: v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: pci.ReasonOffBus}}, pci.Check{Evidence: "the PCI function answers"}
	silent := v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "NoAnswer"}
	tests := map[string]struct {
		health v1alpha1.DeviceHealth
		check  pci.Check
		want   string
	}{
		"opened, and on the bus":          {backend.Opened(), up, "Healthy "},
		"opened, and nothing else":        {backend.Opened(), pci.Check{}, "Unknown NotMonitored"},
		"opened, and off the bus":         {backend.Opened(), off, "Unhealthy OffBus"},
		"well, and off the bus":           {backend.Healthy("well"), off, "Unhealthy OffBus"},
		"silent, and off the bus":         {silent, off, "Unhealthy OffBus"},
		"silent, and on the bus":          {silent, up, "Unknown NoAnswer"},
		"unmonitored, and on the bus":     {backend.NotMonitored("why"), up, "Unknown NotMonitored"},
		"its backend knows what is wrong": {v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "GPULost"}, off, "Unhealthy GPULost"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := judged(tc.health, tc.check)
			if text := string(got.State) + " " + got.Reason; text != tc.want {
				t.Errorf("%+v, want %s", got, tc.want)
			}
		})
	}
}
