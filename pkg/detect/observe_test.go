package detect

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestJudged(t *testing.T) {
	off, up := pciCheck{fault: v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: ReasonOffBus}}, pciCheck{evidence: "the PCI function answers"}
	silent := v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "NoAnswer"}
	tests := map[string]struct {
		health v1alpha1.DeviceHealth
		check  pciCheck
		want   string
	}{
		"opened, and on the bus":          {opened(), up, "Healthy "},
		"opened, and nothing else":        {opened(), pciCheck{}, "Unknown NotMonitored"},
		"opened, and off the bus":         {opened(), off, "Unhealthy OffBus"},
		"well, and off the bus":           {healthy("well"), off, "Unhealthy OffBus"},
		"silent, and off the bus":         {silent, off, "Unhealthy OffBus"},
		"silent, and on the bus":          {silent, up, "Unknown NoAnswer"},
		"unmonitored, and on the bus":     {notMonitored("why"), up, "Unknown NotMonitored"},
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
