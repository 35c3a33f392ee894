package detect_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// The tests of this file are named after defects of an earlier detector, each of which is told above its test.

// withoutTools detects by what the kernel shows.
func withoutTools(t *testing.T, host *compose.Host, backends ...detect.Backend) v1alpha1.AcceleratorInventoryStatus {
	t.Helper()
	return detect.Detect(t.Context(), &detect.Host{Files: hostOf(t, host).Files}, detect.Options{Backends: backends}).Status
}

// onlyDevice is the one device of a status.
func onlyDevice(t *testing.T, status v1alpha1.AcceleratorInventoryStatus) v1alpha1.Device {
	t.Helper()
	if len(status.Devices) != 1 {
		t.Fatalf("%d devices, want 1: %+v", len(status.Devices), status.Devices)
	}
	return status.Devices[0]
}

// amdAt is a GPU of AMD on a host bridge of its own, with files of amdgpu's.
func amdAt(address, ids, revision string, files map[string]string) compose.Function {
	class := "120000"
	if revision != "00" {
		class = "030000"
	}
	return compose.Function{
		Place: fmt.Sprintf("pci%s/%s", address[:7], address), IDs: ids, Class: class, Revision: revision, Driver: "amdgpu", NUMA: -1, Extra: files,
	}
}

// xgmi_hive_info was read as a file, so that no hive was ever found in sysfs and a slow tool was asked instead.
func TestXGMIHiveInfoIsAFolder(t *testing.T) {
	host := compose.New("hive")
	hive := map[string]string{
		"xgmi_hive_info/xgmi_hive_id": "15188982192727901047", "xgmi_num_hops": "00 01 ", "mem_info_vram_total": fmt.Sprint(196592 << 20),
	}
	host.PCI(amdAt("0000:05:00.0", "1002:74a1 1002:74a1", "00", hive), amdAt("0000:27:00.0", "1002:74a1 1002:74a1", "00", hive))
	links := withoutTools(t, host, detect.AMD()).Links
	if len(links.Domains) != 1 || len(links.Domains[0].Members) != 2 || links.Domains[0].PeerMBps != 64_000 {
		t.Errorf("got %+v", links)
	}
}

// Any /dev/accelN was a TPU of one v5e chip.
func TestAccelNodeOfAnotherVendorIsNoTPU(t *testing.T) {
	host := compose.New("accel")
	for i, ids := range []string{"1022:17f0 1022:17f0", "1da3:1020 1da3:0000", "8086:7d1d 8086:0000", "1ae0:0042 1ae0:0058"} {
		f := compose.Function{Place: fmt.Sprintf("pci0000:00/0000:00:%02x.0", 4+i), IDs: ids, Class: "120000", Revision: "00", Driver: "some", NUMA: -1}
		host.PCI(f)
		name := fmt.Sprint("accel", i)
		host.Link(f.Folder()+"/accel/"+name+"/device", "../../../"+f.Address())
		host.Link("/sys/class/accel/"+name, "../../devices/"+f.Place+"/accel/"+name)
		host.Device("/dev/" + name)
	}
	if status := withoutTools(t, host, detect.TPU()); len(status.Devices) != 0 {
		t.Errorf("got %+v", status.Devices)
	}
}

// Generation and number of chips were read from attributes that no driver has; what lacked them was a v5e.
func TestTPUGenerationIsItsPCIID(t *testing.T) {
	host := compose.New("v5p")
	host.PCI(compose.Function{
		Place: "pci0000:00/0000:00:04.0", IDs: "1ae0:0062 1ae0:0000", Class: "ff0000", Revision: "00", Driver: "vfio-pci", NUMA: -1,
		Extra: map[string]string{"tpu_version": "v4", "chip_count": "256"},
	})
	d := onlyDevice(t, withoutTools(t, host, detect.TPU()))
	if d.Architecture != "v5p" || d.Memory.TotalMiB != 95<<10 {
		t.Errorf("got %s with %+v", d.Architecture, d.Memory)
	}
}

