package generic

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// platform adds a device of a system on a chip and returns its folder.
func (s tree) platform(name, driver string) string {
	s.Helper()
	folder := "/sys/devices/platform/" + name
	s.Folder(folder)
	s.Folder("/sys/bus/platform/drivers/" + driver)
	s.Link(folder+"/driver", "/sys/bus/platform/drivers/"+driver)
	return folder
}

// vulkanEntry is a device in vulkaninfo's summary.
func vulkanEntry(number int, vendor, device, kind, name string) string {
	return fmt.Sprintf("GPU%d:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n\tvendorID           = %s\n\tdeviceID           = %s\n"+
		"\tdeviceType         = PHYSICAL_DEVICE_TYPE_%s\n\tdeviceName         = %s\n\tdriverID           = DRIVER_ID_MESA\n"+
		"\tdriverInfo         = Build b674a1bb7c\nDate: 12/02/2025\n\tdeviceUUID         = 0000000%d-0600-0000-12c5-6000140012c5\n", number, vendor, device, kind, name, number)
}

const llvmpipe = "llvmpipe (LLVM 19.1.7, 128 bits)"

func (s tree) vulkaninfo(entries ...string) {
	s.Helper()
	text := "==========\nVULKANINFO\n==========\n\nVulkan Instance Version: 1.4.309\n\n\nDevices:\n========\n" + strings.Join(entries, "")
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(text)}, "vulkaninfo", "--summary"))
}

func moore(address string) (place string, files compose.Attributes) {
	return "pci0000:00/0000:00:01.0/" + address, compose.Attributes{"vendor": "0x1ed5", "device": "0x0222", "class": "0x030000", "revision": "0x01"}
}

