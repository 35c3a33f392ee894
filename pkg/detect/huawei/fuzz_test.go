package huawei

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

func FuzzNPUSMI(f *testing.F) {
	f.Add(npuRows(0, "OK", "C1", "3314 / 65536"))
	f.Add("| 1 310P3 | OK | NA 49 0 / 0 |\n| 1 1 | 0000:01:00.0 | 0 1511 / 43693 |\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, chips := range parseNPUSMI(text).chips {
			if !pci.IsAddress(address) || len(chips) == 0 {
				t.Errorf("%q: %+v", address, chips)
			}
			for _, c := range chips {
				if c.usedMiB < 0 || c.usedMiB > c.totalMiB || c.totalMiB > backend.MaxMemoryMiB || c.npu < 0 || c.chip < 0 {
					t.Errorf("%+v", c)
				}
			}
		}
	})
}

func FuzzNPUTopology(f *testing.F) {
	f.Add("\t NPU0 NPU1 CPU Affinity\nNPU0 X HCCS 0-23\nNPU1 HCCS X 0-23\n")
	f.Add("Phy-ID0 Phy-ID1 Phy-ID2\nPhy-ID0 X SIO HCCS_SW\n")
	f.Fuzz(func(t *testing.T, text string) {
		cells := host.Matrix(text, isNPULabel)
		byLabel := map[string]*ascendNPU{}
		for i, c := range cells[:min(len(cells), 64)] {
			if !isNPULabel(c.Row) || !isNPULabel(c.Column) {
				t.Errorf("%+v", c)
			}
			byLabel[c.Row], byLabel[c.Column] = &ascendNPU{chip: i, chips: len(cells) + 1}, &ascendNPU{chip: -i, chips: 2}
		}
		for _, d := range linksOfNPUs(cells[:min(len(cells), 64)], byLabel).Domains {
			if len(d.Members) < 2 {
				t.Errorf("%+v", d)
			}
		}
	})
}
