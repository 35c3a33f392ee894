package hailo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

func TestHailoIsIdentifiedByTheTool(t *testing.T) {
	const head = "Executing on device: 0001:01:00.0\nIdentifying board\nFirmware Version: 4.20.0 (release,app)\nBoard Name: Hailo-8\n"
	for name, test := range map[string]struct {
		device, output            string
		product, firmware, serial string
	}{
		"no tool":        {"2864", "", "Hailo-8 or Hailo-8L", "", ""},
		"Hailo-8":        {"2864", head + "Device Architecture: HAILO8\nSerial Number: <N/A>\n", "Hailo-8", "4.20.0", ""},
		"Hailo-8L":       {"2864", head + "Device Architecture: HAILO8L\nSerial Number: HLDDLBB243201979\n", "Hailo-8L", "4.20.0", "HLDDLBB243201979"},
		"another device": {"2864", "Executing on device: 0000:05:00.0\nDevice Architecture: HAILO8L\n", "Hailo-8 or Hailo-8L", "", ""},
		"Hailo-10H":      {"45c4", "", "Hailo-10H", "", ""},
		"unknown id":     {"beef", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := probe.NewTree(t)
			s.Function("pci0001:00/0001:01:00.0", "hailo", compose.Attributes{"vendor": "0x1e60", "device": "0x" + test.device, "class": "0x0b4000"})
			s.File("/sys/class/hailo_chardev/hailo4/board_location", "0001:01:00.0")
			s.File("/sys/class/hailo_chardev/hailo4/uevent", "DEVNAME=hailo4")
			s.Must(s.AddDevice("/dev/hailo4"))
			if test.output != "" {
				s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(test.output)}, "hailortcli", "fw-control", "identify"))
			}
			d := s.Detect(NPU()).Devices[0]
			if diff := cmp.Diff([]string{test.product, test.firmware, test.serial, "/dev/hailo4"}, []string{d.Product, d.FirmwareVersion, d.UUID, d.Paths[0]}); diff != "" {
				t.Error(diff)
			}
			if d.Memory != nil {
				t.Errorf("memory that nothing reports: %+v", d.Memory)
			}
		})
	}
}
