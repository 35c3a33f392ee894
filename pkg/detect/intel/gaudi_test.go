package intel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// gaudiID are the files by which a function is a Gaudi.
func gaudiID(device string) compose.Attributes {
	return compose.Attributes{"vendor": "0x1da3", "device": "0x" + device, "class": "0x120000", "revision": "0x01", "numa_node": "0"}
}

// gaudi adds a card whose driver is in the accel class, as Intel's current driver is: compose.Attributes in the card's own folder.
func (s tree) gaudi(number int, device string, files ...compose.Attributes) {
	s.Helper()
	place := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", 0x10*number, 0x10*number, 0x10*number+3)
	folder := s.Function(place, "habanalabs", append([]compose.Attributes{gaudiID(device)}, files...)...)
	s.intelAccel(folder, fmt.Sprint("accel", number))
	control := fmt.Sprint("accel_controlD", number)
	s.File("/sys/devices/virtual/accel/"+control+"/uevent", "DEVNAME=accel/"+control+"\n")
	s.Link("/sys/class/accel/"+control, "/sys/devices/virtual/accel/"+control)
	s.Must(s.AddDevice("/dev/accel/" + control))
}

func gaudiModule(number int, status string) compose.Attributes {
	return compose.Attributes{"module_id": fmt.Sprint(number), "status": status, "cpucp_ver": "hl-gaudi2-1.18.0-fw-53.1.1.1-sec-9"}
}

func (s tree) hlsmi(lines ...string) {
	s.Helper()
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(strings.Join(lines, "\n") + "\n")}, host.GaudiQuery...))
}

func TestGaudiByTheKernelAlone(t *testing.T) {
	for name, test := range map[string]struct {
		device, product, architecture string
		memory                        *v1alpha1.DeviceMemory
	}{
		"Gaudi2":      {"1020", "HL-225 (Gaudi2)", "Gaudi2", &v1alpha1.DeviceMemory{TotalMiB: 96 << 10, Source: v1alpha1.SourceCatalogue}},
		"Gaudi3":      {"1060", "HL-325L (Gaudi3 OAM)", "Gaudi3", &v1alpha1.DeviceMemory{TotalMiB: 128 << 10, Source: v1alpha1.SourceCatalogue}},
		"Gaudi":       {"1000", "Intel Gaudi 1da3:1000", "Gaudi", nil},
		"secured":     {"1010", "Intel Gaudi 1da3:1010", "Gaudi", nil},
		"Goya":        {"0001", "Intel Goya 1da3:0001", "Goya", nil},
		"another one": {"1080", "Intel accelerator 1da3:1080", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.gaudi(2, test.device, gaudiModule(5, "Operational"))
			found := s.Detect(Gaudi())
			if len(found.Devices) != 1 || found.Degraded != "" || len(found.Links.Domains) != 0 {
				t.Fatalf("got %+v", found)
			}
			device := found.Devices[0]
			if device.ID != "intel-0000:23:00.0" || device.Vendor != "intel" || device.Family != v1alpha1.FamilyASIC ||
				device.Product != test.product || device.Architecture != test.architecture || device.FirmwareVersion != "hl-gaudi2-1.18.0-fw-53.1.1.1-sec-9" {
				t.Errorf("got %+v", device)
			}
			if diff := cmp.Diff(test.memory, device.Memory); diff != "" {
				t.Error(diff)
			}
			if paths := []string{"/dev/accel/accel2", "/dev/accel/accel_controlD2"}; !slices.Equal(device.Paths, paths) || *device.Index != 2 || device.Health.State != v1alpha1.Healthy {
				t.Errorf("got paths %v, index %v, health %v", device.Paths, device.Index, device.Health)
			}
		})
	}
}

