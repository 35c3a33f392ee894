package nvidia_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func detectGPUs(t testing.TB, h *host.Host) v1alpha1.AcceleratorInventoryStatus {
	t.Helper()
	return detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.GPU()}}).Status
}

var (
	xmlBus    = regexp.MustCompile(`<gpu id="0000([0-9A-F:.]+)">`)
	xmlDevice = regexp.MustCompile(`<pci_device_id>(.{4})10DE</pci_device_id>`)
)

// reportHost composes the host of a report of `nvidia-smi -q -x`: PCI functions from the report's own addresses and ids,
// the tree around them made up.
func reportHost(t testing.TB, report string) *compose.Host {
	t.Helper()
	h := compose.New("from a report")
	devices := xmlDevice.FindAllStringSubmatch(report, -1)
	for i, match := range xmlBus.FindAllStringSubmatch(report, -1) {
		h.PCI(compose.GPUAt(strings.ToLower(match[1]), "10de:"+strings.ToLower(devices[i][1])+" 10de:0000"))
	}
	h.Command(report, "nvidia-smi", "-q", "-x")
	return h
}

func TestNVIDIACaptures(t *testing.T) {
	tests := []struct {
		file, product, architecture, capability string
		count                                   int
		memoryMiB                               int64
		switched                                bool
	}{
		{file: "qx-a100.xml", product: "NVIDIA A100-SXM4-40GB", architecture: "Ampere", capability: "8.0", count: 1, memoryMiB: 40960},
		{file: "qx-b200.xml.gz", product: "NVIDIA B200", architecture: "Blackwell", capability: "10.0", count: 8, memoryMiB: 183359, switched: true},
		{file: "qx-h100.xml.gz", product: "NVIDIA H100 80GB HBM3", architecture: "Hopper", capability: "9.0", count: 8, memoryMiB: 81559, switched: true},
		{file: "qx-l40s.xml", product: "NVIDIA L40S", architecture: "Ada", capability: "8.9", count: 1, memoryMiB: 46068},
		{file: "qx-t4.xml", product: "Tesla T4", architecture: "Turing", capability: "7.5", count: 1, memoryMiB: 15360},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			status := detectGPUs(t, reportHost(t, string(facts.Read(t, "captures/nvidia-smi/"+test.file))).Replay(t))
			if len(status.Devices) != test.count {
				t.Fatalf("%d devices, want %d: %+v", len(status.Devices), test.count, status.Backends)
			}
			uuids := map[string]bool{}
			for i, device := range status.Devices {
				got := fmt.Sprint(device.Product, "|", device.Architecture, "|", device.ComputeCapability, "|", device.Memory.TotalMiB, "|", device.Memory.Source, "|", device.Health.State)
				want := fmt.Sprint(test.product, "|", test.architecture, "|", test.capability, "|", test.memoryMiB, "|Driver|Healthy")
				if got != want {
					t.Errorf("%s: %s, want %s", device.ID, got, want)
				}
				if device.Index == nil || *device.Index != int32(i) || device.NUMANode != nil || device.FirmwareVersion == "" {
					t.Errorf("%s: index %v, NUMA node %v, firmware %q", device.ID, device.Index, device.NUMANode, device.FirmwareVersion)
				}
				uuids[device.UUID] = true
			}
			if len(uuids) != test.count {
				t.Errorf("%d UUIDs for %d devices", len(uuids), test.count)
			}
			if got := len(status.Links.Domains) == 1 && len(status.Links.Domains[0].Members) == test.count; got != test.switched {
				t.Errorf("links: %+v", status.Links)
			}
		})
	}
}

