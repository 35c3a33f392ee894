package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

var update = flag.Bool("update", false, "write testdata/*.txt anew: review the difference before committing it")

// Every recording gives the inventory that is written down for it, each device once.
func TestRecordings(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		t.Run(name, func(t *testing.T) {
			recording := recordings[name]()
			if err := recording.Err(); err != nil {
				t.Fatal(err)
			}
			report := detect.Detect(t.Context(), recording.Host(), detect.Options{})
			status := report.Status
			checkOnce(t, &status)
			checkMemory(t, &status, report.Readings)
			golden(t, filepath.Join("testdata", name+".txt"), render(&status))

			silent := recording.Host()
			silent.Commands = nil
			quiet := detect.Detect(t.Context(), silent, detect.Options{}).Status
			if !needsTools[name] { // which is a failure where no tool may run
				checkOnce(t, &quiet)
			}
			checkWithoutTools(t, name, ids(&status), ids(&quiet))
			checkArchitectures(t, &status, &quiet)
		})
	}
}

// needsTools are the recordings whose devices the kernel does not show at all.
var needsTools = map[string]bool{"apple-m3-max-macos": true, "windows-workstation": true, "nvidia-wsl2": true, "nvidia-thor-no-pci": true}

// checkWithoutTools fails where a device is only found by running a tool: its id must not depend on one.
func checkWithoutTools(t *testing.T, name string, with, without []v1alpha1.DeviceID) {
	t.Helper()
	if diff := cmp.Diff(with, without); diff != "" && !needsTools[name] {
		t.Errorf("other devices without tools (-with +without):\n%s", diff)
	}
}

// checkArchitectures fails where a device's architecture is another word with a tool than without one, or none of the vocabulary's.
func checkArchitectures(t *testing.T, status, quiet *v1alpha1.AcceleratorInventoryStatus) {
	t.Helper()
	for i := range status.Devices {
		d := &status.Devices[i]
		if word := accelerator.Architecture(d.Architecture); word != d.Architecture {
			t.Errorf("%s: architecture %q is called %q", d.ID, d.Architecture, word)
		}
		if without := quiet.Device(d.ID); without != nil && without.Architecture != d.Architecture {
			t.Errorf("%s: architecture %q, without tools %q", d.ID, d.Architecture, without.Architecture)
		}
	}
}

func ids(status *v1alpha1.AcceleratorInventoryStatus) []v1alpha1.DeviceID {
	var ids []v1alpha1.DeviceID
	for _, d := range status.Devices {
		ids = append(ids, d.ID)
	}
	return ids
}

// checkOnce fails where a card is listed twice, or a backend fails.
func checkOnce(t *testing.T, status *v1alpha1.AcceleratorInventoryStatus) {
	t.Helper()
	addresses := map[string]v1alpha1.DeviceID{}
	for i := range status.Devices {
		d := &status.Devices[i]
		if d.PCI == nil || d.Partition != nil {
			continue
		}
		if other, ok := addresses[d.PCI.Address]; ok {
			t.Errorf("%s is listed as %s and as %s", d.PCI.Address, other, d.ID)
		}
		addresses[d.PCI.Address] = d.ID
	}
	for _, b := range status.Backends {
		if b.State == v1alpha1.BackendFailed {
			t.Errorf("backend %s: %s", b.Name, b.Message)
		}
	}
}