func TestVulkanDevices(t *testing.T) {
	type gpu struct {
		id                    v1alpha1.DeviceID
		vendor, product, uuid string
	}
	for name, test := range map[string]struct {
		compose func(s tree)
		want    []gpu
	}{
		"a Mali beside its display": {func(s tree) {
			s.DRM(s.platform("display-subsystem", "rockchip-drm"), "card0")
			s.DRM(s.platform("fb000000.gpu", "panthor"), "card1", "renderD128")
			s.vulkaninfo(vulkanEntry(0, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610"), vulkanEntry(1, "0x10005", "0x0000", "CPU", llvmpipe))
		}, []gpu{{"arm-fb000000.gpu", "arm", "Mali-G610", "00000000-0600-0000-12c5-6000140012c5"}}},
		"a Mali, and only software answers": {func(s tree) {
			s.DRM(s.platform("fb000000.gpu", "panfrost"), "card1", "renderD128")
			s.vulkaninfo(vulkanEntry(0, "0x10005", "0x0000", "CPU", llvmpipe))
		}, []gpu{{"arm-fb000000.gpu", "arm", "arm GPU", ""}}},
		"two unknown chips are not told apart": {func(s tree) {
			s.DRM(s.platform("1000.gpu", "etnaviv"), "card0", "renderD128")
			s.DRM(s.platform("2000.gpu", "newgpu"), "card1", "renderD129")
			s.vulkaninfo(vulkanEntry(0, "0x0", "0x0", "INTEGRATED_GPU", "One"), vulkanEntry(1, "0x0", "0x1", "INTEGRATED_GPU", "Two"))
		}, []gpu{{"vivante-1000.gpu", "vivante", "vivante GPU", ""}, {"soc-2000.gpu", "soc", "soc GPU", ""}}},
		"one on PCI": {func(s tree) {
			place, files := moore("0000:03:00.0")
			s.DRM(s.Function(place, "mtgpu", files), "card0", "renderD128")
			s.vulkaninfo(vulkanEntry(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80"))
		}, []gpu{{"moore-threads-0000:03:00.0", "moore-threads", "MTT S80", "00000000-0600-0000-12c5-6000140012c5"}}},
		"two of a kind share a name and no UUID": {func(s tree) {
			for i, address := range []string{"0000:03:00.0", "0000:04:00.0"} {
				place, files := moore(address)
				s.DRM(s.Function(place, "mtgpu", files), fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i))
			}
			s.vulkaninfo(vulkanEntry(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80"), vulkanEntry(1, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80"))
		}, []gpu{{"moore-threads-0000:03:00.0", "moore-threads", "MTT S80", ""}, {"moore-threads-0000:04:00.0", "moore-threads", "MTT S80", ""}}},
		"an unknown vendor, no tool": {func(s tree) {
			s.DRM(s.Function("pci0000:00/0000:05:00.0", "newgpu", compose.Attributes{"vendor": "0xabcd", "device": "0x0001", "class": "0x030000"}), "card0", "renderD128")
		}, []gpu{{"pci-abcd-0000:05:00.0", "pci-abcd", "GPU abcd:0001", ""}}},
		"an embedded one beside one on PCI": {func(s tree) {
			place, files := moore("0000:03:00.0")
			s.DRM(s.Function(place, "mtgpu", files), "card0", "renderD128")
			s.DRM(s.platform("fb000000.gpu", "panthor"), "card1", "renderD129")
			s.vulkaninfo(vulkanEntry(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80"), vulkanEntry(1, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610"))
		}, []gpu{
			{"moore-threads-0000:03:00.0", "moore-threads", "MTT S80", "00000000-0600-0000-12c5-6000140012c5"},
			{"arm-fb000000.gpu", "arm", "Mali-G610", "00000001-0600-0000-12c5-6000140012c5"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			found := s.Detect(Vulkan())
			var got []gpu
			for _, d := range found.Devices {
				got = append(got, gpu{d.ID, d.Vendor, d.Product, d.UUID})
				if d.Memory != nil || d.Family != v1alpha1.FamilyGPU || d.Health.State != v1alpha1.Healthy || !strings.HasPrefix(d.Paths[0], "/dev/dri/renderD") {
					t.Errorf("got %+v", d)
				}
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(gpu{})); diff != "" || !found.Generic {
				t.Errorf("generic %v: %s", found.Generic, diff)
			}
		})
	}
}

// forbidden are commands of a host on which none must be run.
type forbidden struct{ t *testing.T }

// Run implements Commands.
func (f forbidden) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	f.t.Errorf("ran %v", argv)
	return host.CommandResult{}, host.ErrNoCommand
}

// What only drives a display, is emulated, or has a backend of its own is none of Vulkan's, and no reason to run its tool.
func TestVulkanLeavesOut(t *testing.T) {
	for name, compose := range map[string]func(s tree){
		"nothing": func(tree) {},
		"the display of a BMC": func(s tree) {
			s.DRM(s.Function("pci0000:00/0000:02:00.0", "ast", compose.Attributes{"vendor": "0x1a03", "device": "0x2000", "class": "0x030000"}), "card0")
		},
		"a virtual machine's display": func(s tree) {
			s.DRM(s.Function("pci0000:00/0000:00:01.0", "virtio-pci", compose.Attributes{"vendor": "0x1af4", "device": "0x1050", "class": "0x030000"}), "card0", "renderD128")
		},
		"an Intel GPU": func(s tree) {
			s.DRM(s.Function("pci0000:00/0000:00:01.0/0000:03:00.0", "xe", compose.PCIAttributes("8086", "e20b", "030000")), "card0", "renderD128")
		},
		"graphics in a processor of AMD": func(s tree) {
			s.DRM(s.Function("pci0000:00/0000:00:08.1/0000:05:00.0", "amdgpu", compose.PCIAttributes("1002", "1638", "030000"), compose.Attributes{"mem_info_vram_total": "536870912", "mem_info_vram_used": "20971520"}), "card0", "renderD128")
		},
		"a GPU of a guest": func(s tree) {
			place, files := moore("0000:03:00.0")
			folder := s.Function(place, "mtgpu", files)
			s.Link(folder+"/physfn", folder)
			s.DRM(folder, "card0", "renderD128")
		},
		"no driver": func(s tree) {
			s.Folder("/sys/devices/platform/x.gpu")
			s.DRM("/sys/devices/platform/x.gpu", "card0", "renderD128")
		},
		"Apple's":       func(s tree) { s.DRM(s.platform("406400000.gpu", "asahi"), "card0", "renderD128") },
		"a wild name":   func(s tree) { s.DRM(s.platform("a b", "newgpu"), "card0", "renderD128") },
		"only a screen": func(s tree) { s.DRM(s.platform("display", "newdisplay"), "card0") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			compose(s)
			h := s.Host()
			h.Commands = forbidden{t}
			if diff := cmp.Diff(backend.Found{Generic: true}, probe.Detect(t, h, Vulkan())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVulkanToolProblemsHideNothing(t *testing.T) {
	s := newTree(t)
	place, files := moore("0000:03:00.0")
	s.DRM(s.Function(place, "mtgpu", files), "card0", "renderD128")
	s.Must(s.AddCommand(host.CommandResult{ExitCode: 1, Stderr: []byte("ERROR_INCOMPATIBLE_DRIVER")}, "vulkaninfo", "--summary"))
	found := s.Detect(Vulkan())
	if len(found.Devices) != 1 || !strings.Contains(found.Degraded, "ERROR_INCOMPATIBLE_DRIVER") {
		t.Errorf("got %+v, degraded %q", found.Devices, found.Degraded)
	}
}

func FuzzVulkanSummary(f *testing.F) {
	f.Add(vulkanEntry(0, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610") + vulkanEntry(1, "0x10005", "0x0", "CPU", llvmpipe))
	f.Add("GPU0:\nGPU1:\ndeviceName=x\nvendorID=0xfffffffff\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range parseVulkan(text) {
			if d.name == "" || d.software || len(d.name) > 256 || len(d.uuid) > 128 || len(d.vendor) > 8 {
				t.Errorf("%+v", d)
			}
		}
	})
}