// The captures of all queries hold no XML: its MIG devices, list, matrix and links come from them, the rest of the
// report is composed in nvidia-smi's format.
func TestNVIDIAMIGCapture(t *testing.T) {
	capture := string(facts.Read(t, "captures/nvidia-smi/linux-x86_64__nvidia-h100-mig__590.48.01.txt.gz"))
	h := migHost(captureSection(t, capture, "nvidia-smi -L"))
	status := detectGPUs(t, h.Replay(t))
	type mig struct {
		ID       v1alpha1.DeviceID
		UUID     string
		Profile  string
		MiB      int64
		Paths    int
		Parent   v1alpha1.DeviceID
		GFLOPS   int64
		Capacity string
	}
	var got []mig
	for _, d := range status.Devices {
		got = append(got, mig{d.ID, d.UUID, d.Partition.Profile, d.Memory.TotalMiB, len(d.Paths), d.Partition.Parent, d.Performance.Peak[0].GFLOPS, d.Product})
	}
	const product, parent = "NVIDIA H100 80GB HBM3", "nvidia-0000:00:09.0"
	want := []mig{
		{parent + "-mig10", "MIG-00000003-0000-0000-0000-000000000003", "1g.10gb", 9984, 1, parent, 141285, product},
		{parent + "-mig2", "MIG-00000000-0000-0000-0000-000000000000", "3g.40gb", 40448, 3, parent, 423857, product},
		{parent + "-mig3", "MIG-00000001-0000-0000-0000-000000000001", "2g.20gb", 20096, 1, parent, 282571, product},
		{parent + "-mig9", "MIG-00000002-0000-0000-0000-000000000002", "1g.10gb", 9984, 1, parent, 141285, product},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if status.Summary.MemoryMiB > 81559 {
		t.Errorf("%d MiB of MIG devices on a GPU of 81559", status.Summary.MemoryMiB)
	}
}

// migHost is a host with one H100 in MIG mode, with the capability files of one of its devices.
func migHost(list string) *compose.Host {
	var devices strings.Builder
	for i, d := range []struct{ instance, mib int }{{2, 40448}, {3, 20096}, {9, 9984}, {10, 9984}} {
		fmt.Fprintf(&devices, `<mig_device><index>%d</index><gpu_instance_id>%d</gpu_instance_id><compute_instance_id>0</compute_instance_id>
			<fb_memory_usage><total>%d MiB</total><reserved>0 MiB</reserved><used>26 MiB</used></fb_memory_usage></mig_device>`, i, d.instance, d.mib)
	}
	h := compose.New("MIG")
	h.PCI(compose.GPUAt("0000:00:09.0", "10de:2330 10de:16c1"))
	h.Command(smiReport(smiGPU("00000000:00:09.0", "<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices>"+devices.String()+"</mig_devices>")), "nvidia-smi", "-q", "-x")
	h.Command(list, "nvidia-smi", "-L")
	h.File("/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access", "DeviceFileMinor: 21\nDeviceFileMode: 256\nDeviceFileModify: 1")
	h.File("/proc/driver/nvidia/capabilities/gpu0/mig/gi2/ci0/access", "DeviceFileMinor: 22\nDeviceFileMode: 256\nDeviceFileModify: 1")
	return h
}

// smiReport is a report of GPUs.
func smiReport(gpus ...string) string {
	return `<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd"><nvidia_smi_log><driver_version>590.48.01</driver_version>` +
		strings.Join(gpus, "") + `</nvidia_smi_log>`
}

// smiGPU is an H100 in a report, with further elements.
func smiGPU(busID, elements string) string {
	return `<gpu id="` + busID + `"><product_name>NVIDIA H100 80GB HBM3</product_name><product_architecture>Hopper</product_architecture>` +
		`<uuid>GPU-00000000-0000-0000-0000-000000000000</uuid><minor_number>0</minor_number>` +
		`<fb_memory_usage><total>81559 MiB</total><reserved>480 MiB</reserved><used>5000 MiB</used></fb_memory_usage>` + elements + `</gpu>`
}

func TestNVIDIAMIGWithoutTool(t *testing.T) {
	h := migHost("")
	withTool := detectGPUs(t, h.Replay(t))
	h.File("/proc/driver/nvidia/gpus/0000:00:09.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-????????-????-????-????-????????????\nDevice Minor: \t 0")
	seen := h.Replay(t)
	seen.Commands = nil
	without := detectGPUs(t, seen)
	if len(without.Devices) != 1 || without.Devices[0].ID != "nvidia-0000:00:09.0-mig2" || without.Devices[0].UUID != "" {
		t.Errorf("devices by /proc alone: %+v", without.Devices)
	}
	if withTool.Device("nvidia-0000:00:09.0-mig2") == nil {
		t.Error("the same device has another id with the tool")
	}
}

func TestNVIDIAHealth(t *testing.T) {
	tests := map[string]struct {
		elements string
		state    v1alpha1.HealthState
		reason   string
	}{
		"fine":             {"<gpu_recovery_action>None</gpu_recovery_action><remapped_rows><remapped_row_pending>No</remapped_row_pending></remapped_rows>", v1alpha1.Healthy, ""},
		"not supported":    {"<remapped_rows>N/A</remapped_rows><gpu_recovery_action>N/A</gpu_recovery_action>", v1alpha1.Healthy, ""},
		"a sensor fails":   {"<fan_speed>Unknown Error</fan_speed>", v1alpha1.Healthy, ""},
		"lost":             {"<temperature><gpu_temp>GPU is lost</gpu_temp></temperature>", v1alpha1.Unhealthy, "GPULost"},
		"error":            {"<fan_speed>ERR!</fan_speed>", v1alpha1.Unhealthy, "DriverError"},
		"needs reset":      {"<gpu_recovery_action>Reset</gpu_recovery_action>", v1alpha1.Unhealthy, "ResetRequired"},
		"needs reboot":     {"<gpu_recovery_action>Reboot</gpu_recovery_action>", v1alpha1.Unhealthy, "RebootRequired"},
		"drain":            {"<gpu_recovery_action>Drain P2P</gpu_recovery_action>", v1alpha1.Degraded, "DrainP2P"},
		"new action":       {"<gpu_recovery_action>Whistle</gpu_recovery_action>", v1alpha1.Degraded, "RecoveryAction"},
		"remap pending":    {"<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>", v1alpha1.Degraded, "RowRemapPending"},
		"remap failed":     {"<remapped_rows><remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>", v1alpha1.Unhealthy, "RowRemapFailure"},
		"page pending":     {"<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>", v1alpha1.Degraded, "PageRetirementPending"},
		"sram":             {"<ecc_errors><aggregate><sram_threshold_exceeded>Yes</sram_threshold_exceeded></aggregate></ecc_errors>", v1alpha1.Degraded, "SRAMThresholdExceeded"},
		"fabric starts":    {"<fabric><state>In Progress</state></fabric>", v1alpha1.Unhealthy, "FabricNotReady"},
		"fabric failed":    {"<fabric><state>Completed</state><status>Timeout</status></fabric>", v1alpha1.Degraded, "FabricError"},
		"the worst counts": {"<gpu_recovery_action>Drain P2P</gpu_recovery_action><fabric><state>In Progress</state></fabric>", v1alpha1.Unhealthy, "FabricNotReady"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.New("health")
			h.PCI(compose.GPUAt("0000:17:00.0", "10de:2330 10de:16c1"))
			h.Command(smiReport(smiGPU("00000000:17:00.0", test.elements)), "nvidia-smi", "-q", "-x")
			health := detectGPUs(t, h.Replay(t)).Devices[0].Health
			if health.State != test.state || health.Reason != test.reason || health.Message == "" {
				t.Errorf("%+v, want %s %s", health, test.state, test.reason)
			}
		})
	}
}

