package nvidia_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// Bandwidth was computed from a bus width by compute capability, which L4, T4, H200 and most GeForce cards do not have.
func TestNVIDIABandwidthIsTheProducts(t *testing.T) {
	for ids, want := range map[string]int64{
		"10de:1eb8 10de:12a2": 320_000,   // T4
		"10de:27b8 10de:16ee": 300_000,   // L4
		"10de:26b9 10de:1851": 864_000,   // L40S
		"10de:2684 10de:167c": 1_008_000, // RTX 4090
		"10de:2330 10de:16c1": 3_350_000, // H100
		"10de:2335 10de:18be": 4_800_000, // H200
		"10de:2704 10de:0000": 716_800,   // RTX 4080
		"10de:2717 10de:0000": 0,         // RTX 4090 Laptop GPU, which the catalogue lacks
	} {
		h := compose.New("bandwidth")
		h.PCI(compose.GPUAt("0000:17:00.0", ids))
		if d := compose.OnlyDevice(t, withoutTools(t, h, nvidia.GPU())); bandwidth(d) != want {
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
		h := compose.New("capability")
		h.PCI(compose.GPUAt("0000:17:00.0", ids))
		if d := compose.OnlyDevice(t, withoutTools(t, h, nvidia.GPU())); d.ComputeCapability != want {
			t.Errorf("%s has capability %q, want %q", ids, d.ComputeCapability, want)
		}
	}
}

// A Grace Hopper was given the 480 GiB of its processor's memory beside its own.
func TestGraceHopperHasItsOwnMemoryOnly(t *testing.T) {
	h := compose.New("GH200")
	h.PCI(compose.GPUAt("0009:01:00.0", "10de:2342 10de:16eb"))
	report := strings.NewReplacer("NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "81559 MiB", "97871 MiB").Replace(smiReport(smiGPU("00000009:01:00.0", "")))
	h.Command(report, "nvidia-smi", "-q", "-x")
	for name, status := range map[string]v1alpha1.AcceleratorInventoryStatus{
		"by the tool": detectGPUs(t, h.Replay(t)), "by the kernel": withoutTools(t, h, nvidia.GPU()),
	} {
		if d := compose.OnlyDevice(t, status); d.Memory.TotalMiB < 96<<10-500 || d.Memory.TotalMiB > 96<<10 {
			t.Errorf("%s: got %+v", name, d.Memory)
		}
	}
}

// PCIe links and NUMA nodes were matched by position to the GPUs that the tool lists: wrong where it lists some only.
func TestSubsetOfGPUsHasItsOwnNUMANodes(t *testing.T) {
	h := compose.New("subset")
	for i, bus := range []string{"17", "3d", "97", "bd"} {
		gpu := compose.GPUAt("0000:"+bus+":00.0", "10de:2330 10de:16c1")
		gpu.NUMA, gpu.Link = i, fmt.Sprintf("32.0 GT/s PCIe x%d", 2<<i)
		h.PCI(gpu)
	}
	h.Command(smiReport(smiGPU("00000000:BD:00.0", "")), "nvidia-smi", "-q", "-x")
	for i, d := range detectGPUs(t, h.Replay(t)).Devices {
		if *d.NUMANode != int32(i) || d.PCI.LinkWidth != 2<<i || (d.Health.State == v1alpha1.Healthy) != (i == 3) {
			t.Errorf("%s: node %d, width %d, %s", d.ID, *d.NUMANode, d.PCI.LinkWidth, d.Health.State)
		}
	}
}

// Inactive links were counted, and the rate of the last one stood for all.
func TestInactiveNVLinksDoNotCount(t *testing.T) {
	h := linkedHost([]linkedGPU{
		{ids: "10de:2331 10de:1626", links: []string{"26.562 GB/s", "<inactive>", "26.562 GB/s", "<inactive>"}, row: "X NV2"},
		{ids: "10de:2331 10de:1626", links: []string{"<inactive>", "26.562 GB/s", "26.562 GB/s", "<inactive>"}, row: "NV2 X"},
	})
	links := detectGPUs(t, h.Replay(t)).Links
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
			links := detectGPUs(t, linkedHost(test.gpus).Replay(t)).Links
			if len(links.Domains) != 0 || len(links.Pairs) != test.pairs || links.Pairs[0].Count != 12 || links.Pairs[0].MBps != 300_000 {
				t.Errorf("got %+v", links)
			}
		})
	}
}

// A matrix in which some GPUs have twelve links and others four was a switch, too.
func TestUnequalNVLinksAreNoDomain(t *testing.T) {
	links := detectGPUs(t, linkedHost([]linkedGPU{
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 12), row: "X NV8 NV4"},
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 8), row: "NV8 X SYS"},
		{ids: "10de:20b5 10de:1533", links: slices.Repeat([]string{"25 GB/s"}, 4), row: "NV4 SYS X"},
	}).Replay(t)).Links
	if len(links.Domains) != 0 || len(links.Pairs) != 2 {
		t.Errorf("got %+v", links)
	}
}

// withoutTools detects by what the kernel shows.
func withoutTools(t *testing.T, h *compose.Host, backends ...backend.Backend) v1alpha1.AcceleratorInventoryStatus {
	t.Helper()
	return detect.Detect(t.Context(), &host.Host{Files: h.Replay(t).Files}, detect.Options{Backends: backends}).Status
}

func bandwidth(d v1alpha1.Device) int64 {
	if d.Performance == nil {
		return 0
	}
	return d.Performance.MemoryBandwidthMBps
}