// TPUs that VFIO passes to user space, which is all since v5e, were not found.
func TestTPUBehindVFIOIsFound(t *testing.T) {
	status := detect.Detect(t.Context(), recorded(t, "google-v5p-4.tar.gz"), detect.Options{}).Status
	if len(status.Devices) != 4 || !slices.Contains(status.Devices[0].Paths, "/dev/vfio/0") {
		t.Errorf("got %+v", status.Devices)
	}
}

// Bandwidth was computed as twice the clock for every kind of memory, by tables of ids that lacked the MI300X, and
// contradicted each other.
func TestAMDBandwidthIsTheProducts(t *testing.T) {
	for name, test := range map[string]struct {
		ids, revision string
		memoryMiB     int64
		want          int64
	}{
		"HBM3":                          {"1002:74a1 1002:74a1", "00", 196592, 5_300_000},
		"HBM3 of a virtual function":    {"1002:74b5 1002:74a1", "00", 196592, 5_300_000},
		"HBM2e":                         {"1002:740f 1002:0c34", "02", 65520, 1_638_400},
		"GDDR6":                         {"1002:744c 1da2:e471", "c8", 24560, 960_000},
		"a product that nobody knows":   {"1002:7fff 1002:0000", "00", 24560, 0},
		"an id that two products share": {"1002:744c 1002:0000", "99", 24560, 0},
	} {
		t.Run(name, func(t *testing.T) {
			host := compose.New("bandwidth")
			host.PCI(amdAt("0000:05:00.0", test.ids, test.revision, map[string]string{
				"mem_info_vram_total": fmt.Sprint(test.memoryMiB << 20), "pp_dpm_mclk": "0: 96Mhz\n1: 1250Mhz *\n",
			}))
			d := onlyDevice(t, withoutTools(t, host, detect.AMD()))
			if got := bandwidth(d); got != test.want || d.Memory.TotalMiB != test.memoryMiB {
				t.Errorf("%q has %d MB/s, want %d; memory %+v", d.Product, got, test.want, d.Memory)
			}
		})
	}
}

func bandwidth(d v1alpha1.Device) int64 {
	if d.Performance == nil {
		return 0
	}
	return d.Performance.MemoryBandwidthMBps
}

// The memory of all CXL devices of the host was added to each GPU.
func TestCXLMemoryIsNotTheGPUs(t *testing.T) {
	host := compose.New("CXL")
	host.File("/sys/bus/cxl/devices/mem0/size", "0x4000000000")
	host.PCI(amdAt("0000:05:00.0", "1002:74a1 1002:74a1", "00", map[string]string{
		"mem_info_vram_total": fmt.Sprint(196592 << 20), "mem_info_vis_vram_total": fmt.Sprint(196592 << 20),
	}))
	if d := onlyDevice(t, withoutTools(t, host, detect.AMD())); d.Memory.TotalMiB != 196592 {
		t.Errorf("got %+v", d.Memory)
	}
}

// The version of the VBIOS stood for that of the driver, the PCI revision for a compute capability.
func TestVBIOSIsNoDriverVersion(t *testing.T) {
	host := compose.New("versions")
	host.File("/sys/module/amdgpu/version", "6.12.12")
	host.PCI(amdAt("0000:03:00.0", "1002:744c 1da2:e471", "c8", map[string]string{
		"vbios_version": "113-D70401XT-N11", "mem_info_vram_total": "25753026560",
	}))
	d := onlyDevice(t, withoutTools(t, host, detect.AMD()))
	if d.DriverVersion != "6.12.12" || d.FirmwareVersion != "113-D70401XT-N11" || d.ComputeCapability != "" || d.PCI.Revision != "c8" {
		t.Errorf("got driver %q, firmware %q, capability %q, revision %q", d.DriverVersion, d.FirmwareVersion, d.ComputeCapability, d.PCI.Revision)
	}
}

