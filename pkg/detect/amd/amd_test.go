package amd

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

func TestAMDDevice(t *testing.T) {
	s := newTree(t)
	s.Folder("/sys/class/kfd/kfd")
	s.File("/sys/module/amdgpu/version", "6.12.12\n")
	folder := s.Function("pci0000:00/0000:00:01.1/0000:05:00.0", "amdgpu", compose.Merge(mi300x(), compose.Attributes{
		"unique_id": "e3a9c1f2b4d5e6f1", "vbios_version": "113-M3000100-102",
		"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "numa_node": "1",
		"subsystem_vendor": "0x1002", "subsystem_device": "0x74a1",
	}))
	s.DRM(folder, "card1", "renderD128")
	found := s.Detect(GPU())
	if len(found.Devices) != 1 || found.Degraded != "" {
		t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
	}
	index, numa := int32(128), int32(1)
	want := v1alpha1.Device{
		ID: "amd-0000:05:00.0", Vendor: "amd", Family: v1alpha1.FamilyGPU, Backend: "amd",
		Product: "AMD Instinct MI300X OAM", Architecture: "CDNA3", ComputeCapability: "gfx942", UUID: "GPU-e3a9c1f2b4d5e6f1", Index: &index,
		Driver: "amdgpu", DriverVersion: "6.12.12", FirmwareVersion: "113-M3000100-102",
		PCI: &v1alpha1.PCIDevice{
			Address: "0000:05:00.0", VendorID: "1002", DeviceID: "74a1", SubsystemVendorID: "1002", SubsystemDeviceID: "74a1",
			Revision: "00", Root: "pci0000:00", Bridges: []string{"0000:00:01.1"}, LinkMTps: 32000, LinkWidth: 16,
		},
		NUMANode:     &numa,
		Paths:        []string{"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1"},
		ComputeUnits: 304,
		Memory:       &v1alpha1.DeviceMemory{TotalMiB: 196592, UsedByOthersMiB: 512, Source: v1alpha1.SourceKernel},
		Health:       v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: backend.ReasonOpened, Message: "the device can be opened"},
	}
	got := found.Devices[0]
	if got.Performance == nil || got.Performance.MemoryBandwidthMBps != 5_300_000 {
		t.Errorf("got performance %+v, want that of the catalogue", got.Performance)
	}
	got.Performance = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMDHealth(t *testing.T) {
	for name, test := range map[string]struct {
		driver, want, reason string
		files                compose.Attributes
	}{
		"bound":               {"amdgpu", "Healthy", "Opened", nil},
		"no RAS errors":       {"amdgpu", "Healthy", "", compose.Attributes{"ras/umc_err_count": "ue: 0\nce: 7"}},
		"RAS errors":          {"amdgpu", "Degraded", "UncorrectableMemoryErrors", compose.Attributes{"ras/umc_err_count": "ue: 2\nce: 7"}},
		"no driver":           {"", "Unknown", "DriverMissing", nil},
		"passed through":      {"vfio-pci", "Unknown", "OtherDriver", nil},
		"no memory":           {"amdgpu", "Unknown", "MemoryUnreadable", compose.Attributes{"mem_info_vram_total": "0"}},
		"memory is no number": {"amdgpu", "Unknown", "MemoryUnreadable", compose.Attributes{"mem_info_vram_total": "N/A"}},
		"parts not shown":     {"amdgpu", "Unknown", "PartitionsUnreadable", compose.Attributes{"current_compute_partition": "CPX"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:00/0000:05:00.0", test.driver, compose.Merge(mi300x(), test.files))
			found := s.Detect(GPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices, want 1", len(found.Devices))
			}
			health := found.Devices[0].Health
			if string(health.State) != test.want || health.Reason != test.reason || health.Message == "" {
				t.Errorf("got %+v, want %s %s", health, test.want, test.reason)
			}
		})
	}
}

func TestAMDMemoryWithoutDriverIsNominal(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:05:00.0", "", amdID("74a1", "120000"))
	want := &v1alpha1.DeviceMemory{TotalMiB: 192 << 10, Source: v1alpha1.SourceCatalogue}
	if diff := cmp.Diff(want, s.Detect(GPU()).Devices[0].Memory); diff != "" {
		t.Error(diff)
	}
}

// Another list's position says nothing: here card2 is the second GPU, card10 the first, and a BMC sits between.
func TestAMDNodesByPath(t *testing.T) {
	s := newTree(t)
	first := s.Function("pci0000:00/0000:05:00.0", "amdgpu", mi300x())
	second := s.Function("pci0000:20/0000:25:00.0", "amdgpu", mi300x())
	bmc := s.Function("pci0000:10/0000:12:00.0", "ast", compose.Attributes{"vendor": "0x1a03", "device": "0x2000", "class": "0x030000"})
	s.DRM(first, "card10", "renderD130")
	s.DRM(second, "card2", "renderD129")
	s.DRM(bmc, "card0")
	s.File("/sys/class/drm"+"/version", "drm 1.1.0 20060810\n")
	s.Link("/sys/class/drm"+"/card10-DP-1", first+"/drm/card10")
	found := s.Detect(GPU())
	checkIDs(t, found, []string{"0000:05:00.0", "0000:25:00.0"})
	for i, want := range [][]string{{"/dev/dri/renderD130", "/dev/dri/card10"}, {"/dev/dri/renderD129", "/dev/dri/card2"}} {
		if got := found.Devices[i].Paths; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", found.Devices[i].ID, got, want)
		}
	}
}