func TestNVIDIAUsedMemoryIsInSteps(t *testing.T) {
	h := compose.New("memory")
	h.PCI(compose.GPUAt("0000:17:00.0", "10de:2330 10de:16c1"))
	h.Command(smiReport(smiGPU("00000000:17:00.0", "")), "nvidia-smi", "-q", "-x")
	memory := detectGPUs(t, h.Replay(t)).Devices[0].Memory
	if memory.UsedByOthersMiB != 8154 { // 5 % of 81559 are less than the 5000 in use, twice as much is more
		t.Errorf("%+v", memory)
	}
}

// A GPU is matched by its address: a list that lacks one shifts nothing.
func TestNVIDIASubsetInAContainer(t *testing.T) {
	h := compose.New("subset")
	h.PCI(compose.GPUAt("0000:17:00.0", "10de:2330 10de:16c1"), compose.GPUAt("0000:65:00.0", "10de:2330 10de:16c1"))
	h.Command(smiReport(smiGPU("00000000:65:00.0", "")), "nvidia-smi", "-q", "-x")
	status := detectGPUs(t, h.Replay(t))
	first, second := status.Devices[0], status.Devices[1]
	if first.ID != "nvidia-0000:17:00.0" || first.Health.State != v1alpha1.Unknown || first.Memory.Source != v1alpha1.SourceCatalogue || first.UUID != "" {
		t.Errorf("the GPU that is not reported: %+v", first)
	}
	if second.Health.State != v1alpha1.Healthy || second.Memory.TotalMiB != 81559 {
		t.Errorf("the GPU that is: %+v", second)
	}
	if status.Backends[0].State != v1alpha1.BackendDegraded {
		t.Errorf("%+v", status.Backends)
	}
}