// One list of cards was sorted by text (card10 before card2) and another not at all, and both were matched by position.
func TestCardsAreMatchedByTheirFolder(t *testing.T) {
	host := compose.New("order")
	want := map[v1alpha1.DeviceID]string{}
	for i, number := range []int{10, 2, 1} {
		f := amdAt(fmt.Sprintf("0000:%02x:00.0", 0x20*i+5), "1002:74a1 1002:74a1", "00", map[string]string{"mem_info_vram_total": fmt.Sprint((100 + i) << 30)})
		host.PCI(f)
		name := fmt.Sprint("card", number)
		host.Link(f.Folder()+"/drm/"+name+"/device", "../../../"+f.Address())
		host.Link("/sys/class/drm/"+name, "../../devices/"+f.Place+"/drm/"+name)
		want[v1alpha1.DeviceID("amd-"+f.Address())] = fmt.Sprintf("%d /dev/dri/%s", (100+i)<<10, name)
	}
	got := map[v1alpha1.DeviceID]string{}
	for _, d := range withoutTools(t, host, detect.AMD()).Devices {
		got[d.ID] = fmt.Sprint(d.Memory.TotalMiB, " ", strings.Join(d.Paths, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Bandwidth was computed from a bus width by compute capability, which L4, T4, H200 and most GeForce cards do not have.
func TestNVIDIABandwidthIsTheProducts(t *testing.T) {
	for ids, want := range map[string]int64{
		"10de:1eb8 10de:12a2": 320_000,   // T4
		"10de:27b8 10de:16ee": 300_000,   // L4
		"10de:26b9 10de:1851": 864_000,   // L40S
		"10de:2684 10de:167c": 1_008_000, // RTX 4090
		"10de:2330 10de:16c1": 3_350_000, // H100
		"10de:2335 10de:18be": 4_800_000, // H200
		"10de:2704 10de:0000": 0,         // RTX 4080, which the catalogue lacks
	} {
		host := compose.New("bandwidth")
		host.PCI(gpuAt("0000:17:00.0", ids))
		if d := onlyDevice(t, withoutTools(t, host, detect.NVIDIA())); bandwidth(d) != want {
			t.Errorf("%s %q has %d MB/s, want %d", ids, d.Product, bandwidth(d), want)
		}
	}
}

// Compute capabilities 10.3 and 12.0 were unknown.
func TestNewComputeCapabilitiesAreKnown(t *testing.T) {
	for ids, want := range map[string]string{
		"10de:2901 10de:1999": "10.0", "10de:3182 10de:0000": "10.3", "10de:31c2 10de:0000": "10.3", "10de:2bb5 10de:204e": "12.0",
		"10de:2b85 10de:0000": "12.0", "10de:7fff 10de:0000": "",
	} {
		host := compose.New("capability")
		host.PCI(gpuAt("0000:17:00.0", ids))
		if d := onlyDevice(t, withoutTools(t, host, detect.NVIDIA())); d.ComputeCapability != want {
			t.Errorf("%s has capability %q, want %q", ids, d.ComputeCapability, want)
		}
	}
}

// A Grace Hopper was given the 480 GiB of its processor's memory beside its own.
func TestGraceHopperHasItsOwnMemoryOnly(t *testing.T) {
	host := compose.New("GH200")
	host.PCI(gpuAt("0009:01:00.0", "10de:2342 10de:16eb"))
	report := strings.NewReplacer("NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "81559 MiB", "97871 MiB").Replace(smiReport(smiGPU("00000009:01:00.0", "")))
	host.Command(report, "nvidia-smi", "-q", "-x")
	for name, status := range map[string]v1alpha1.AcceleratorInventoryStatus{
		"by the tool": detectNVIDIA(t, hostOf(t, host)), "by the kernel": withoutTools(t, host, detect.NVIDIA()),
	} {
		if d := onlyDevice(t, status); d.Memory.TotalMiB < 96<<10-500 || d.Memory.TotalMiB > 96<<10 {
			t.Errorf("%s: got %+v", name, d.Memory)
		}
	}
}

// PCIe links and NUMA nodes were matched by position to the GPUs that the tool lists: wrong where it lists some only.
func TestSubsetOfGPUsHasItsOwnNUMANodes(t *testing.T) {
	host := compose.New("subset")
	for i, bus := range []string{"17", "3d", "97", "bd"} {
		gpu := gpuAt("0000:"+bus+":00.0", "10de:2330 10de:16c1")
		gpu.NUMA, gpu.Link = i, fmt.Sprintf("32.0 GT/s PCIe x%d", 2<<i)
		host.PCI(gpu)
	}
	host.Command(smiReport(smiGPU("00000000:BD:00.0", "")), "nvidia-smi", "-q", "-x")
	for i, d := range detectNVIDIA(t, hostOf(t, host)).Devices {
		if *d.NUMANode != int32(i) || d.PCI.LinkWidth != 2<<i || (d.Health.State == v1alpha1.Healthy) != (i == 3) {
			t.Errorf("%s: node %d, width %d, %s", d.ID, *d.NUMANode, d.PCI.LinkWidth, d.Health.State)
		}
	}
}

// Inactive links were counted, and the rate of the last one stood for all.
func TestInactiveNVLinksDoNotCount(t *testing.T) {
	host := linkedHost([]linkedGPU{
		{ids: "10de:2331 10de:1626", links: []string{"26.562 GB/s", "<inactive>", "26.562 GB/s", "<inactive>"}, row: "X NV2"},
		{ids: "10de:2331 10de:1626", links: []string{"<inactive>", "26.562 GB/s", "26.562 GB/s", "<inactive>"}, row: "NV2 X"},
	})
	links := detectNVIDIA(t, hostOf(t, host)).Links
	if len(links.Pairs) != 1 || links.Pairs[0].Count != 2 || links.Pairs[0].MBps != 53_124 {
		t.Errorf("got %+v", links)
	}
}

// Eight NVLinks and more between any two GPUs were taken for a switch: two cards with bridges have twelve.
func TestBridgedPairIsNoSwitch(t *testing.T) {
	twelve := slices.Repeat([]string{"25 GB/s"}, 12)
	ids := "10de:20b5 10de:1533"
	for name, test := range map[string]struct {
		gpus  []linkedGPU
		pairs int
	}{
		"a pair":    {[]linkedGPU{{ids: ids, links: twelve, row: "X NV12"}, {ids: ids, links: twelve, row: "NV12 X"}}, 1},
		"two pairs": {[]linkedGPU{{ids: ids, links: twelve, row: "X NV12 SYS SYS"}, {ids: ids, links: twelve, row: "NV12 X SYS SYS"}, {ids: ids, links: twelve, row: "SYS SYS X NV12"}, {ids: ids, links: twelve, row: "SYS SYS NV12 X"}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			links := detectNVIDIA(t, hostOf(t, linkedHost(test.gpus))).Links
			if len(links.Domains) != 0 || len(links.Pairs) != test.pairs || links.Pairs[0].Count != 12 || links.Pairs[0].MBps != 300_000 {
				t.Errorf("got %+v", links)
			}
		})
	}
}

// A matrix in which some GPUs have twelve links and others four was a switch, too.
func TestUnequalNVLinksAreNoDomain(t *testing.T) {
	links := detectNVIDIA(t, hostOf(t, linkedHost([]linkedGPU{
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 12), row: "X NV8 NV4"},
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 8), row: "NV8 X SYS"},
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 4), row: "NV4 SYS X"},
	}))).Links
	if len(links.Domains) != 0 || len(links.Pairs) != 2 {
		t.Errorf("got %+v", links)
	}
}

