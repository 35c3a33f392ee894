package apple

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// asahi adds an Apple machine with its GPU, whose node is not the first: the display's is.
func (s tree) asahi(soc string, memoryMiB int) {
	s.Helper()
	s.Machine("apple,j316c", "apple,"+soc, "apple,arm-platform")
	s.File("/proc/meminfo", fmt.Sprintf("MemTotal:       %d kB\n", memoryMiB<<10))
	display := s.Platform("display-subsystem", "apple-drm", "apple,display-subsystem")
	gpu := s.Platform("406400000.gpu", "asahi", "apple,agx-"+soc, "apple,agx-g13x")
	s.DRM(display, "card0")
	s.DRM(gpu, "card1", "renderD128")
}

func TestAppleOnLinux(t *testing.T) {
	for _, test := range []struct {
		soc, product string
		memoryMiB    int
		bandwidth    int64
	}{
		{"t8103", "Apple M1", 16 << 10, 68_250},
		{"t6000", "Apple M1 Pro", 32 << 10, 200_000},
		{"t6001", "Apple M1 Max", 64 << 10, 400_000},
		{"t6002", "Apple M1 Ultra", 128 << 10, 800_000},
		{"t8112", "Apple M2", 24 << 10, 100_000},
		{"t6021", "Apple M2 Max", 96 << 10, 400_000},
		{"t6031", "Apple M3 Max", 128 << 10, 400_000},
		{"t6034", "Apple M3 Max", 36 << 10, 300_000},
		{"t9999", "Apple t9999", 16 << 10, 0},
	} {
		t.Run(test.soc, func(t *testing.T) {
			s := newTree(t)
			s.asahi(test.soc, test.memoryMiB)
			found := s.Detect(Silicon())
			if len(found.Devices) != 1 || found.Degraded != "" {
				t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
			}
			d := found.Devices[0]
			var bandwidth int64
			if d.Performance != nil {
				bandwidth = d.Performance.MemoryBandwidthMBps
			}
			if d.Product != test.product || bandwidth != test.bandwidth {
				t.Errorf("got %q with %d MB/s", d.Product, bandwidth)
			}
			d.Performance, d.DriverVersion, d.Index = nil, "", nil
			want := v1alpha1.Device{
				ID: "apple-406400000.gpu", Vendor: "apple", Family: v1alpha1.FamilyGPU, Backend: "apple", Product: test.product,
				Architecture: "Apple Silicon", Driver: "asahi", Paths: []string{"/dev/dri/renderD128", "/dev/dri/card1"},
				Memory: &v1alpha1.DeviceMemory{
					TotalMiB: int64(test.memoryMiB), Source: v1alpha1.SourceKernel, Shared: &v1alpha1.SharedMemory{HostMiB: int64(test.memoryMiB)},
				},
				Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: backend.ReasonOpened, Message: "the device can be opened"},
			}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The Neural Engine has no memory but the host's, and none is invented.
func TestAppleNeuralEngine(t *testing.T) {
	s := newTree(t)
	s.asahi("t8103", 8<<10)
	s.Accel(s.Platform("26bc04000.ane", "ane", "apple,t8103-ane"), 0)
	s.Platform("26b800000.iommu", "apple-dart", "apple,t8103-dart")
	found := s.Detect(Silicon())
	if len(found.Devices) != 2 {
		t.Fatalf("got %d devices", len(found.Devices))
	}
	want := v1alpha1.Device{
		ID: "apple-26bc04000.ane", Vendor: "apple", Family: v1alpha1.FamilyNPU, Backend: "apple", Product: "Apple M1 Neural Engine",
		Architecture: "Apple Silicon", Driver: "ane", DriverVersion: "6.8.0-60-generic", Paths: []string{"/dev/accel/accel0"},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: backend.ReasonOpened, Message: "the device can be opened"},
	}
	if diff := cmp.Diff(want, found.Devices[0]); diff != "" {
		t.Error(diff)
	}
}

func TestAppleAbsent(t *testing.T) {
	for name, compose := range map[string]func(s tree){
		"no device tree":     func(tree) {},
		"another Arm board":  func(s tree) { s.Machine("raspberrypi,5-model-b", "brcm,bcm2712") },
		"no GPU in the tree": func(s tree) { s.Machine("apple,j604", "apple,t8132") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			compose(s)
			if diff := cmp.Diff(backend.Found{}, s.Detect(Silicon())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const (
	profileCommand = "system_profiler SPHardwareDataType SPDisplaysDataType -json"
	memoryCommand  = "sysctl -n hw.memsize"
)

func macProfileText(chip, vendor, model, cores string) string {
	return fmt.Sprintf(`{"SPHardwareDataType": [{"_name": "hardware_overview", "chip_type": %q}],
		"SPDisplaysDataType": [{"_name": %q, "spdisplays_vendor": %q, "sppci_bus": "spdisplays_builtin", "sppci_cores": %q,
		"sppci_device_type": "spdisplays_gpu", "sppci_model": %q}]}`, chip, model, vendor, cores, model)
}

func TestAppleOnMacOS(t *testing.T) {
	for name, test := range map[string]struct {
		profile string
		memory  string
		want    []string
	}{
		"M3 Max of 40 cores": {
			macProfileText("Apple M3 Max", "sppci_vendor_Apple", "Apple M3 Max", "40"), "51539607552\n",
			[]string{"apple-gpu0 Apple M3 Max 49152 400000", "apple-ane0 Apple M3 Max Neural Engine 0 0"},
		},
		"M3 Max of 30 cores": {
			macProfileText("Apple M3 Max", "sppci_vendor_Apple", "Apple M3 Max", "30"), "38654705664\n",
			[]string{"apple-gpu0 Apple M3 Max 36864 300000", "apple-ane0 Apple M3 Max Neural Engine 0 0"},
		},
		"a newer chip": {
			macProfileText("Apple M9", "sppci_vendor_Apple", "Apple M9", "10"), "17179869184\n",
			[]string{"apple-gpu0 Apple M9 16384 0", "apple-ane0 Apple M9 Neural Engine 0 0"},
		},
		"memory not known": {
			macProfileText("Apple M4", "sppci_vendor_Apple", "Apple M4", "10"), "lots\n",
			[]string{"apple-gpu0 Apple M4 0 120000", "apple-ane0 Apple M4 Neural Engine 0 0"},
		},
		"a virtual machine": {
			macProfileText("Apple M4 Max (Virtual)", "sppci_vendor_Apple", "Apple Paravirtual device", ""), "4294967296\n",
			[]string{"apple-gpu0 Apple Paravirtual device 4096 0"},
		},
		"an Intel Mac": {macProfileText("", "sppci_vendor_amd", "AMD Radeon Pro 5500M", ""), "17179869184\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := probe.Detect(t, compose.Mac(t, map[string]string{profileCommand: test.profile, memoryCommand: test.memory}), Silicon())
			var got []string
			for _, d := range found.Devices {
				var memory, bandwidth int64
				if d.Memory != nil {
					memory = d.Memory.TotalMiB
				}
				if d.Performance != nil {
					bandwidth = d.Performance.MemoryBandwidthMBps
				}
				got = append(got, fmt.Sprintf("%s %s %d %d", d.ID, d.Product, memory, bandwidth))
				if d.Health.State != v1alpha1.Unknown {
					t.Errorf("%s: got %+v, which nobody observed", d.ID, d.Health)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMacToolFails(t *testing.T) {
	for name, output := range map[string]string{"nonsense": "no", "another object": "{}"} {
		if found, err := Silicon().Detect(t.Context(), compose.Mac(t, map[string]string{profileCommand: output})); err == nil {
			t.Errorf("%s: got %+v and no error", name, found)
		}
	}
}

func FuzzMacProfile(f *testing.F) {
	f.Add([]byte(macProfileText("Apple M3 Max", "sppci_vendor_Apple", "Apple M3 Max", "40")))
	f.Add([]byte(`{"SPHardwareDataType": []}`))
	f.Fuzz(func(t *testing.T, output []byte) {
		profile, err := parseMacProfile(output)
		if err != nil {
			return
		}
		if len(profile.gpus) > maxMacGPUs || len(profile.chip) > 128 {
			t.Errorf("%+v", profile)
		}
		for _, gpu := range profile.gpus {
			device := v1alpha1.Device{ID: "apple-gpu0"}
			describeAGX(&device, gpu.model, gpu.cores, 0)
			if device.Memory != nil {
				t.Errorf("%+v: invented %+v", gpu, device.Memory)
			}
		}
	})
}