// checkMemory fails where the inventory says less memory in use than the driver does, or not in steps.
func checkMemory(t *testing.T, status *v1alpha1.AcceleratorInventoryStatus, readings backend.Readings) {
	t.Helper()
	for i := range status.Devices {
		d := &status.Devices[i]
		used := readings[d.ID].MemoryUsedMiB
		if used == nil || d.Memory == nil {
			continue
		}
		if want := backend.UsedInSteps(*used, d.Memory.TotalMiB); d.Memory.UsedByOthersMiB != want {
			t.Errorf("%s: the driver says %d of %d MiB are in use, the inventory %d, want %d", d.ID, *used, d.Memory.TotalMiB, d.Memory.UsedByOthersMiB, want)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil { //nolint:gosec // no secret
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v: run `go test ./test/recordings -update` and review the file", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", name, diff)
	}
}

// render prints a status in a few lines: what a reviewer wants to see of a host.
func render(status *v1alpha1.AcceleratorInventoryStatus) string {
	var b strings.Builder
	for i := range status.Devices {
		renderDevice(&b, &status.Devices[i])
	}
	for _, d := range status.Links.Domains {
		fmt.Fprintf(&b, "domain %s: %s%s %s %v, %d links and %d MB/s a device, %d MB/s a peer, %d members: %s\n",
			d.Name, d.Kind, generation(d.Generation), d.Topology, d.Shape, d.Links, d.DeviceMBps, d.PeerMBps, len(d.Members), joined(d.Members))
		if d.Fabric != nil {
			fmt.Fprintf(&b, "  fabric %s clique %s\n", d.Fabric.ClusterUUID, d.Fabric.CliqueID)
		}
	}
	for _, p := range status.Links.Pairs {
		fmt.Fprintf(&b, "pair %s %s: %d x %s%s, %d MB/s\n", p.A, p.B, p.Count, p.Kind, generation(p.Generation), p.MBps)
	}
	if len(status.Links.Unread) > 0 {
		fmt.Fprintf(&b, "links not read: %s\n", joined(status.Links.Unread))
	}
	for _, n := range status.NICs {
		fmt.Fprintf(&b, "nic %s: %s %v %v %s, %d Gbps, up %v, numa %s\n",
			n.Name, n.Kind, n.RoCEVersions, n.Interfaces, n.Driver, n.Gbps, n.Up, number(n.NUMANode))
	}
	renderDistances(&b, status)
	for _, s := range status.Storage {
		fmt.Fprintf(&b, "storage %s: %s %q, %d MiB, numa %s\n", s.Name, s.Kind, s.Model, s.SizeMiB, number(s.NUMANode))
	}
	h := &status.Host
	fmt.Fprintf(&b, "host: %s, %d threads, %d MiB, %d NUMA nodes, cloud %q %q\n",
		h.CPU.Model, h.CPU.Threads, h.Memory.TotalMiB, len(h.NUMANodes), h.Cloud, h.InstanceType)
	if h.Container != "" || h.Kubernetes {
		fmt.Fprintf(&b, "in container %q, pod %v, limits %d milli-CPU, %d MiB\n", h.Container, h.Kubernetes, h.CPU.LimitMilli, h.Memory.LimitMiB)
	}
	for _, node := range h.NUMANodes {
		if len(node.Distances) > 0 {
			fmt.Fprintf(&b, "NUMA node %d: CPUs %s, %d MiB, distances %v\n", node.ID, node.CPUs, node.MemoryMiB, node.Distances)
		}
	}
	for _, backend := range status.Backends {
		if backend.State != v1alpha1.BackendAbsent {
			fmt.Fprintf(&b, "backend %s: %s %s\n", backend.Name, strings.TrimSpace(string(backend.State)+" "+string(backend.ErrorKind)), backend.Message)
		}
	}
	return b.String()
}

func renderDevice(b *strings.Builder, d *v1alpha1.Device) {
	fmt.Fprintf(b, "%s: %s %s %q %s\n", d.ID, d.Vendor, d.Family, d.Product, strings.TrimSpace(d.Architecture+" "+d.ComputeCapability))
	fmt.Fprintf(b, "  driver %q, firmware %q, uuid %q, index %s, numa %s, paths %v\n",
		strings.TrimSpace(d.Driver+" "+d.DriverVersion), d.FirmwareVersion, d.UUID, number(d.Index), number(d.NUMANode), d.Paths)
	if d.Memory != nil {
		fmt.Fprintf(b, "  memory %d MiB (%s)%s, used by others %d MiB\n", d.Memory.TotalMiB, d.Memory.Source, shared(d.Memory), d.Memory.UsedByOthersMiB)
	}
	if d.Performance != nil {
		fmt.Fprintf(b, "  bandwidth %d MB/s, peak %v\n", d.Performance.MemoryBandwidthMBps, d.Performance.Peak)
	}
	if d.Partition != nil {
		fmt.Fprintf(b, "  partition %s %s %d of %s\n", d.Partition.Kind, d.Partition.Profile, d.Partition.Index, d.Partition.Parent)
	}
	fmt.Fprintf(b, "  %s %s %s\n", d.Health.State, d.Health.Reason, d.Health.Message)
}

func shared(m *v1alpha1.DeviceMemory) string {
	if m.Shared == nil {
		return ""
	}
	return fmt.Sprintf(", carved out %d MiB, shared with the host %d MiB", m.Shared.CarveOutMiB, m.Shared.HostMiB)
}

func generation(n int32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(" ", n)
}

func joined(ids []v1alpha1.DeviceID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, " ")
}

func number(n *int32) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
