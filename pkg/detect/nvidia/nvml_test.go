//go:build linux

package nvidia_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// nvmlHost has GPUs at the addresses, and the tools of this machine: rankwright-nvml as it is built, with a library that
// plays the scenario, and nvidia-smi as given.
func nvmlHost(t *testing.T, library, smi, ids string, buses ...string) *host.Host {
	t.Helper()
	h := compose.New("NVML")
	for _, bus := range buses {
		h.PCI(compose.GPUAt("0000:"+bus+":00.0", ids))
	}
	seen := h.Replay(t)
	tools := t.TempDir()
	if smi != "" {
		if err := os.WriteFile(filepath.Join(tools, "nvidia-smi"), []byte("#!/bin/sh\n"+smi), 0o755); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	seen.Commands = host.FolderCommands(nvmltest.Program(t), []string{tools}, []string{library})
	return seen
}

// noSMI fails the test where nvidia-smi runs: its output shows up in the state of the backend.
const (
	noSMI  = `echo "nvidia-smi was run"; exit 77`
	h100   = "10de:2330 10de:16c1"
	a6000  = "10de:2230 10de:1459"
	device = v1alpha1.DeviceID("nvidia-0000:1b:00.0")
)

// smiOf prints the report of an H100 at the first address, whatever is asked.
func smiOf(t *testing.T) string {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(report, []byte(smiReport(smiGPU("00000000:1B:00.0", "<temperature><gpu_temp>41 C</gpu_temp></temperature>"))), 0o600); err != nil {
		t.Fatal(err)
	}
	return "/bin/cat " + report
}

func detectLive(t *testing.T, h *host.Host, deadline time.Duration) detect.Report {
	t.Helper()
	return detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.GPU()}, Deadline: deadline})
}

func checkBackend(t *testing.T, status *v1alpha1.AcceleratorInventoryStatus, message string) {
	t.Helper()
	if got := status.Backends[0].Message; message == "" && got != "" || !strings.Contains(got, message) {
		t.Errorf("backend says %q, want %q", got, message)
	}
}

func TestNVMLSwitchedGPUs(t *testing.T) {
	report := detectLive(t, nvmlHost(t, nvmltest.Library(t, "nvswitch"), noSMI, h100, "1b", "43", "52", "61", "9d", "c3", "d1", "df"), 0)
	status := &report.Status
	checkBackend(t, status, "")
	d := status.Device(device)
	if d == nil || len(status.Devices) != 8 {
		t.Fatalf("%+v", status.Devices)
	}
	if d.UUID != "GPU-00000007-0000-0000-0000-000000000000" || *d.Index != 0 || d.ComputeCapability != "9.0" || d.DriverVersion != "580.105.08" ||
		d.Memory.TotalMiB != 81559 || d.Memory.Source != v1alpha1.SourceDriver || d.Health.State != v1alpha1.Healthy {
		t.Errorf("%+v, memory %+v", d, d.Memory)
	}
	fabric := &v1alpha1.Fabric{ClusterUUID: "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", CliqueID: "5"}
	if got := status.Device(device); got.CUDAVersion != "13.0" || got.ComputeUnits != 132 {
		t.Errorf("CUDA %q, %d compute units", got.CUDAVersion, got.ComputeUnits)
	}
	domains := status.Links.Domains
	// One GPU has 17 of its 18 links: it is the slowest.
	if len(domains) != 1 || len(domains[0].Members) != 8 || domains[0].Topology != v1alpha1.TopologySwitch || domains[0].DeviceMBps != 425000 || len(status.Links.Pairs) != 0 {
		t.Fatalf("%+v", status.Links)
	}
	if diff := cmp.Diff(fabric, domains[0].Fabric); diff != "" {
		t.Error(diff)
	}
	number := func(n int64) *int64 { return &n }
	want := backend.Reading{MemoryUsedMiB: number(1207), TemperatureMilliC: number(34000), PowerMilliW: number(70120), UtilizationPercent: number(42), PCIeMaxMBps: number(63015)}
	if diff := cmp.Diff(want, report.Readings[device]); diff != "" {
		t.Error(diff)
	}
}

