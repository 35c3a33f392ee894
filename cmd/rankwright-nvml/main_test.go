//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/internal/nvml/report"
)

// ask runs the built program on a library that plays the scenario.
func ask(t *testing.T, library string, args ...string) report.Host {
	t.Helper()
	program := filepath.Join(nvmltest.Program(t), "rankwright-nvml")
	command := exec.Command(program, append([]string{"query", "--library", filepath.Join(library, nvmltest.Name)}, args...)...) //nolint:gosec // the test's own
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	host, err := report.Parse(output)
	if err != nil {
		t.Fatalf("%v in %s", err, output)
	}
	return host
}

func pointer[T any](value T) *T { return &value }

func TestQueryOfGPUsOnSwitches(t *testing.T) {
	host := ask(t, nvmltest.Library(t, "nvswitch"))
	if host.Problem != nil || host.DriverVersion != "580.105.08" || host.CUDAVersion != "13.0" || len(host.Missing) != 1 || host.Missing[0] != "nvmlDeviceGetGpuFabricInfo" || len(host.GPUs) != 8 {
		t.Fatalf("%+v", host)
	}
	var links []report.NVLink
	for i := range 18 {
		links = append(links, report.NVLink{
			Index: i, Active: true, Version: "4.0", Remote: report.RemoteSwitch, RemotePCI: []string{"0000:05:00.0", "0000:06:00.0", "0000:07:00.0", "0000:08:00.0"}[i%4], MBps: 26562,
		})
	}
	want := report.GPU{
		PCI: "0000:1b:00.0", UUID: "GPU-00000007-0000-0000-0000-000000000000", Name: "NVIDIA H100 80GB HBM3",
		Minor: pointer(int32(0)), VBIOS: "96.00.A5.00.01", Architecture: "Hopper", ComputeCapability: "9.0",
		Memory:  &report.Memory{TotalMiB: 81559, UsedMiB: 1207, ReservedMiB: pointer(int64(480))},
		NVLinks: links,
		Fabric: &report.Fabric{
			State: report.FabricCompleted, ClusterUUID: "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", Clique: pointer(int64(5)), Unhealthy: pointer(false),
		},
		MIG:                &report.MIG{},
		ECC:                &report.ECC{Enabled: true, VolatileUncorrectable: pointer(int64(0)), AggregateUncorrectable: pointer(int64(3)), SRAMThresholdExceeded: pointer(false)},
		RemappedRows:       &report.RemappedRows{Correctable: 1, Uncorrectable: 2},
		RecoveryAction:     pointer(int64(0)),
		PersistenceMode:    pointer(true),
		TemperatureC:       pointer(int64(34)),
		PowerMilliW:        pointer(int64(70120)),
		UtilizationPercent: pointer(int64(42)),
	}
	if diff := cmp.Diff(want, host.GPUs[0]); diff != "" {
		t.Error(diff)
	}
	last := host.GPUs[7].NVLinks
	if len(last) != 18 || last[17].Active || last[17].Remote != "" {
		t.Errorf("the link that is down: %+v", last)
	}
}

func TestQueryOfMIGDevices(t *testing.T) {
	host := ask(t, nvmltest.Library(t, "mig"))
	want := &report.MIG{Enabled: true, Pending: true, Devices: []report.MIGDevice{
		{GPUInstance: 2, UUID: "MIG-00000002-0000-0000-0000-000000000000", Profile: "3g.40gb", Memory: &report.Memory{TotalMiB: 40448, UsedMiB: 2048, ReservedMiB: pointer(int64(0))}},
		{GPUInstance: 9, ComputeInstance: 1, UUID: "MIG-00000009-0000-0000-0000-000000000000", Profile: "1c.2g.20gb", Memory: &report.Memory{TotalMiB: 20096, ReservedMiB: pointer(int64(0))}},
	}}
	if diff := cmp.Diff(want, host.GPUs[0].MIG); diff != "" {
		t.Error(diff)
	}
	if host.GPUs[0].UtilizationPercent != nil || host.GPUs[0].Faults != nil {
		t.Errorf("what is not supported is neither a number nor a fault: %+v", host.GPUs[0])
	}
}

func TestQueryOfALibraryThatLacksFunctions(t *testing.T) {
	host := ask(t, nvmltest.Library(t, "pair", "-DOLD"))
	if !slices.IsSorted(host.Missing) || !slices.Contains(host.Missing, "nvmlDeviceGetMemoryInfo_v2") || !slices.Contains(host.Missing, "nvmlDeviceGetMigMode") {
		t.Errorf("missing: %q", host.Missing)
	}
	gpu := host.GPUs[0]
	if diff := cmp.Diff(&report.Memory{TotalMiB: 49140, UsedMiB: 1681}, gpu.Memory); diff != "" {
		t.Error(diff)
	}
	if gpu.MIG != nil || gpu.Fabric != nil || gpu.RemappedRows != nil || gpu.RecoveryAction != nil || gpu.Faults != nil || gpu.Name != "NVIDIA RTX A6000" {
		t.Errorf("%+v", gpu)
	}
	want := report.NVLink{Active: true, Version: "3.1", Remote: report.RemoteUnknown, RemotePCI: "0000:43:00.0"}
	if diff := cmp.Diff(want, gpu.NVLinks[0]); diff != "" {
		t.Error(diff)
	}
}

