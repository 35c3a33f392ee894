package amd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// cutCard adds a card in a mode, whose KFD node nobody may read, with the nodes that amdgpu makes for so many partitions:
// minors from render on, platform devices from xcp on, named with the separator.
func (s tree) cutCard(place, device, mode string, render, nodes, xcp int, separator string) {
	s.Helper()
	folder := s.Function(place, "amdgpu", amdID(device, "120000"), vram(196592, 8000), compose.Attributes{
		"current_compute_partition": mode, "current_memory_partition": "NPS1", "xgmi_hive_info/xgmi_hive_id": "77", "xgmi_num_hops": "00 01 ",
	})
	s.DRM(folder, fmt.Sprint("renderD", render))
	for part := 1; part < nodes; part++ {
		s.DRM(fmt.Sprint("/sys/devices/platform/amdgpu_xcp", separator, xcp+part-1), fmt.Sprint("renderD", render+part))
	}
}

// Without KFD, as in a container that lacks the render nodes, partitions are found in amdgpu's own files.
func TestAMDPartitionsWithoutKFD(t *testing.T) {
	for name, test := range map[string]struct {
		device, mode, separator string
		parts                   int
	}{
		"CPX of four dies":                   {"74a2", "CPX", "_", 4},
		"CPX of eight dies":                  {"74a1", "CPX", ".", 8},
		"CPX of six dies":                    {"74a0", "CPX", ".", 6},
		"DPX, with nodes of more made ready": {"74a1", "DPX", ".", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.cutCard("pci0000:00/0000:05:00.0", test.device, test.mode, 128, 8, 0, test.separator)
			s.cutCard("pci0000:10/0000:15:00.0", test.device, test.mode, 136, 8, 7, test.separator)
			found := s.Detect(GPU())
			if len(found.Devices) != 2*test.parts || found.Degraded != "" {
				t.Fatalf("%d devices, degraded %q; want %d and no problem", len(found.Devices), found.Degraded, 2*test.parts)
			}
			last := found.Devices[len(found.Devices)-1]
			render := fmt.Sprint("/dev/dri/renderD", 136+test.parts-1)
			if last.ID != v1alpha1.DeviceID(fmt.Sprintf("amd-0000:15:00.0-xcp%d", test.parts-1)) || !slices.Contains(last.Paths, render) || !last.Usable() {
				t.Errorf("got %s with %v, health %+v; want it usable by %s", last.ID, last.Paths, last.Health, render)
			}
			total, used := int64(196592/test.parts), int64(8000/test.parts)
			if m := last.Memory; m.TotalMiB != total || m.UsedByOthersMiB != backend.UsedInSteps(used, total) || last.Partition.Profile != test.mode+"/NPS1" {
				t.Errorf("got %+v of %+v, want an equal part of %d MiB", m, last.Partition, total)
			}
			if len(found.Links.Domains) != 1 || len(found.Links.Domains[0].Members) != len(found.Devices) {
				t.Errorf("got links %+v, want all in one hive", found.Links)
			}
		})
	}
}

// Where the files do not tell which node is which partition, nothing is guessed, and the right that is missing is named.
func TestAMDPartitionsAreNotGuessed(t *testing.T) {
	for name, compose := range map[string]func(s tree){
		"no nodes of partitions":    func(s tree) { s.cutCard("pci0000:00/0000:05:00.0", "74a2", "CPX", 128, 1, 0, "_") },
		"fewer than the mode has":   func(s tree) { s.cutCard("pci0000:00/0000:05:00.0", "74a2", "CPX", 128, 3, 0, "_") },
		"a product of unknown dies": func(s tree) { s.cutCard("pci0000:00/0000:05:00.0", "7499", "CPX", 128, 8, 0, "_") },
		"platform devices of two cards": func(s tree) {
			s.cutCard("pci0000:00/0000:05:00.0", "74a2", "CPX", 128, 2, 0, "_")
			s.DRM("/sys/devices/platform/amdgpu_xcp_7", "renderD130")
			s.DRM("/sys/devices/platform/amdgpu_xcp_8", "renderD131")
		},
		"another card between": func(s tree) {
			s.cutCard("pci0000:00/0000:05:00.0", "74a2", "CPX", 128, 2, 0, "_")
			s.DRM(s.Function("pci0000:20/0000:25:00.0", "amdgpu", mi300x()), "renderD130")
			s.DRM("/sys/devices/platform/amdgpu_xcp_1", "renderD131")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			compose(s)
			found := s.Detect(GPU())
			health := found.Devices[0].Health
			if found.Devices[0].Partition != nil || found.Devices[0].Usable() || health.Reason != "PartitionsUnreadable" || !strings.Contains(health.Message, "/dev/dri/renderD*") {
				t.Errorf("got %+v, want the card to be unusable and the right to be named", found.Devices[0])
			}
		})
	}
}