// Older drivers have a class of their own, whose entries belong to no device.
func TestGaudiOfTheOldClass(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:33:00.0", "habanalabs", gaudiID("1020"))
	s.Function("pci0000:00/0000:34:00.0", "habanalabs", gaudiID("1020"))
	for name, files := range map[string]compose.Attributes{
		"hl1":          {"pci_addr": "0000:33:00.0\n", "status": "In reset\n", "module_id": "4\n", "armcp_ver": "1.7.0\n", "uevent": "DEVNAME=hl1\n"},
		"hl_controlD1": {"pci_addr": "0000:33:00.0\n", "uevent": "DEVNAME=hl_controlD1\n"},
		"hl0":          {"pci_addr": "0000:34:00.0\n", "status": "Malfunction\n", "uevent": "DEVNAME=hl0\n"},
	} {
		for file, content := range files {
			s.File("/sys/devices/virtual/habanalabs/"+name+"/"+file, content)
		}
		s.Link("/sys/class/habanalabs/"+name, "/sys/devices/virtual/habanalabs/"+name)
		s.Must(s.AddDevice("/dev/" + name))
	}
	found := s.Detect(Gaudi())
	if len(found.Devices) != 2 {
		t.Fatalf("got %d devices", len(found.Devices))
	}
	a, b := found.Devices[0], found.Devices[1]
	if !slices.Equal(a.Paths, []string{"/dev/hl1", "/dev/hl_controlD1"}) || a.Health.Reason != "InReset" || a.FirmwareVersion != "1.7.0" {
		t.Errorf("got %+v", a)
	}
	if !slices.Equal(b.Paths, []string{"/dev/hl0"}) || b.Health.State != v1alpha1.Unhealthy || b.Health.Reason != "Malfunction" {
		t.Errorf("got %+v", b)
	}
}

func TestGaudiHealth(t *testing.T) {
	for status, want := range map[string]string{
		"Operational": "Healthy ", "In reset": "Degraded InReset", "In device creation": "Degraded Starting",
		"In reset after device release": "Degraded InReset", "Needs reset": "Unhealthy NeedsReset", "Disabled": "Unhealthy Disabled",
		"Malfunction": "Unhealthy Malfunction", "On holiday": "Unknown UnknownStatus",
	} {
		s := newTree(t)
		s.gaudi(0, "1020", gaudiModule(0, status))
		device := s.Detect(Gaudi()).Devices[0]
		if got := fmt.Sprint(device.Health.State, " ", device.Health.Reason); got != want {
			t.Errorf("%s: got %s, want %s", status, got, want)
		}
	}
}

func TestGaudiWithoutItsDriver(t *testing.T) {
	for driver, want := range map[string]string{"": "DriverMissing", "vfio-pci": "OtherDriver"} {
		s := newTree(t)
		s.Function("pci0000:00/0000:33:00.0", driver, gaudiID("1020"))
		s.hlsmi("0000:33:00.0, 0, x, HL-225, 98304, 768, 30, 90, 0")
		found := s.Detect(Gaudi())
		if len(found.Devices) != 1 || found.Devices[0].Health.Reason != want || found.Devices[0].UUID != "" {
			t.Errorf("%q: got %+v", driver, found.Devices)
		}
	}
}

// The first field tells which card a line is about, not the order: hl-smi lists cards as they started.
func TestGaudiDetailsAreMatchedByAddress(t *testing.T) {
	s := newTree(t)
	s.gaudi(0, "1020", gaudiModule(0, "Operational"))
	s.gaudi(1, "1020", gaudiModule(1, "Operational"))
	s.hlsmi("0000:13:00.0, 1, 01P0-HL2080A0-15-TNAQ89-03-07-00, HL-225, 98304, 50000, 41, 310, 77", "a warning, of some kind",
		"0000:03:00.0, 0, 01P0-HL2080A0-15-TNAQ89-03-07-01, HL-225, 98304, 768, N/A, 5000000, 101")
	found := s.Detect(Gaudi())
	busy, idle := found.Devices[1], found.Devices[0]
	if busy.UUID != "01P0-HL2080A0-15-TNAQ89-03-07-00" || busy.Product != "HL-225 (Gaudi2)" || busy.Performance == nil {
		t.Errorf("got %+v", busy)
	}
	want := &v1alpha1.DeviceMemory{TotalMiB: 98304, UsedByOthersMiB: backend.UsedInSteps(50000, 98304), Source: v1alpha1.SourceDriver}
	if diff := cmp.Diff(want, busy.Memory); diff != "" {
		t.Error(diff)
	}
	number := func(n int64) *int64 { return &n }
	readings := backend.Readings{
		busy.ID: {MemoryUsedMiB: number(50000), TemperatureMilliC: number(41_000), PowerMilliW: number(310_000), UtilizationPercent: number(77)},
		idle.ID: {MemoryUsedMiB: number(768)},
	}
	if diff := cmp.Diff(readings, found.Readings); diff != "" {
		t.Error(diff)
	}
}