// Where one vendor's card was found, all devices of the common interface were dropped, and with them another vendor's
// card; where two interfaces showed one card, it was listed twice.
func TestEachCardIsListedOnce(t *testing.T) {
	host := compose.New("desktop")
	geforce := gpuAt("0000:01:00.0", "10de:2684 10de:167c")
	arc := compose.Function{Place: "pci0000:03/0000:03:00.0", IDs: "8086:56a0 8086:1020", Class: "030000", Revision: "08", Driver: "i915", NUMA: -1}
	matrox := compose.Function{Place: "pci0000:05/0000:05:00.0", IDs: "102b:0538 102b:0538", Class: "030000", Revision: "05", Driver: "mgag200", NUMA: -1}
	host.PCI(geforce, arc, matrox)
	for i, f := range []compose.Function{geforce, arc, matrox} {
		for _, name := range []string{fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i)} {
			host.Link(f.Folder()+"/drm/"+name+"/device", "../../../"+f.Address())
			host.Link("/sys/class/drm/"+name, "../../devices/"+f.Place+"/drm/"+name)
			host.Device("/dev/dri/" + name)
		}
	}
	seen := map[string]int{}
	for _, d := range withoutTools(t, host, detect.Backends()...).Devices {
		seen[d.PCI.Address]++
	}
	for _, f := range []compose.Function{geforce, arc} {
		if seen[f.Address()] != 1 {
			t.Errorf("%s is listed %d times", f.Address(), seen[f.Address()])
		}
	}
	if most := slices.Max(slices.Collect(maps.Values(seen))); most != 1 {
		t.Errorf("a card is listed %d times: %v", most, seen)
	}
}

