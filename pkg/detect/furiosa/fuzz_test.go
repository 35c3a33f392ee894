package furiosa

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

func FuzzFuriosaStatus(f *testing.F) {
	f.Add([]byte(`[{"device":"npu0","memory":{"DRAM":{"used_size":0,"total_size":51002736640}},"pe_utilizations":[{"pe_utilization":87.5}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		status, _ := parseFuriosaStatus(text)
		for _, s := range status {
			var npu furiosaNPU
			npu.name = s.Device
			device, reading, _ := npu.device(host.NewRecording().Host().Files, status)
			if m := device.Memory; m != nil && (m.TotalMiB < 1 || m.TotalMiB > backend.MaxMemoryMiB || m.UsedByOthersMiB > m.TotalMiB) {
				t.Errorf("%+v", m)
			}
			if u := reading.UtilizationPercent; u != nil && (*u < 0 || *u > 100) {
				t.Errorf("%d %%", *u)
			}
		}
	})
}