func TestGaudiToolProblemsHideNothing(t *testing.T) {
	for name, test := range map[string]struct {
		result   host.CommandResult
		degraded string
	}{
		"fails":    {host.CommandResult{ExitCode: 1, Stderr: []byte("no AIPs available")}, "no AIPs available"},
		"nonsense": {host.CommandResult{Stdout: []byte("index,module_id\n1,2,3,4,5,6,7,8,9\n")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.gaudi(0, "1020", gaudiModule(0, "Operational"))
			s.Must(s.AddCommand(test.result, host.GaudiQuery...))
			found := s.Detect(Gaudi())
			if len(found.Devices) != 1 || found.Devices[0].Memory.TotalMiB != 96<<10 || !strings.Contains(found.Degraded, test.degraded) {
				t.Errorf("got %+v, degraded %q", found.Devices, found.Degraded)
			}
		})
	}
}

func TestGaudiLinks(t *testing.T) {
	for name, test := range map[string]struct {
		device        string
		modules       []int
		peer, device8 int64
	}{
		"eight Gaudi2":               {"1020", []int{0, 1, 2, 3, 4, 5, 6, 7}, 37_500, 262_500},
		"eight Gaudi3":               {"1060", []int{7, 6, 5, 4, 3, 2, 1, 0}, 75_000, 525_000},
		"eight Gaudi3 in PCIe slots": {"1063", []int{0, 1, 2, 3, 4, 5, 6, 7}, 0, 0},
		"seven":                      {"1020", []int{0, 1, 2, 3, 4, 5, 6}, 0, 0},
		"a module twice":             {"1020", []int{0, 1, 2, 3, 4, 5, 6, 6}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			for i, number := range test.modules {
				s.gaudi(i, test.device, gaudiModule(number, "Operational"))
			}
			found := s.Detect(Gaudi())
			if test.peer == 0 {
				if diff := cmp.Diff(v1alpha1.Links{}, found.Links); diff != "" {
					t.Error(diff)
				}
				return
			}
			want := v1alpha1.LinkDomain{
				Name: "roce-0000:03:00.0", Kind: "RoCE", Topology: v1alpha1.TopologyMesh, PeerMBps: test.peer, DeviceMBps: test.device8,
			}
			for _, d := range found.Devices {
				want.Members = append(want.Members, d.ID)
			}
			if diff := cmp.Diff([]v1alpha1.LinkDomain{want}, found.Links.Domains); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzHLSMI(f *testing.F) {
	f.Add("0000:33:00.0, 0, 01P0-HL2080A0-15-TNAQ89-03-07-00, HL-225, 98304, 768, 30, 90, 0\n")
	f.Add("0000:33:00.0,,,,NaN,-1,1e300,Inf,0x1p-2\n")
	f.Fuzz(func(t *testing.T, text string) {
		for address, d := range parseHLSMI(text) {
			if !pci.IsAddress(address) || d.totalMiB < 0 || d.totalMiB > backend.MaxMemoryMiB {
				t.Errorf("%s: %+v", address, d)
			}
			for _, n := range []*int64{d.reading.MemoryUsedMiB, d.reading.TemperatureMilliC, d.reading.PowerMilliW, d.reading.UtilizationPercent} {
				if n != nil && *n < 0 {
					t.Errorf("%s: %d", address, *n)
				}
			}
		}
	})
}
