package amd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func xdnaID(device string) compose.Attributes {
	return compose.Attributes{"vendor": "0x1022", "device": "0x" + device, "class": "0x118000", "revision": "0x10", "numa_node": "-1"}
}

func TestXDNA(t *testing.T) {
	for name, test := range map[string]struct {
		device, driver string
		files          compose.Attributes
		product        string
		health         string
	}{
		"Strix":              {"17f0", xdnaDriver, compose.Attributes{"vbnv": "RyzenAI-npu4", "fw_version": "1.0.0.63"}, "RyzenAI-npu4", "Healthy Opened"},
		"Strix, newer names": {"17f0", xdnaDriver, compose.Attributes{"vbnv": "NPU Strix", "fw_version": "1.1.2.65"}, "NPU Strix", "Healthy Opened"},
		"Phoenix":            {"1502", xdnaDriver, compose.Attributes{"vbnv": "RyzenAI-npu1"}, "RyzenAI-npu1", "Healthy Opened"},
		"without a driver":   {"17f0", "", nil, "RyzenAI-npu4 (Strix/Krackan/Strix Halo)", "Unknown DriverMissing"},
		"a newer one":        {"1b0b", xdnaDriver, nil, "AMD NPU 1022:1b0b", "Healthy Opened"},
		"an id not known":    {"1cff", xdnaDriver, nil, "AMD NPU 1022:1cff", "Healthy Opened"},
		"no NPU":             {"15e2", "snd_pci_acp6x", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			folder := s.Function("pci0000:00/0000:00:08.2/0000:c5:00.1", test.driver, xdnaID(test.device), test.files)
			if test.driver == xdnaDriver {
				s.Accel(folder, 0)
			}
			found := s.Detect(NPU())
			if test.product == "" {
				if diff := cmp.Diff(backend.Found{}, found); diff != "" {
					t.Error(diff)
				}
				return
			}
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices", len(found.Devices))
			}
			d := found.Devices[0]
			if d.ID != "amd-0000:c5:00.1" || d.Family != v1alpha1.FamilyNPU || d.Product != test.product || d.Memory != nil {
				t.Errorf("got %s %s %q with %+v", d.ID, d.Family, d.Product, d.Memory)
			}
			if d.FirmwareVersion != test.files["fw_version"] {
				t.Errorf("got firmware %q", d.FirmwareVersion)
			}
			if got := strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason); got != test.health {
				t.Errorf("got %s, want %s", got, test.health)
			}
		})
	}
}

// The number of a node in /dev/accel says nothing: another vendor's NPU may have accel0.
func TestXDNANodeIsItsOwn(t *testing.T) {
	s := newTree(t)
	other := s.Function("pci0000:00/0000:00:0b.0", "intel_vpu", compose.Attributes{"vendor": "0x8086", "device": "0x7d1d", "class": "0x120000"})
	npu := s.Function("pci0000:00/0000:00:08.2/0000:c5:00.1", xdnaDriver, xdnaID("17f0"))
	s.Accel(other, 0)
	s.Accel(npu, 1)
	found := s.Detect(NPU())
	if len(found.Devices) != 1 || len(found.Devices[0].Paths) != 1 || found.Devices[0].Paths[0] != "/dev/accel/accel1" {
		t.Errorf("got %+v", found.Devices)
	}
}
