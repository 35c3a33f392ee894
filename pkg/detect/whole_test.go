package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/aws"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/cerebras"
	"github.com/rankwright/rankwright/pkg/detect/furiosa"
	"github.com/rankwright/rankwright/pkg/detect/generic"
	"github.com/rankwright/rankwright/pkg/detect/graphcore"
	"github.com/rankwright/rankwright/pkg/detect/groq"
	"github.com/rankwright/rankwright/pkg/detect/hailo"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/huawei"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/pkg/detect/tenstorrent"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// Hosts with many of what was once taken for one: each card, IPU and system is a device.
func TestEveryProcessorIsADevice(t *testing.T) {
	for name, test := range map[string]struct {
		backend        backend.Backend
		vendor, device string
	}{
		"GroqCards":                {groq.Card(), "1de0", "0000"},
		"Graphcore C2":             {graphcore.IPU(), "1d95", "0001"},
		"Graphcore C200":           {graphcore.IPU(), "1d95", "0003"},
		"Graphcore, not known yet": {graphcore.IPU(), "1d95", "0009"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			for i := range 8 {
				folder := s.Function(fmt.Sprintf("pci0000:00/0000:%02x:00.0", i+1), "driver", compose.Attributes{"vendor": "0x" + test.vendor, "device": "0x" + test.device, "class": "0x120000"})
				s.File(fmt.Sprintf("%s/someclass/node%d/uevent", folder, 7-i), fmt.Sprintf("DEVNAME=node%d", 7-i))
				s.Must(s.AddDevice(fmt.Sprintf("/dev/node%d", 7-i)))
			}
			found := s.Detect(test.backend)
			if len(found.Devices) != 8 || found.Degraded != "" {
				t.Fatalf("got %d devices, degraded %q", len(found.Devices), found.Degraded)
			}
			for i, d := range found.Devices {
				if len(d.Paths) != 1 || d.Paths[0] != fmt.Sprintf("/dev/node%d", 7-i) || d.Health.State != v1alpha1.Healthy {
					t.Errorf("got %+v", d)
				}
			}
		})
	}
}

// A device node alone is no device.
func TestNodesAloneAreNoDevices(t *testing.T) {
	s := newTree(t)
	for _, node := range []string{"/dev/groqA0.pci", "/dev/ipu0", "/dev/hailo0", "/dev/davinci0", "/dev/rngd/npu0pe0", "/dev/tenstorrent/0", "/dev/cerebras0"} {
		s.Must(s.AddDevice(node))
	}
	for _, backend := range []backend.Backend{huawei.Ascend(), cerebras.CS(), furiosa.NPU(), graphcore.IPU(), groq.Card(), hailo.NPU(), tenstorrent.Card()} {
		if found := s.Detect(backend); len(found.Devices) != 0 || found.Degraded != "" {
			t.Errorf("%s: got %+v", backend.Name(), found)
		}
	}
}

// refusing fails the test when a tool is run.
type refusing struct{ t *testing.T }

func (r refusing) Run(_ context.Context, argv ...string) (host.CommandResult, error) {
	r.t.Errorf("%v is run", argv)
	return host.CommandResult{}, host.ErrNoCommand
}

// On a host without a sign of such devices no tool is run.
func TestNoToolRunsWithoutASign(t *testing.T) {
	s := newTree(t)
	h := s.Host()
	h.Commands = refusing{t}
	for _, backend := range append(Backends(), generic.WMI()) {
		if backend.Name() == machine.CPU().Name() {
			continue
		}
		if found := probe.Detect(t, h, backend); len(found.Devices) != 0 {
			t.Errorf("%s: got %+v", backend.Name(), found.Devices)
		}
	}
}

// Systems on the network cannot be looked for without their tool: detection says that it is missing, or that it failed.
func TestNetworkedSystemsNeedTheirTool(t *testing.T) {
	for name, test := range map[string]struct {
		backend backend.Backend
		sign    string
		argv    []string
	}{
		"Cerebras":  {cerebras.CS(), "/opt/cerebras/config_v2", []string{"csctl", "get", "cluster", "--system-only", "--output", "json"}},
		"Graphcore": {graphcore.IPU(), "/etc/ipuof.conf.d" + "/p.conf", []string{"gc-info", "-l"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.File(test.sign, "{}")
			if found := s.Detect(test.backend); len(found.Devices) != 0 || !strings.Contains(found.Degraded, test.argv[0]) {
				t.Errorf("without commands: got %+v", found)
			}
			s.AllowCommands()
			if found := s.Detect(test.backend); len(found.Devices) != 0 || !strings.Contains(found.Degraded, test.argv[0]) {
				t.Errorf("without the tool: got %+v", found)
			}
			s.Must(s.AddCommand(host.CommandResult{ExitCode: 1, Stderr: []byte("connection refused")}, test.argv...))
			if _, err := test.backend.Detect(t.Context(), s.Host()); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("the tool fails: %v", err)
			}
		})
	}
}