func TestQueryOfALostGPU(t *testing.T) {
	const lost = "0000:1b:00.0"
	check := func(t *testing.T, host report.Host) {
		t.Helper()
		if len(host.GPUs) != 2 || host.Unaddressed != nil {
			t.Fatalf("%+v", host)
		}
		gone, other := host.GPUs[0], host.GPUs[1]
		if gone.PCI != lost || len(gone.Faults) == 0 || gone.Faults[0].Code != report.CodeGPULost || gone.Faults[0].Text != "GPU is lost" || gone.Memory != nil {
			t.Errorf("%+v", gone)
		}
		if other.Faults != nil || other.Memory == nil || other.UUID == "" {
			t.Errorf("%+v", other)
		}
	}
	t.Run("calls fail", func(t *testing.T) { check(t, ask(t, nvmltest.Library(t, "lost"))) })
	t.Run("no handle by its number", func(t *testing.T) {
		driver := t.TempDir()
		for _, name := range []string{lost, "0000:43:00.0", "0000:ff:00.0", "nonsense"} {
			if err := os.Mkdir(filepath.Join(driver, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		check(t, ask(t, nvmltest.Library(t, "lost-handle"), "--driver-gpus", driver))
	})
	t.Run("not known which", func(t *testing.T) {
		host := ask(t, nvmltest.Library(t, "lost-handle"), "--driver-gpus", t.TempDir())
		if len(host.GPUs) != 1 || len(host.Unaddressed) != 1 || host.Unaddressed[0].Code != report.CodeGPULost {
			t.Errorf("%+v", host)
		}
	})
}

// A GPU that hangs its caller hides no other.
func TestQueryOfAGPUThatHangs(t *testing.T) {
	host := ask(t, nvmltest.Library(t, "hang-gpu"), "--patience", "300ms")
	if len(host.GPUs) != 2 {
		t.Fatalf("%+v", host)
	}
	if stuck := host.GPUs[0]; stuck.PCI != "0000:1b:00.0" || len(stuck.Faults) != 1 || stuck.Faults[0].Code != report.CodeNoAnswer {
		t.Errorf("%+v", stuck)
	}
	if other := host.GPUs[1]; other.Faults != nil || other.Memory == nil {
		t.Errorf("%+v", other)
	}
}

func TestQueryWithoutADriverOrALibrary(t *testing.T) {
	if host := ask(t, nvmltest.Library(t, "no-driver")); host.Problem == nil || host.Problem.Kind != report.NoDriver || !strings.Contains(host.Problem.Message, "Driver Not Loaded") {
		t.Errorf("%+v", host)
	}
	if host := ask(t, t.TempDir()); host.Problem == nil || host.Problem.Kind != report.BadLibrary {
		t.Errorf("%+v", host)
	}
}

// What a document says, the library can be made to tell.
func TestQueryOfWhatADocumentSays(t *testing.T) {
	folder := nvmltest.Library(t, "pair")
	want := report.Host{DriverVersion: "590.48.01", CUDAVersion: "13.1", GPUs: []report.GPU{{
		PCI: "0001:9d:00.0", UUID: "GPU-1", Name: "NVIDIA B200", Minor: pointer(int32(0)), VBIOS: "97.00", Architecture: "Blackwell", ComputeCapability: "10.0",
		Memory:  &report.Memory{TotalMiB: 183359, UsedMiB: 7, ReservedMiB: pointer(int64(900))},
		NVLinks: []report.NVLink{{}, {Index: 1, Active: true, Version: "5.0", Remote: report.RemoteGPU, RemotePCI: "0001:1b:00.0", MBps: 50000}},
		Fabric:  &report.Fabric{State: report.FabricCompleted, Status: 3, ClusterUUID: "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", Clique: pointer(int64(4)), Unhealthy: pointer(true)},
		MIG: &report.MIG{Enabled: true, Pending: true, Devices: []report.MIGDevice{
			{GPUInstance: 1, UUID: "MIG-1", Profile: "3g.90gb", Memory: &report.Memory{TotalMiB: 91136, UsedMiB: 20, ReservedMiB: new(int64)}},
			{GPUInstance: 2, ComputeInstance: 1, UUID: "MIG-2", Profile: "1c.3g.90gb", Memory: &report.Memory{TotalMiB: 91136, ReservedMiB: new(int64)}},
		}},
		ECC:                 &report.ECC{Enabled: true, VolatileUncorrectable: pointer(int64(1)), AggregateUncorrectable: pointer(int64(2)), SRAMThresholdExceeded: pointer(true)},
		RetiredPagesPending: pointer(true), RemappedRows: &report.RemappedRows{Correctable: 1, Uncorrectable: 2, Pending: true, Failed: true},
		RecoveryAction: pointer(int64(2)), PersistenceMode: pointer(false),
		TemperatureC: pointer(int64(61)), PowerMilliW: pointer(int64(700000)), UtilizationPercent: pointer(int64(99)),
	}}}
	facts := nvmltest.FactsOf(want)
	facts["dev"] = filepath.Join(folder, "dev")
	if err := facts.Write(folder); err != nil {
		t.Fatal(err)
	}
	got := ask(t, folder)
	want.Library, want.Missing = got.Library, got.Missing
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEvents(t *testing.T) {
	folder := nvmltest.Library(t, "pair")
	// What happened before anybody listened is not told.
	raise(t, folder, nvmltest.Event{Type: nvmltest.XID, Data: 13})
	program := filepath.Join(nvmltest.Program(t), "rankwright-nvml")
	command := exec.CommandContext(t.Context(), program, "events", "--patience", "1ms", "--library", filepath.Join(folder, nvmltest.Name)) //nolint:gosec // the test's own
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close() //nolint:errcheck // a pipe
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(output)
	next := func() (event report.Event) {
		if err := decoder.Decode(&event); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		return event
	}
	got := []report.Event{next()}
	raise(t, folder, nvmltest.Event{Type: nvmltest.XID, Data: 79})
	raise(t, folder, nvmltest.Event{GPU: 1, Type: nvmltest.DoubleBitECC, Instances: &[2]uint32{3, 0}})
	got = append(got, next(), next())
	want := []report.Event{
		{Type: report.Watching},
		{PCI: "0000:43:00.0", Type: "XID", XID: pointer(int64(79))},
		{PCI: "0000:1b:00.0", Type: "DoubleBitECC", GPUInstance: pointer(int32(3)), ComputeInstance: pointer(int32(0))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	change(t, folder, "fault.gpu1", strconv.Itoa(report.CodeGPULost))
	if err := command.Wait(); err == nil || !strings.Contains(said.String(), "nvmlEventSetWait_v2: GPU is lost") {
		t.Errorf("ends with %v: %s", err, said.String())
	}
}

func raise(t *testing.T, folder string, event nvmltest.Event) {
	t.Helper()
	if err := nvmltest.Raise(folder, event); err != nil {
		t.Fatal(err)
	}
}

// change sets a fact of a library that may be loaded already.
func change(t *testing.T, folder, key, value string) {
	t.Helper()
	facts, err := nvmltest.ReadFacts(folder)
	if err != nil {
		t.Fatal(err)
	}
	facts[key] = value
	if err := facts.Write(folder); err != nil {
		t.Fatal(err)
	}
}

// The library opens its device nodes, as NVIDIA's does, and fails as it does.
func TestQueryWithoutTheDeviceNodes(t *testing.T) {
	folder := nvmltest.Library(t, "pair")
	if err := os.Remove(filepath.Join(folder, "dev", "nvidia0")); err != nil {
		t.Fatal(err)
	}
	if host := ask(t, folder); len(host.GPUs) != 1 || len(host.Unaddressed) != 1 {
		t.Errorf("without the node of one: %+v", host)
	}
	if err := os.Remove(filepath.Join(folder, "dev", "nvidiactl")); err != nil {
		t.Fatal(err)
	}
	if host := ask(t, folder); host.Problem == nil || host.Problem.Kind != report.NoDriver {
		t.Errorf("without the control node: %+v", host)
	}
}

// A library that was replaced while the driver is still the old one, as in the middle of an upgrade.
func TestQueryOfALibraryOfAnotherVersion(t *testing.T) {
	folder := nvmltest.Library(t, "pair")
	name := filepath.Join(folder, nvmltest.Name)
	versioned := "libnvidia-ml.so.590.48.01"
	if err := os.Rename(name, filepath.Join(folder, versioned)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(versioned, name); err != nil {
		t.Fatal(err)
	}
	if host := ask(t, folder); host.Problem == nil || !strings.Contains(host.Problem.Message, "version mismatch") {
		t.Errorf("%+v", host)
	}
	change(t, folder, "driver", "590.48.01")
	if host := ask(t, folder); host.Problem != nil || host.DriverVersion != "590.48.01" || len(host.GPUs) != 2 {
		t.Errorf("after the upgrade: %+v", host)
	}
}

// Whoever started the program and is gone leaves nothing behind.
func TestEventsEndWithTheirInput(t *testing.T) {
	program := filepath.Join(nvmltest.Program(t), "rankwright-nvml")
	command := exec.Command(program, "events", "--patience", "1ms", "--library", filepath.Join(nvmltest.Library(t, "pair"), nvmltest.Name)) //nolint:gosec // the test's own
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("with an input at its end: %v: %s", err, output)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"query", "--colour"}, {"query", "more"}, {"query", "--patience", "0s"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &said, &said); code != exitUsage || !strings.Contains(said.String(), "Usage:") {
			t.Errorf("%q: code %d, %q", args, code, said.String())
		}
	}
}