func TestNVIDIAWithoutItsTool(t *testing.T) {
	tests := map[string]struct {
		change  func(*compose.Host) *host.Host
		message string
	}{
		"no command may be run": {func(h *compose.Host) *host.Host { seen := h.Host(); seen.Commands = nil; return seen }, "allow the agent to run nvidia-smi"},
		"not installed":         {func(h *compose.Host) *host.Host { h.AllowCommands(); return h.Host() }, "runtime class"},
		"driver does not answer": {func(h *compose.Host) *host.Host {
			h.Keep(h.AddCommand(host.CommandResult{ExitCode: 9, Stdout: []byte("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")}, "nvidia-smi", "-q", "-x"))
			return h.Host()
		}, "couldn't communicate"},
		"prints something else": {func(h *compose.Host) *host.Host {
			h.Command("hello", "nvidia-smi", "-q", "-x")
			return h.Host()
		}, "no report"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.New("no tool")
			h.PCI(compose.GPUAt("0000:17:00.0", "10de:2330 10de:16c1"), compose.Function{
				Place: "pci0000:17/0000:17:00.1", IDs: "10de:22a0 10de:16c1", Class: "040300", Revision: "a1",
			})
			h.File("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023")
			h.File("/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-????????-????-????-????-????????????\nVideo BIOS: \t ??.??.??.??.??\nDevice Minor: \t 3")
			seen := test.change(h)
			if err := h.Err(); err != nil {
				t.Fatal(err)
			}
			status := detectGPUs(t, seen)
			if len(status.Devices) != 1 {
				t.Fatalf("%d devices", len(status.Devices))
			}
			d := status.Devices[0]
			if d.Product != "NVIDIA H100 80GB HBM3" || d.UUID != "" || d.FirmwareVersion != "" || *d.Index != 3 || d.DriverVersion != "535.104.05" ||
				d.Memory.TotalMiB != 81559 || d.Memory.Source != v1alpha1.SourceCatalogue || d.Health.State != v1alpha1.Unknown {
				t.Errorf("%+v, memory %+v", d, d.Memory)
			}
			if b := status.Backends[0]; b.State != v1alpha1.BackendDegraded || !strings.Contains(b.Message, test.message) {
				t.Errorf("%+v does not say %q", b, test.message)
			}
		})
	}
}

// A lost GPU ends the report of all: the others are asked one by one.
func TestNVIDIALostGPUHidesNoOther(t *testing.T) {
	const lost = "Unable to determine the device handle for GPU0000:65:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
	h := compose.New("lost")
	h.PCI(compose.GPUAt("0000:17:00.0", "10de:2330 10de:16c1"), compose.GPUAt("0000:65:00.0", "10de:2330 10de:16c1"))
	fails := host.CommandResult{ExitCode: 15, Stdout: []byte(lost)}
	h.Keep(h.AddCommand(fails, "nvidia-smi", "-q", "-x"))
	h.Keep(h.AddCommand(fails, "nvidia-smi", "-q", "-x", "-i", "0000:65:00.0"))
	h.Command(smiReport(smiGPU("00000000:17:00.0", "")), "nvidia-smi", "-q", "-x", "-i", "0000:17:00.0")
	status := detectGPUs(t, h.Replay(t))
	if d := status.Devices[0]; d.Health.State != v1alpha1.Healthy || d.Memory.TotalMiB != 81559 {
		t.Errorf("%+v", d)
	}
	if d := status.Devices[1]; d.Health.State != v1alpha1.Unhealthy || d.Health.Reason != "GPULost" {
		t.Errorf("%+v", d)
	}
}

func TestNVIDIAWhatIsNoGPUOfThisHost(t *testing.T) {
	h := compose.New("others")
	virtual := compose.GPUAt("0000:17:00.4", "10de:20b0 10de:134f")
	passthrough := compose.GPUAt("0000:65:00.0", "10de:2330 10de:16c1")
	passthrough.Driver = "vfio-pci"
	h.PCI(virtual, passthrough,
		compose.Function{Place: "pci0000:17/0000:17:00.2", IDs: "10de:1ad8 10de:0000", Class: "0c0330", Revision: "a1"},
		compose.Function{Place: "pci0000:17/0000:18:00.0", IDs: "10de:22a3 10de:0000", Class: "068000", Revision: "a1"},
		compose.Function{Place: "pci0000:17/0000:19:00.0", IDs: "1002:74a1 1002:0000", Class: "030000", Revision: "00"})
	h.Link(virtual.Folder()+"/physfn", "../0000:17:00.0")
	status := detectGPUs(t, h.Replay(t))
	if len(status.Devices) != 1 {
		t.Fatalf("%+v", status.Devices)
	}
	if d := status.Devices[0]; d.Driver != "vfio-pci" || d.Health.Reason != "NoDriver" || d.Usable() || !strings.Contains(status.Backends[0].Message, "vfio-pci") {
		t.Errorf("%+v, %+v", d, status.Backends)
	}
}

// captureSection returns what a capture of all nvidia-smi queries has below `# $ command`.
func captureSection(t *testing.T, capture, command string) string {
	t.Helper()
	_, below, found := strings.Cut(capture, "\n# $ "+command+"\n")
	if !found {
		t.Fatalf("the capture has no output of %s", command)
	}
	_, below, _ = strings.Cut(below, "\n")
	section, _, _ := strings.Cut(below, "\n################")
	return section
}