// An Arc beside a GeForce and graphics in the processor: each is one device, whatever else Vulkan sees of it, and that one
// backend found something hides nothing of another.
func TestEachGPUIsOneDeviceOfOneBackend(t *testing.T) {
	s := newTree(t)
	geforce := s.Function("pci0000:00/0000:00:01.0/0000:01:00.0", "nvidia", compose.PCIAttributes("10de", "2684", "030000"))
	s.DRM(geforce, "card0", "renderD128")
	s.DRM(s.Function("pci0000:00/0000:00:01.0/0000:04:00.0/0000:02:01.0/0000:03:00.0", "xe", compose.PCIAttributes("8086", "e20b", "030000")), "card1", "renderD129")
	s.DRM(s.Function("pci0000:00/0000:00:02.0", "i915", compose.PCIAttributes("8086", "a780", "030000")), "card2", "renderD130")
	s.DRM(s.Function("pci0000:00/0000:00:01.0/0000:05:00.0", "mtgpu", compose.PCIAttributes("1ed5", "0222", "030000")), "card3", "renderD131")
	s.AllowCommands()
	summary := ""
	for i, gpu := range []string{"0x10de 0x2684 NVIDIA", "0x8086 0xe20b Intel", "0x8086 0xa780 Intel", "0x1ed5 0x0222 MTT"} {
		ids := strings.Fields(gpu)
		summary += fmt.Sprintf("GPU%d:\n\tvendorID = %s\n\tdeviceID = %s\n\tdeviceType = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU\n\tdeviceName = %s\n", i, ids[0], ids[1], ids[2])
	}
	s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(summary)}, "vulkaninfo", "--summary"))
	status := Detect(t.Context(), s.Host(), Options{}).Status
	got := map[v1alpha1.DeviceID]string{}
	for _, d := range status.Devices {
		got[d.ID] = d.Backend
	}
	want := map[v1alpha1.DeviceID]string{
		"nvidia-0000:01:00.0": "nvidia", "intel-0000:03:00.0": "intel-gpu", "intel-0000:00:02.0": "intel-gpu", "moore-threads-0000:05:00.0": "vulkan",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(status.Devices) != len(want) {
		t.Errorf("%d devices: %s", len(status.Devices), diff)
	}
}

// ownKind is a backend that lists a card by another id than Vulkan does.
type ownKind struct{}

// Name implements Backend.
func (ownKind) Name() string { return "own" }

// Detect implements Backend.
func (ownKind) Detect(context.Context, *host.Host) (backend.Found, error) {
	return backend.Found{Devices: []v1alpha1.Device{{
		ID: "arm-mali0", Vendor: "arm", Family: v1alpha1.FamilyGPU, Paths: []string{"/dev/dri/renderD128"},
	}}}, nil
}

func TestVulkanYieldsToABackendThatKnowsTheCard(t *testing.T) {
	s := newTree(t)
	s.DRM(s.Platform("fb000000.gpu", "panthor", "arm,mali"), "card1", "renderD128")
	status := Detect(t.Context(), s.Host(), Options{Backends: []backend.Backend{generic.Vulkan(), ownKind{}}}).Status
	var ids []v1alpha1.DeviceID
	for _, d := range status.Devices {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(ids, []v1alpha1.DeviceID{"arm-mali0"}) {
		t.Errorf("got %v", ids)
	}
}

// A Mac has no PCI bus that sysfs shows, which is no failure of anything.
func TestMacFailsNoBackend(t *testing.T) {
	mac := host.NewRecording()
	for argv, output := range map[string]string{
		"system_profiler SPHardwareDataType SPDisplaysDataType -json": `{"SPHardwareDataType": [{"chip_type": "Apple M4"}], "SPDisplaysDataType": []}`,
		"sysctl -n hw.memsize": "17179869184\n",
		"sysctl -n hw.memsize hw.logicalcpu hw.physicalcpu hw.packages hw.machine machdep.cpu.brand_string kern.osrelease": "17179869184\n10\n10\n1\narm64\nApple M4\n24.6.0\n",
	} {
		if err := mac.AddCommand(host.CommandResult{Stdout: []byte(output)}, strings.Fields(argv)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := mac.AddFile(host.MacOSVersion, "<dict><key>ProductVersion</key>\n<string>15.6</string></dict>"); err != nil {
		t.Fatal(err)
	}
	h := mac.Host()
	for _, commands := range []host.Commands{h.Commands, nil} {
		h.Commands = commands
		status := Detect(t.Context(), h, Options{}).Status
		for _, b := range status.Backends {
			if b.State == v1alpha1.BackendFailed {
				t.Errorf("commands %v: %s: %s", commands != nil, b.Name, b.Message)
			}
		}
	}
}

// Without a sign of a Mac an empty tree stays a failure: the host's may not be mounted.
func TestEmptyTreeFails(t *testing.T) {
	if _, err := aws.Neuron().Detect(t.Context(), host.NewRecording().Host()); err == nil {
		t.Error("got no error without sysfs")
	}
}
