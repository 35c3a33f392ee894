package detect_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/amd"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/google"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// The tests of this file and of predecessor_*_test.go are named after defects of an earlier detector, each of which is told
// above its test.

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

// Where one vendor's card was found, all devices of the common interface were dropped, and with them another vendor's
// card; where two interfaces showed one card, it was listed twice.
func TestEachCardIsListedOnce(t *testing.T) {
	h := compose.New("desktop")
	geforce := compose.GPUAt("0000:01:00.0", "10de:2684 10de:167c")
	arc := compose.Function{Place: "pci0000:03/0000:03:00.0", IDs: "8086:56a0 8086:1020", Class: "030000", Revision: "08", Driver: "i915", NUMA: -1}
	matrox := compose.Function{Place: "pci0000:05/0000:05:00.0", IDs: "102b:0538 102b:0538", Class: "030000", Revision: "05", Driver: "mgag200", NUMA: -1}
	h.PCI(geforce, arc, matrox)
	for i, f := range []compose.Function{geforce, arc, matrox} {
		for _, name := range []string{fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i)} {
			h.Link(f.Folder()+"/drm/"+name+"/device", "../../../"+f.Address())
			h.Link("/sys/class/drm/"+name, "../../devices/"+f.Place+"/drm/"+name)
			h.Device("/dev/dri/" + name)
		}
	}
	seen := map[string]int{}
	for _, d := range withoutTools(t, h, detect.Backends()...).Devices {
		seen[d.PCI.Address]++
	}
	for _, f := range []compose.Function{geforce, arc} {
		if seen[f.Address()] != 1 {
			t.Errorf("%s is listed %d times", f.Address(), seen[f.Address()])
		}
	}
	if most := slices.Max(slices.Collect(maps.Values(seen))); most != 1 {
		t.Errorf("a card is listed %d times: %v", most, seen)
	}
}

// counting is a host that counts what is run and read. Backends do both at the same time.
type counting struct {
	host.Files
	host.Commands
	runs, reads atomic.Int64
}

func (c *counting) Run(ctx context.Context, argv ...string) (host.CommandResult, error) {
	c.runs.Add(1)
	return c.Commands.Run(ctx, argv...)
}

func (c *counting) ReadFile(name string) ([]byte, error) {
	c.reads.Add(1)
	return c.Files.ReadFile(name)
}

func (c *counting) ReadDir(name string) ([]string, error) {
	c.reads.Add(1)
	return c.Files.ReadDir(name)
}

// Tools were run whatever backends were chosen and whatever the host had: 145 ms on a host without any accelerator.
func TestNoToolIsRunInVain(t *testing.T) {
	bare := compose.New("bare")
	bare.PCI(compose.Function{Place: "pci0000:00/0000:00:03.0", IDs: "15b3:1021 15b3:0023", Class: "020000", Revision: "00", Driver: "mlx5_core", NUMA: 0})
	bare.AllowCommands()
	for name, test := range map[string]struct {
		host     *host.Host
		backends []backend.Backend
		runs     bool
	}{
		"no accelerator":                 {bare.Replay(t), detect.Backends(), false},
		"another vendor's backend":       {compose.Recorded(t, "nvidia-h100-8.tar.gz"), []backend.Backend{amd.GPU(), machine.CPU(), google.TPU()}, false},
		"no backend":                     {compose.Recorded(t, "nvidia-h100-8.tar.gz"), []backend.Backend{}, false},
		"the one that the host is for":   {compose.Recorded(t, "nvidia-h100-8.tar.gz"), []backend.Backend{nvidia.GPU()}, true},
		"accelerators that need no tool": {compose.Recorded(t, "amd-mi300x-8.tar.gz"), []backend.Backend{amd.GPU()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &counting{Files: test.host.Files, Commands: test.host.Commands}
			detect.Detect(t.Context(), &host.Host{Files: h, Commands: h}, detect.Options{Backends: test.backends})
			if ran := h.runs.Load(); (ran > 0) != test.runs {
				t.Errorf("ran %d tools", ran)
			}
			if read := h.reads.Load(); len(test.backends) == 0 && read > 0 {
				t.Errorf("read %d files for no backend", read)
			}
		})
	}
}

// Choosing backends lost their warnings and the links, of which the planner then knew nothing.
func TestChosenBackendsKeepWarningsAndLinks(t *testing.T) {
	h := compose.Recorded(t, "nvidia-h100-8.tar.gz")
	all := detect.Detect(t.Context(), h, detect.Options{}).Status
	chosen := detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.GPU()}}).Status
	if diff := cmp.Diff(all.Links, chosen.Links); diff != "" || len(chosen.Links.Domains) != 1 {
		t.Errorf("links:\n%s", diff)
	}
	if diff := cmp.Diff(all.Devices, chosen.Devices); diff != "" {
		t.Errorf("devices:\n%s", diff)
	}
	h.Commands = nil
	chosen = detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.GPU()}}).Status
	if b := chosen.Backends[0]; b.State != v1alpha1.BackendDegraded || b.Message == "" {
		t.Errorf("no warning: %+v", b)
	}
}