// counting counts what is run.
type counting struct {
	detect.Commands
	runs *[]string
}

func (c counting) Run(ctx context.Context, argv ...string) (detect.CommandResult, error) {
	*c.runs = append(*c.runs, strings.Join(argv, " "))
	return c.Commands.Run(ctx, argv...)
}

// reading counts what is read.
type reading struct {
	detect.Files
	reads *int
}

func (r reading) ReadFile(name string) ([]byte, error) { *r.reads++; return r.Files.ReadFile(name) }
func (r reading) ReadDir(name string) ([]string, error) {
	*r.reads++
	return r.Files.ReadDir(name)
}

// Tools were run whatever backends were chosen and whatever the host had: 145 ms on a host without any accelerator.
func TestNoToolIsRunInVain(t *testing.T) {
	bare := compose.New("bare")
	bare.PCI(compose.Function{Place: "pci0000:00/0000:00:03.0", IDs: "15b3:1021 15b3:0023", Class: "020000", Revision: "00", Driver: "mlx5_core", NUMA: 0})
	bare.AllowCommands()
	for name, test := range map[string]struct {
		host     *detect.Host
		backends []detect.Backend
		runs     bool
	}{
		"no accelerator":                 {hostOf(t, bare), detect.Backends(), false},
		"another vendor's backend":       {recorded(t, "nvidia-h100-8.tar.gz"), []detect.Backend{detect.AMD(), detect.CPU(), detect.TPU()}, false},
		"no backend":                     {recorded(t, "nvidia-h100-8.tar.gz"), []detect.Backend{}, false},
		"the one that the host is for":   {recorded(t, "nvidia-h100-8.tar.gz"), []detect.Backend{detect.NVIDIA()}, true},
		"accelerators that need no tool": {recorded(t, "amd-mi300x-8.tar.gz"), []detect.Backend{detect.AMD()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var runs []string
			reads := 0
			host := &detect.Host{Files: reading{test.host.Files, &reads}, Commands: counting{test.host.Commands, &runs}}
			detect.Detect(t.Context(), host, detect.Options{Backends: test.backends})
			if (len(runs) > 0) != test.runs {
				t.Errorf("ran %q", runs)
			}
			if len(test.backends) == 0 && reads > 0 {
				t.Errorf("read %d files for no backend", reads)
			}
		})
	}
}

// Choosing backends lost their warnings and the links, of which the planner then knew nothing.
func TestChosenBackendsKeepWarningsAndLinks(t *testing.T) {
	host := recorded(t, "nvidia-h100-8.tar.gz")
	all := detect.Detect(t.Context(), host, detect.Options{}).Status
	chosen := detect.Detect(t.Context(), host, detect.Options{Backends: []detect.Backend{detect.NVIDIA()}}).Status
	if diff := cmp.Diff(all.Links, chosen.Links); diff != "" || len(chosen.Links.Domains) != 1 {
		t.Errorf("links:\n%s", diff)
	}
	if diff := cmp.Diff(all.Devices, chosen.Devices); diff != "" {
		t.Errorf("devices:\n%s", diff)
	}
	host.Commands = nil
	chosen = detect.Detect(t.Context(), host, detect.Options{Backends: []detect.Backend{detect.NVIDIA()}}).Status
	if b := chosen.Backends[0]; b.State != v1alpha1.BackendDegraded || b.Message == "" {
		t.Errorf("no warning: %+v", b)
	}
}
