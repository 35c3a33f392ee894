package amd

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// gtt is the memory of the host that amdgpu can reach for a GPU.
func gtt(totalMiB, usedMiB int64) compose.Attributes {
	return compose.Attributes{"mem_info_gtt_total": fmt.Sprint(totalMiB << 20), "mem_info_gtt_used": fmt.Sprint(usedMiB << 20)}
}

// Graphics of a processor have what the firmware sets aside or what the driver reaches of the host's memory, never both.
func TestAMDSharedMemory(t *testing.T) {
	for name, test := range map[string]struct {
		id, version         string
		carveOut, host      compose.Attributes
		availableMiB        int64
		total, used         int64
		carveOutMiB, gttMiB int64
		health              string
	}{
		"more is set aside than is reached": {
			id: "1586", version: "6.14.0", carveOut: vram(98304, 9000), host: gtt(16384, 100), availableMiB: 20000,
			total: 98304, used: backend.UsedInSteps(9000, 98304), carveOutMiB: 98304, gttMiB: 16384,
		},
		"the host's, which it uses little of": {
			id: "1586", version: "6.14.0", carveOut: vram(512, 500), host: gtt(110592, 12000), availableMiB: 115000,
			total: 110592, used: backend.UsedInSteps(12000, 110592), carveOutMiB: 512, gttMiB: 110592,
		},
		"the host's, which it uses much of": {
			id: "1586", version: "6.14.0", carveOut: vram(512, 500), host: gtt(110592, 100), availableMiB: 30592,
			total: 110592, used: backend.UsedInSteps(80000, 110592), carveOutMiB: 512, gttMiB: 110592,
		},
		"an older driver gives what is set aside": {
			id: "15bf", version: "6.8.0-60-generic", carveOut: vram(4096, 1214), host: gtt(29977, 100), availableMiB: 30000,
			total: 4096, used: backend.UsedInSteps(1214, 4096), carveOutMiB: 4096, gttMiB: 29977,
		},
		"an older driver with little set aside": {
			id: "150e", version: "6.8.0-60-generic", carveOut: vram(512, 490), host: gtt(15679, 100), availableMiB: 30000, health: "NoMemory",
		},
		"graphics for a picture": {
			id: "164e", version: "6.14.0", carveOut: vram(512, 40), host: gtt(32000, 10), availableMiB: 30000, health: "NoMemory",
		},
		"nothing is reported": {id: "163f", version: "6.14.0", availableMiB: 30000, health: "NoMemory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.File("/sys/module/amdgpu/version", test.version+"\n")
			s.File("/proc/meminfo", fmt.Sprintf("MemTotal: 131072000 kB\nMemAvailable: %d kB\n", test.availableMiB<<10))
			s.Function("pci0000:00/0000:00:08.1/0000:c5:00.0", "amdgpu", amdID(test.id, "038000"), test.carveOut, test.host)
			found := s.Detect(GPU())
			checkIDs(t, found, []string{"0000:c5:00.0"})
			device := found.Devices[0]
			var want *v1alpha1.DeviceMemory
			if test.total > 0 {
				want = &v1alpha1.DeviceMemory{
					TotalMiB: test.total, UsedByOthersMiB: test.used, Source: v1alpha1.SourceKernel,
					Shared: &v1alpha1.SharedMemory{CarveOutMiB: test.carveOutMiB, HostMiB: test.gttMiB},
				}
			}
			if diff := cmp.Diff(want, device.Memory); diff != "" {
				t.Error(diff)
			}
			if reason := device.Health.Reason; test.health != "" && reason != test.health || device.Usable() == (test.health != "") {
				t.Errorf("got health %+v", device.Health)
			}
		})
	}
}

func TestAMDIntegratedNames(t *testing.T) {
	for ids, want := range map[[2]string]string{
		{"1586", "c1"}: "AMD Radeon 8060S",
		{"1586", "c2"}: "AMD Radeon 8050S",
		{"1586", "00"}: "AMD Radeon 8060S / 8050S / 8040S (Strix Halo)",
		{"1114", "00"}: "",
	} {
		if got := amdAPUName(ids[0], ids[1]); got != want {
			t.Errorf("%v: got %q, want %q", ids, got, want)
		}
	}
}

// Boards fill up the memory of their names with NUL, and captures the files of the kernel: neither is a part of the text.
func TestAMDTextsFilledUpWithNUL(t *testing.T) {
	const nul = "\x00\x00\x00\x00"
	for name, test := range map[string]struct{ text, want string }{
		"nothing but NUL": {nul, "AMD GPU 1002:73bf"},
		"a name and NUL":  {"AMD Radeon Pro" + nul, "AMD Radeon Pro"},
		"NUL in a name":   {"AMD Radeon" + nul + "\x7fgarbage", "AMD Radeon"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:00/0000:00:01.0/0000:03:00.0", "amdgpu", amdID("73bf", "030000"), compose.Attributes{
				"product_name": test.text, "mem_info_vram_total": "17163091968\n" + nul, "mem_info_vram_used": "668000000\n" + nul, "gpu_busy_percent": "3\n" + nul,
			})
			found := s.Detect(GPU())
			device := found.Devices[0]
			if device.Product != test.want || device.Memory == nil || device.Memory.TotalMiB != 16368 {
				t.Errorf("got %q with %+v, want %q with 16368 MiB", device.Product, device.Memory, test.want)
			}
			if busy := found.Readings[device.ID].UtilizationPercent; busy == nil || *busy != 3 {
				t.Errorf("got utilization %v, want 3", busy)
			}
		})
	}
}
