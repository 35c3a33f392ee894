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
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// intelID are the files by which a function is an Intel GPU.
func intelID(device, class string) compose.Attributes {
	return compose.Attributes{"vendor": "0x8086", "device": "0x" + device, "class": "0x" + class, "revision": "0x00"}
}

func TestCapturedIntelCards(t *testing.T) {
	for name, want := range map[string]struct {
		card, address, driver, product string
		totalMiB, milliC               int64
	}{
		"a380-i915": {"card1", "0000:0b:00.0", "i915", "Intel(R) Arc(TM) A380 Graphics", 6144, 55_000},
		"a380-xe":   {"card0", "0000:08:00.0", "xe", "Intel(R) Arc(TM) A380 Graphics", 6144, 56_000},
		"b580":      {"card1", "0000:09:00.0", "xe", "Intel(R) Arc(TM) B580 Graphics", 12288, 54_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.PlaceCard(compose.Capture(t, "drm-sysfs/intel-"+name+".tar.gz"), want.card, "")
			found := s.Detect(GPU())
			if len(found.Devices) != 1 || found.Degraded != "" {
				t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
			}
			device := found.Devices[0]
			if device.ID != v1alpha1.DeviceID("intel-"+want.address) || device.Driver != want.driver || device.Product != want.product {
				t.Errorf("got %s %q by %s", device.ID, device.Product, device.Driver)
			}
			memory := &v1alpha1.DeviceMemory{TotalMiB: want.totalMiB, Source: v1alpha1.SourceCatalogue}
			if diff := cmp.Diff(memory, device.Memory); diff != "" {
				t.Error(diff)
			}
			if paths := []string{"/dev/dri/" + want.card}; !slices.Equal(device.Paths, paths) || device.Health.State != v1alpha1.Healthy {
				t.Errorf("got paths %v, health %v", device.Paths, device.Health)
			}
			if diff := cmp.Diff(backend.Readings{device.ID: {TemperatureMilliC: &want.milliC}}, found.Readings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const cardPlace = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:03:00.0"

func TestIntelGPUMemory(t *testing.T) {
	catalogue := func(mib int64) *v1alpha1.DeviceMemory {
		return &v1alpha1.DeviceMemory{TotalMiB: mib, Source: v1alpha1.SourceCatalogue}
	}
	kernel := func(mib int64) *v1alpha1.DeviceMemory {
		return &v1alpha1.DeviceMemory{TotalMiB: mib, Source: v1alpha1.SourceKernel}
	}
	window := func(last string) string {
		none := "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		return "0x00000000fb000000 0x00000000fbffffff 0x0000000000140204\n" + none + "0x0000004000000000 " + last + " 0x000000000014220c\n" + none
	}
	for name, test := range map[string]struct {
		place, device, driver string
		files                 compose.Attributes
		want                  *v1alpha1.DeviceMemory
	}{
		"xe with one tile":         {cardPlace, "e20b", "xe", compose.Attributes{"tile0/physical_vram_size_bytes": "12809404416"}, kernel(12216)},
		"xe with two tiles":        {cardPlace, "0bd5", "xe", compose.Attributes{"tile0/physical_vram_size_bytes": "68719476736", "tile1/physical_vram_size_bytes": "68719476736"}, kernel(131072)},
		"Intel's i915":             {cardPlace, "56c0", "i915", compose.Attributes{"drm/card0/lmem_total_bytes": "14953742336"}, kernel(14261)},
		"the kernel's i915":        {cardPlace, "56c0", "i915", compose.Attributes{"sriov_totalvfs": "31"}, catalogue(16384)},
		"a part of a card":         {cardPlace, "56c0", "i915", nil, nil},
		"nonsense":                 {cardPlace, "e20b", "xe", compose.Attributes{"tile0/physical_vram_size_bytes": "-5"}, catalogue(12288)},
		"too much":                 {cardPlace, "e20b", "xe", compose.Attributes{"tile0/physical_vram_size_bytes": "9223372036854775807"}, catalogue(12288)},
		"two sizes, small window":  {cardPlace, "56a0", "i915", compose.Attributes{"resource": window("0x000000400fffffff")}, catalogue(8192)},
		"two sizes, full window":   {cardPlace, "56a0", "i915", compose.Attributes{"resource": window("0x00000043ffffffff")}, catalogue(16384)},
		"a window is no size":      {cardPlace, "e20b", "xe", compose.Attributes{"resource": window("0x000000400fffffff")}, catalogue(12288)},
		"a window that ends first": {cardPlace, "56a0", "i915", compose.Attributes{"resource": window("0x0000000000000000")}, catalogue(8192)},
		"unknown card":             {cardPlace, "e2ff", "xe", nil, nil},
		"graphics of a processor":  {"pci0000:00/0000:00:02.0", "7d55", "i915", compose.Attributes{"tile0/physical_vram_size_bytes": "12809404416"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.DRM(s.Function(test.place, test.driver, intelID(test.device, "030000"), test.files), "card0", "renderD128")
			found := s.Detect(GPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices", len(found.Devices))
			}
			if diff := cmp.Diff(test.want, found.Devices[0].Memory); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIntelGPUPlatforms(t *testing.T) {
	for name, test := range map[string]struct{ place, device, product, architecture string }{
		"Lunar Lake":                      {"pci0000:00/0000:00:02.0", "64a0", "Intel Lunar Lake integrated graphics 8086:64a0", "Lunar Lake"},
		"an old processor":                {"pci0000:00/0000:00:02.0", "3e92", "Intel integrated graphics 8086:3e92", ""},
		"a card with an unknown id":       {cardPlace, "e2ff", "Intel GPU 8086:e2ff", ""},
		"a card in a virtual machine":     {"pci0000:00/0000:00:02.0", "56c0", "Intel(R) Data Center GPU Flex 170", "Alchemist"},
		"a card that only its family has": {cardPlace, "5690", "Intel Alchemist GPU 8086:5690", "Alchemist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.DRM(s.Function(test.place, "xe", intelID(test.device, "030000")), "card0", "renderD128")
			found := s.Detect(GPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices", len(found.Devices))
			}
			if device := found.Devices[0]; device.Product != test.product || device.Architecture != test.architecture {
				t.Errorf("got %q, %q", device.Product, device.Architecture)
			}
		})
	}
}

func TestIntelGPUHealth(t *testing.T) {
	for name, test := range map[string]struct {
		driver string
		nodes  []string
		files  compose.Attributes
		want   string
	}{
		"fine":             {"xe", []string{"card0", "renderD128"}, nil, "Healthy Opened"},
		"no driver":        {"", nil, nil, "Unknown DriverMissing"},
		"of a guest":       {"vfio-pci", nil, nil, "Unknown OtherDriver"},
		"no node":          {"xe", nil, nil, "Unknown DeviceNodeMissing"},
		"did not boot":     {"xe", nil, compose.Attributes{"survivability_mode": "Boot"}, "Unhealthy SurvivabilityMode"},
		"another's nodes":  {"vfio-pci", []string{"card0"}, nil, "Unknown OtherDriver"},
		"i915 has no such": {"i915", []string{"card0"}, compose.Attributes{"survivability_mode": "Boot"}, "Healthy Opened"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.DRM(s.Function(cardPlace, test.driver, intelID("e20b", "030000"), test.files), test.nodes...)
			device := s.Detect(GPU()).Devices[0]
			if got := fmt.Sprint(device.Health.State, " ", device.Health.Reason); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestIntelGPUVirtualFunctions(t *testing.T) {
	s := newTree(t)
	card := s.Function(cardPlace, "xe", intelID("56c0", "038000"))
	s.DRM(card, "card0", "renderD128")
	guest := s.Function(strings.TrimSuffix(cardPlace, "0")+"1", "vfio-pci", intelID("56c0", "038000"))
	s.Link(guest+"/physfn", card)
	found := s.Detect(GPU())
	if len(found.Devices) != 1 || found.Devices[0].ID != "intel-0000:03:00.0" {
		t.Errorf("got %+v, want the card and not the guest's part of it", found.Devices)
	}
}

// discovery is what xpu-smi prints of a card.
const discovery = `Device ID,Device Name,UUID,GFX Firmware Version,PCI BDF Address,Memory Physical Size,GFX Firmware Status
0,"Intel(R) Data Center GPU Flex 170","00000000-0000-0003-0000-000856c08086","DG02_1.3267","0000:03:00.0","14248.00 MiB",normal
`

func (s tree) xpu(stdout string, argv ...string) {
	s.Helper()
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(stdout)}, append([]string{"xpu-smi"}, argv...)...))
}

func TestXPUDetails(t *testing.T) {
	s := newTree(t)
	s.DRM(s.Function(cardPlace, "i915", intelID("56c0", "038000")), "card0", "renderD128")
	s.xpu(discovery, host.XPUDiscovery[1:]...)
	device := s.Detect(GPU()).Devices[0]
	if device.UUID != "00000000-0000-0003-0000-000856c08086" || device.FirmwareVersion != "DG02_1.3267" {
		t.Errorf("got UUID %q, firmware %q", device.UUID, device.FirmwareVersion)
	}
	want := &v1alpha1.DeviceMemory{TotalMiB: 14248, Source: v1alpha1.SourceDriver}
	if diff := cmp.Diff(want, device.Memory); diff != "" {
		t.Error(diff)
	}
}

// The numbers of xpu-smi's properties are not their order, and 18, the width of the memory's bus, is not its size.
func TestXPUColumnsAreReadByTheirHeadings(t *testing.T) {
	devices, err := parseXPUDiscovery([]byte(`Memory Bus Width,PCI BDF Address,Number of EUs,Memory Physical Size,SOC UUID
128,0000:4D:00.0,512,"32768.00 MiB","ABC"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]xpuDevice{"0000:4d:00.0": {uuid: "abc", memoryMiB: 32768}}
	if diff := cmp.Diff(want, devices, cmp.AllowUnexported(xpuDevice{})); diff != "" {
		t.Error(diff)
	}
}

func TestXPUProblemsHideNothing(t *testing.T) {
	for name, test := range map[string]struct {
		compose  func(s tree)
		degraded string
		health   v1alpha1.HealthState
	}{
		"not installed": {func(s tree) { s.AllowCommands() }, "", v1alpha1.Healthy},
		"fails": {func(s tree) {
			s.Must(s.AddCommand(host.CommandResult{ExitCode: 1, Stdout: []byte("Error: Fail to initialize XPUM core")}, host.XPUDiscovery...))
		}, "Fail to initialize XPUM core", v1alpha1.Healthy},
		"nonsense": {func(s tree) { s.xpu("Usage: xpu-smi\n", host.XPUDiscovery[1:]...) }, "no line of headings", v1alpha1.Healthy},
		"another card's": {func(s tree) {
			s.xpu(strings.Replace(discovery, "03:00", "04:00", 1), host.XPUDiscovery[1:]...)
		}, "", v1alpha1.Healthy},
		"in a bad state": {func(s tree) {
			s.xpu(strings.Replace(discovery, ",normal", ",GPU in bad state", 1), host.XPUDiscovery[1:]...)
		}, "", v1alpha1.Unhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.DRM(s.Function(cardPlace, "i915", intelID("56c0", "038000"), compose.Attributes{"sriov_totalvfs": "31"}), "card0", "renderD128")
			test.compose(s)
			found := s.Detect(GPU())
			if len(found.Devices) != 1 || found.Devices[0].Product != "Intel(R) Data Center GPU Flex 170" || found.Devices[0].Memory == nil {
				t.Fatalf("got %+v", found.Devices)
			}
			if found.Devices[0].Health.State != test.health || !strings.Contains(found.Degraded, test.degraded) || (found.Degraded == "") != (test.degraded == "") {
				t.Errorf("got %v, degraded %q", found.Devices[0].Health, found.Degraded)
			}
		})
	}
}

func TestIntelGPUThatMayBeAPart(t *testing.T) {
	s := newTree(t)
	s.DRM(s.Function(cardPlace, "i915", intelID("56c0", "038000")), "card0", "renderD128")
	if found := s.Detect(GPU()); found.Devices[0].Memory != nil || !strings.Contains(found.Degraded, "0000:03:00.0 may be a virtual function") {
		t.Errorf("got memory %v, degraded %q", found.Devices[0].Memory, found.Degraded)
	}
	s.xpu(strings.Replace(discovery, "14248", "2000", 1), host.XPUDiscovery[1:]...)
	if found := s.Detect(GPU()); found.Devices[0].Memory.TotalMiB != 2000 || found.Degraded != "" {
		t.Errorf("got memory %v, degraded %q", found.Devices[0].Memory, found.Degraded)
	}
}