// Who asks for a GPU of a host with a card means the card.
func TestAMDIntegratedIsNotListedBesideCards(t *testing.T) {
	for name, compose := range map[string]func(tree){
		"by its id": func(s tree) {
			s.Function("pci0000:00/0000:00:08.1/0000:c5:00.0", "amdgpu", amdID("150e", "038000"), vram(512, 100), gtt(16384, 100))
		},
		"by what is set aside": func(s tree) {
			s.Function("pci0000:00/0000:00:08.1/0000:c5:00.0", "amdgpu", amdID("ffff", "030000"), vram(512, 100))
		},
		"by its KFD node, which has the processor's cores": func(s tree) {
			s.Function("pci0000:00/0000:00:01.0", "amdgpu", amdID("ffff", "030000"))
			s.kfdNode(0, "cpu_cores_count 4\nsimd_count 32\nlocation_id 8\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			compose(s)
			s.Function("pci0000:00/0000:00:01.1/0000:03:00.0", "amdgpu", amdID("744c", "030000"), vram(24560, 100))
			found := s.Detect(GPU())
			checkIDs(t, found, []string{"0000:03:00.0"})
			if found.Degraded != "" {
				t.Errorf("degraded %q: nothing is wrong with an integrated GPU", found.Degraded)
			}
		})
	}
}

func TestAMDKeepsProcessorsWithMemoryOfTheirOwn(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:01:00.0", "amdgpu", amdID("74a0", "120000"), vram(128<<10, 0))
	s.kfdNode(0, "cpu_cores_count 24\nsimd_count 912\nlocation_id 256\ngfx_target_version 90402\n")
	checkIDs(t, s.Detect(GPU()), []string{"0000:01:00.0"})
}

func TestAMDNothing(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:01:00.1", "snd_hda_intel", compose.Attributes{"vendor": "0x1002", "device": "0xab38", "class": "0x040300"})
	s.Function("pci0000:00/0000:02:00.0", "nvidia", compose.Attributes{"vendor": "0x10de", "device": "0x2330", "class": "0x030200"})
	if diff := cmp.Diff(backend.Found{}, s.Detect(GPU())); diff != "" {
		t.Error(diff)
	}
}

// closedKFD is a file tree in which the nodes of GPUs in the KFD topology cannot be read, as to a container whose device
// cgroup has no render nodes.
type closedKFD struct{ host.Files }

func (f closedKFD) ReadFile(name string) ([]byte, error) {
	data, err := f.Files.ReadFile(name)
	if strings.HasPrefix(name, kfdNodes) && strings.Contains(string(data), "simd_count") {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrPermission}
	}
	return data, err
}

func TestAMDWithoutKFD(t *testing.T) {
	for name, test := range map[string]struct {
		files   compose.Attributes
		domains int
		healthy bool
		told    bool
	}{
		"a full mesh":     {compose.Attributes{"xgmi_num_hops": "00 01 01 01 01 01 01 01 "}, 1, true, false},
		"no mesh":         {compose.Attributes{"xgmi_num_hops": "00 01 01 02 01 01 01 01 "}, 0, true, true},
		"cut into pieces": {compose.Attributes{"current_compute_partition": "CPX"}, 1, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			for i := range 8 {
				s.Function(fmt.Sprintf("pci0000:%d0/0000:%d5:00.0", i, i), "amdgpu", mi300x(), test.files)
				s.kfdNode(i+1, fmt.Sprintf("simd_count 1216\nlocation_id %d\n", (i*16+5)<<8))
			}
			found := probe.Detect(t, &host.Host{Files: closedKFD{s.Host().Files}}, GPU())
			if len(found.Devices) != 8 || len(found.Links.Domains) != test.domains {
				t.Fatalf("got %d devices, links %+v", len(found.Devices), found.Links)
			}
			if healthy := found.Devices[7].Health.State == v1alpha1.Healthy; healthy != test.healthy {
				t.Errorf("got health %v", found.Devices[7].Health)
			}
			if told := strings.Contains(found.Degraded, "device cgroup"); told != test.told || !told && found.Degraded != "" {
				t.Errorf("got degraded %q, want the remedy: %v", found.Degraded, test.told)
			}
		})
	}
}

func TestAMDArchitecture(t *testing.T) {
	core := func(major, minor, revision string) compose.Attributes {
		const folder = "ip_discovery/die/0/GC/0/"
		return compose.Attributes{folder + "major": major, folder + "minor": minor, folder + "revision": revision}
	}
	const node = "simd_count 1216\nlocation_id 1280\ngfx_target_version 90402\n"
	for name, test := range map[string]struct {
		kfd, set string
		files    compose.Attributes
	}{
		"KFD":                    {node, "gfx942", core("9", "5", "0")},
		"the graphics core":      {"", "gfx942", core("9", "4", "3")},
		"a core of no known set": {"", "gfx942", core("9", "99", "0")},
		"the PCI id's, at least": {"", "gfx942", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:00/0000:05:00.0", "amdgpu", mi300x(), test.files)
			if test.kfd != "" {
				s.kfdNode(1, test.kfd)
			}
			if d := s.Detect(GPU()).Devices[0]; d.Architecture != "CDNA3" || d.ComputeCapability != test.set {
				t.Errorf("got %q and %q, want CDNA3 and %q", d.Architecture, d.ComputeCapability, test.set)
			}
		})
	}
}

// A GPU outside any hive has the id 0: two of them are not linked.
func TestAMDNoHive(t *testing.T) {
	s := newTree(t)
	alone := compose.Attributes{"xgmi_hive_info/xgmi_hive_id": "0"}
	s.Function("pci0000:00/0000:05:00.0", "amdgpu", mi300x(), alone)
	s.Function("pci0000:10/0000:15:00.0", "amdgpu", mi300x(), alone)
	if diff := cmp.Diff(v1alpha1.Links{}, s.Detect(GPU()).Links); diff != "" {
		t.Error(diff)
	}
}
