package intel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// intelAccel adds an entry of the accel class, of the device at the folder, with the node that the kernel names for it.
func (s tree) intelAccel(folder, name string) {
	s.Helper()
	entry := folder + "/accel/" + name
	s.Link("/sys/class/accel/"+name, entry)
	s.Link(entry+"/device", folder)
	s.File(entry+"/uevent", "MAJOR=261\nDEVNAME=accel/"+name+"\nDEVTYPE=accel_minor\n")
	s.Must(s.AddDevice("/dev/accel/" + name))
}

func TestIntelNPU(t *testing.T) {
	for name, test := range map[string]struct {
		device, driver string
		product        string
		paths          []string
		health         string
	}{
		"Meteor Lake":            {"7d1d", "intel_vpu", "NPU 3720 (Meteor Lake)", []string{"/dev/accel/accel3"}, "Healthy Opened"},
		"Wildcat Lake":           {"fd3e", "intel_vpu", "Intel NPU Wildcat Lake", []string{"/dev/accel/accel3"}, "Healthy Opened"},
		"unknown id, its driver": {"ffff", "intel_vpu", "Intel NPU 8086:ffff", []string{"/dev/accel/accel3"}, "Healthy Opened"},
		"no driver":              {"643e", "", "NPU4 (Lunar Lake)", nil, "Unknown DriverMissing"},
		"of a guest":             {"643e", "vfio-pci", "NPU4 (Lunar Lake)", nil, "Unknown OtherDriver"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			folder := s.Function("pci0000:00/0000:00:0b.0", test.driver, intelID(test.device, "120000"))
			if test.driver == intelNPUDriver {
				s.intelAccel(folder, "accel3")
			}
			found := s.Detect(NPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices", len(found.Devices))
			}
			device := found.Devices[0]
			if device.ID != "intel-0000:00:0b.0" || device.Family != v1alpha1.FamilyNPU || device.Product != test.product || device.Memory != nil {
				t.Errorf("got %s %s %q with memory %v", device.ID, device.Family, device.Product, device.Memory)
			}
			if health := fmt.Sprint(device.Health.State, " ", device.Health.Reason); health != test.health || !slices.Equal(device.Paths, test.paths) {
				t.Errorf("got health %s, paths %v", health, device.Paths)
			}
			if len(test.paths) > 0 && (device.Index == nil || *device.Index != 3) {
				t.Errorf("got index %v", device.Index)
			}
		})
	}
}

// The driver makes no entry of the misc class; whoever looks for one there finds nothing, or what is no NPU.
func TestIntelNPUIsNotOfTheMiscClass(t *testing.T) {
	s := newTree(t)
	s.Folder("/sys/class/misc/intel_npu")
	if diff := cmp.Diff(backend.Found{}, s.Detect(NPU())); diff != "" {
		t.Error(diff)
	}
}

// The accel class has accelerators of other vendors, and Intel's bus other functions of the same class.
func TestIntelNPUIsNotAnotherAccelerator(t *testing.T) {
	s := newTree(t)
	s.intelAccel(s.Function("pci0000:00/0000:00:01.0", "amdxdna", compose.Attributes{"vendor": "0x1022", "device": "0x7d1d", "class": "0x118000"}), "accel0")
	s.intelAccel(s.Function("pci0000:00/0000:00:02.0", "habanalabs", compose.Attributes{"vendor": "0x1da3", "device": "0x1020", "class": "0x120000"}), "accel1")
	s.Function("pci0000:00/0000:00:03.0", "idxd", intelID("0b25", "088000"))
	s.Function("pci0000:00/0000:00:04.0", "", intelID("4944", "120000"))
	if diff := cmp.Diff(backend.Found{}, s.Detect(NPU())); diff != "" {
		t.Error(diff)
	}
}