func TestNVMLBridgedPair(t *testing.T) {
	for name, flags := range map[string][]string{"new library": nil, "library that tells no kinds of ends and no rates": {"-DOLD"}} {
		t.Run(name, func(t *testing.T) {
			report := detectLive(t, nvmlHost(t, nvmltest.Library(t, "pair", flags...), noSMI, a6000, "1b", "43"), 0)
			checkBackend(t, &report.Status, "")
			want := v1alpha1.Links{Pairs: []v1alpha1.LinkPair{{A: device, B: "nvidia-0000:43:00.0", Kind: "NVLink", Count: 4, MBps: 4 * 14062}}}
			if flags != nil {
				want.Pairs[0].MBps = 0
			}
			if diff := cmp.Diff(want, report.Status.Links, routes); diff != "" {
				t.Error(diff)
			}
			if d := report.Status.Device(device); d.ComputeCapability != "8.6" || d.Memory.TotalMiB != 49140 || d.Health.State != v1alpha1.Healthy {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestNVMLMIGDevices(t *testing.T) {
	report := detectLive(t, nvmlHost(t, nvmltest.Library(t, "mig"), noSMI, h100, "1b"), 0)
	checkBackend(t, &report.Status, "")
	type row struct {
		ID            v1alpha1.DeviceID
		UUID, Profile string
		MiB, Used     int64
	}
	var got []row
	for _, d := range report.Status.Devices {
		got = append(got, row{d.ID, d.UUID, d.Partition.Profile, d.Memory.TotalMiB, *report.Readings[d.ID].MemoryUsedMiB})
	}
	want := []row{
		{device + "-mig2", "MIG-00000002-0000-0000-0000-000000000000", "3g.40gb", 40448, 2048},
		{device + "-mig9.1", "MIG-00000009-0000-0000-0000-000000000000", "1c.2g.20gb", 20096, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNVMLLostGPUHidesNoOther(t *testing.T) {
	report := detectLive(t, nvmlHost(t, nvmltest.Library(t, "lost"), noSMI, h100, "1b", "43"), 0)
	lost, other := report.Status.Device(device), report.Status.Device("nvidia-0000:43:00.0")
	if lost.Health.State != v1alpha1.Unhealthy || lost.Health.Reason != "GPULost" || !strings.Contains(lost.Health.Message, "GPU is lost") || lost.Memory.Source != v1alpha1.SourceCatalogue {
		t.Errorf("%+v", lost)
	}
	if other.Health.State != v1alpha1.Healthy || other.Memory.TotalMiB != 81559 {
		t.Errorf("%+v", other)
	}
}

// Where NVML cannot be asked, nvidia-smi is; what went wrong is said, but for a host that has neither program nor library.
func TestNVMLFallsBackToSMI(t *testing.T) {
	tests := map[string]struct {
		library  func(*testing.T) string
		deadline time.Duration
		says     string
	}{
		"no library":        {library: func(t *testing.T) string { return t.TempDir() }},
		"the library hangs": {library: func(t *testing.T) string { return nvmltest.Library(t, "hang") }, deadline: 3 * time.Second, says: "else the driver hangs"},
		"it crashes":        {library: func(t *testing.T) string { return nvmltest.Library(t, "crash") }, says: "rankwright-nvml query: exits with 2"},
		"no driver":         {library: func(t *testing.T) string { return nvmltest.Library(t, "no-driver") }, says: "Driver Not Loaded"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := nvmlHost(t, test.library(t), smiOf(t), h100, "1b")
			report := detectLive(t, h, test.deadline)
			checkBackend(t, &report.Status, test.says)
			d := report.Status.Device(device)
			if d == nil || d.Memory.TotalMiB != 81559 || d.Memory.Source != v1alpha1.SourceDriver || d.Health.State != v1alpha1.Healthy {
				t.Errorf("%+v", d)
			}
			if reading := report.Readings[device]; reading.TemperatureMilliC == nil || *reading.TemperatureMilliC != 41000 {
				t.Errorf("%+v", reading)
			}
		})
	}
}

func TestNVMLProgramIsNotInstalled(t *testing.T) {
	h := nvmlHost(t, t.TempDir(), smiOf(t), h100, "1b")
	h.Commands = host.FolderCommands("", nil, nil)
	report := detectLive(t, h, 0)
	if message := report.Status.Backends[0].Message; strings.Contains(message, "rankwright-nvml") || !strings.Contains(message, "nvidia-smi") {
		t.Errorf("says %q", message)
	}
}

// nvmlRecording is a host of GPUs whose document is given.
func nvmlRecording(t *testing.T, document, ids string, buses ...string) *host.Host {
	t.Helper()
	h := compose.New("document")
	for _, bus := range buses {
		h.PCI(compose.GPUAt("0000:"+bus+":00.0", ids))
	}
	h.Command(document, "rankwright-nvml", "query")
	h.Command(smiReport(smiGPU("00000000:1B:00.0", "")), "nvidia-smi", "-q", "-x")
	return h.Replay(t)
}

func TestNVMLDocument(t *testing.T) {
	const whole = `"uuid":"GPU-1","memory":{"totalMiB":81559,"usedMiB":0}`
	tests := map[string]struct {
		gpu    string
		state  v1alpha1.HealthState
		reason string
	}{
		"fine":                     {whole, v1alpha1.Healthy, ""},
		"a sensor fails":           {whole + `,"faults":[{"call":"nvmlDeviceGetPowerUsage","code":999,"text":"Unknown Error"}]`, v1alpha1.Healthy, ""},
		"memory fails":             {`"uuid":"GPU-1","faults":[{"call":"nvmlDeviceGetMemoryInfo","code":999,"text":"Unknown Error"}]`, v1alpha1.Unhealthy, "DriverError"},
		"no answer":                {`"faults":[{"call":"nvml","code":-1,"text":"no answer within 5s"}]`, v1alpha1.Unknown, "NoAnswer"},
		"needs reset":              {whole + `,"faults":[{"call":"nvmlDeviceGetPowerUsage","code":16,"text":"GPU requires reset"}]`, v1alpha1.Unhealthy, "ResetRequired"},
		"driver wants a reset":     {whole + `,"recoveryAction":1`, v1alpha1.Unhealthy, "ResetRequired"},
		"driver wants a reboot":    {whole + `,"recoveryAction":2`, v1alpha1.Unhealthy, "RebootRequired"},
		"driver wants P2P drained": {whole + `,"recoveryAction":3`, v1alpha1.Degraded, "DrainP2P"},
		"driver wants a new thing": {whole + `,"recoveryAction":5`, v1alpha1.Degraded, "RecoveryAction"},
		"remap failed":             {whole + `,"remappedRows":{"pending":true,"failed":true}`, v1alpha1.Unhealthy, "RowRemapFailure"},
		"remap pending":            {whole + `,"remappedRows":{"pending":true}`, v1alpha1.Degraded, "RowRemapPending"},
		"page pending":             {whole + `,"retiredPagesPending":true`, v1alpha1.Degraded, "PageRetirementPending"},
		"sram":                     {whole + `,"ecc":{"enabled":true,"sramThresholdExceeded":true}`, v1alpha1.Degraded, "SRAMThresholdExceeded"},
		"fabric starts":            {whole + `,"fabric":{"state":"InProgress"}`, v1alpha1.Unhealthy, "FabricNotReady"},
		"fabric failed":            {whole + `,"fabric":{"state":"Completed","status":10}`, v1alpha1.Degraded, "FabricError"},
		"fabric unhealthy":         {whole + `,"fabric":{"state":"Completed","unhealthy":true}`, v1alpha1.Degraded, "FabricUnhealthy"},
		"impossible memory":        {`"uuid":"GPU-1","memory":{"totalMiB":-5,"usedMiB":-1}`, v1alpha1.Healthy, ""}, // nvidia-smi is asked then
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := detectGPUs(t, nvmlRecording(t, `{"gpus":[{"pci":"0000:1b:00.0",`+test.gpu+`}]}`, h100, "1b"))
			if health := status.Devices[0].Health; health.State != test.state || health.Reason != test.reason {
				t.Errorf("%+v, want %s %s", health, test.state, test.reason)
			}
		})
	}
}

// What NVML does not know is filled in from nvidia-smi; what it knows stays.
func TestNVMLIsFilledFromSMI(t *testing.T) {
	status := detectGPUs(t, nvmlRecording(t, `{"missing":["nvmlDeviceGetMemoryInfo"],"gpus":[{"pci":"0000:1b:00.0","uuid":"GPU-1","computeCapability":"9.9"}]}`, h100, "1b"))
	if d := status.Devices[0]; d.UUID != "GPU-1" || d.ComputeCapability != "9.9" || d.Memory.TotalMiB != 81559 || d.Memory.Source != v1alpha1.SourceDriver {
		t.Errorf("%+v, memory %+v", d, d.Memory)
	}
}

func TestNVMLDocumentThatIsNone(t *testing.T) {
	for _, document := range []string{"", "hello", `{"gpus":[{"pci":"x"}]}`} {
		status := detectGPUs(t, nvmlRecording(t, document, h100, "1b"))
		if d := status.Devices[0]; d.Memory.TotalMiB != 81559 || d.Health.State != v1alpha1.Healthy {
			t.Errorf("%q: %+v", document, d)
		}
		checkBackend(t, &status, "rankwright-nvml query")
	}
}

// Memory of a GPU in a superchip is its own: the host's is not added.
func TestNVMLMemoryOfAGraceHopperIsItsOwn(t *testing.T) {
	status := detectGPUs(t, nvmlRecording(t, `{"gpus":[{"pci":"0000:1b:00.0","name":"NVIDIA GH200 480GB","uuid":"GPU-1","memory":{"totalMiB":97871,"usedMiB":0}}]}`, "10de:2342 10de:16eb", "1b"))
	if d := status.Devices[0]; d.Memory.TotalMiB != 97871 || d.Product != "NVIDIA GH200 480GB" {
		t.Errorf("%+v, memory %+v", d, d.Memory)
	}
}

// A link counts where both ends have it up; the number of links makes no switch.
func TestNVMLLinks(t *testing.T) {
	links := func(active, inactive int, remote, peer string) string {
		up := strings.Repeat(`{"active":true,"remote":"`+remote+`","remotePCI":"`+peer+`","mbps":25000},`, active)
		return `"nvLinks":[` + strings.TrimSuffix(up+strings.Repeat(`{"active":false},`, inactive), ",") + `]`
	}
	gpu := func(bus, links string) string {
		return `{"pci":"0000:` + bus + `:00.0","uuid":"GPU-` + bus + `","memory":{"totalMiB":81559,"usedMiB":0},` + links + `}`
	}
	const other = v1alpha1.DeviceID("nvidia-0000:43:00.0")
	pair := func(count int32) v1alpha1.Links {
		return v1alpha1.Links{Pairs: []v1alpha1.LinkPair{{A: device, B: other, Kind: "NVLink", Count: count, MBps: int64(count) * 25000}}}
	}
	tests := map[string]struct {
		a, b string
		want v1alpha1.Links
	}{
		"none":                 {links(0, 0, "", ""), links(0, 0, "", ""), v1alpha1.Links{}},
		"all down":             {links(0, 12, "", ""), links(0, 12, "", ""), v1alpha1.Links{}},
		"twelve between two":   {links(12, 0, "GPU", "00000000:43:00.0"), links(12, 0, "GPU", "00000000:1B:00.0"), pair(12)},
		"some down":            {links(4, 8, "GPU", "0000:43:00.0"), links(4, 8, "GPU", "0000:1b:00.0"), pair(4)},
		"one end has lost two": {links(4, 0, "GPU", "0000:43:00.0"), links(2, 2, "GPU", "0000:1b:00.0"), pair(2)},
		"one end has none":     {links(4, 0, "GPU", "0000:43:00.0"), links(0, 4, "GPU", "0000:1b:00.0"), v1alpha1.Links{}},
		"a GPU not seen here":  {links(4, 0, "GPU", "0000:99:00.0"), links(4, 0, "GPU", "0000:98:00.0"), v1alpha1.Links{}},
		"to the processor":     {links(3, 0, "CPU", "0000:43:00.0"), links(3, 0, "CPU", "0000:1b:00.0"), v1alpha1.Links{}},
		"to a switch": {links(2, 0, "Switch", "0000:05:00.0"), links(2, 0, "Switch", "0000:05:00.0"), v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
			Name: "nvlink", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: []v1alpha1.DeviceID{device, other}, DeviceMBps: 50000, PeerMBps: 50000,
		}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := detectGPUs(t, nvmlRecording(t, `{"gpus":[`+gpu("1b", test.a)+","+gpu("43", test.b)+`]}`, h100, "1b", "43"))
			if diff := cmp.Diff(test.want, status.Links, routes); diff != "" {
				t.Error(diff)
			}
		})
	}
}
