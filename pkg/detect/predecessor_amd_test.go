package detect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/amd"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

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
	h := compose.New("hive")
	hive := map[string]string{
		"xgmi_hive_info/xgmi_hive_id": "15188982192727901047", "xgmi_num_hops": "00 01 ", "mem_info_vram_total": fmt.Sprint(196592 << 20),
	}
	h.PCI(amdAt("0000:05:00.0", "1002:74a1 1002:74a1", "00", hive), amdAt("0000:27:00.0", "1002:74a1 1002:74a1", "00", hive))
	links := withoutTools(t, h, amd.GPU()).Links
	if len(links.Domains) != 1 || len(links.Domains[0].Members) != 2 || links.Domains[0].PeerMBps != 64_000 {
		t.Errorf("got %+v", links)
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
			h := compose.New("bandwidth")
			h.PCI(amdAt("0000:05:00.0", test.ids, test.revision, map[string]string{
				"mem_info_vram_total": fmt.Sprint(test.memoryMiB << 20), "pp_dpm_mclk": "0: 96Mhz\n1: 1250Mhz *\n",
			}))
			d := compose.OnlyDevice(t, withoutTools(t, h, amd.GPU()))
			if got := bandwidth(d); got != test.want || d.Memory.TotalMiB != test.memoryMiB {
				t.Errorf("%q has %d MB/s, want %d; memory %+v", d.Product, got, test.want, d.Memory)
			}
		})
	}
}

// The memory of all CXL devices of the host was added to each GPU.
func TestCXLMemoryIsNotTheGPUs(t *testing.T) {
	h := compose.New("CXL")
	h.File("/sys/bus/cxl/devices/mem0/size", "0x4000000000")
	h.PCI(amdAt("0000:05:00.0", "1002:74a1 1002:74a1", "00", map[string]string{
		"mem_info_vram_total": fmt.Sprint(196592 << 20), "mem_info_vis_vram_total": fmt.Sprint(196592 << 20),
	}))
	if d := compose.OnlyDevice(t, withoutTools(t, h, amd.GPU())); d.Memory.TotalMiB != 196592 {
		t.Errorf("got %+v", d.Memory)
	}
}

// The VBIOS's version was taken for the driver's, the PCI revision for a compute capability.
func TestVBIOSIsNoDriverVersion(t *testing.T) {
	h := compose.New("versions")
	h.File("/sys/module/amdgpu/version", "6.12.12")
	h.PCI(amdAt("0000:03:00.0", "1002:744c 1da2:e471", "c8", map[string]string{
		"vbios_version": "113-D70401XT-N11", "mem_info_vram_total": "25753026560",
	}))
	d := compose.OnlyDevice(t, withoutTools(t, h, amd.GPU()))
	if d.DriverVersion != "6.12.12" || d.FirmwareVersion != "113-D70401XT-N11" || d.ComputeCapability != "gfx1100" || d.PCI.Revision != "c8" {
		t.Errorf("got driver %q, firmware %q, capability %q, revision %q", d.DriverVersion, d.FirmwareVersion, d.ComputeCapability, d.PCI.Revision)
	}
}

// One list of cards was sorted by text (card10 before card2) and another not at all, and both were matched by position.
func TestCardsAreMatchedByTheirFolder(t *testing.T) {
	h := compose.New("order")
	want := map[v1alpha1.DeviceID]string{}
	for i, number := range []int{10, 2, 1} {
		f := amdAt(fmt.Sprintf("0000:%02x:00.0", 0x20*i+5), "1002:74a1 1002:74a1", "00", map[string]string{"mem_info_vram_total": fmt.Sprint((100 + i) << 30)})
		h.PCI(f)
		name := fmt.Sprint("card", number)
		h.Link(f.Folder()+"/drm/"+name+"/device", "../../../"+f.Address())
		h.Link("/sys/class/drm/"+name, "../../devices/"+f.Place+"/drm/"+name)
		want[v1alpha1.DeviceID("amd-"+f.Address())] = fmt.Sprintf("%d /dev/dri/%s", (100+i)<<10, name)
	}
	got := map[v1alpha1.DeviceID]string{}
	for _, d := range withoutTools(t, h, amd.GPU()).Devices {
		got[d.ID] = fmt.Sprint(d.Memory.TotalMiB, " ", strings.Join(d.Paths, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
