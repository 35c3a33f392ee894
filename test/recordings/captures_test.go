package main

import (
	"bytes"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	outside "github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

// capture is a recording of a host that others published, and a check of what is found on it.
type capture struct {
	file  string
	check func(t *testing.T, host *capturedHost)
}

// capturedHost is what is found on a captured host: by all there is, and by what its kernel shows alone.
type capturedHost struct {
	detect.Report
	quiet  v1alpha1.AcceleratorInventoryStatus
	labels map[string]string
}

// label is a node label, by its name after the prefix; empty where the node has none.
func (h *capturedHost) label(name string) string { return h.labels[v1alpha1.Prefix+name] }

// replayCaptures replays recordings of the folder captures/recordings of the facts from outside, and skips those that are
// not there. A device that is only found by running a tool fails: its id must not depend on one.
func replayCaptures(t *testing.T, captures []capture) {
	t.Helper()
	for _, c := range captures {
		t.Run(c.file, func(t *testing.T) {
			recording, err := host.ReadRecording(bytes.NewReader(outside.ReadPacked(t, "captures/recordings/"+c.file+".tar.gz")))
			if err != nil {
				t.Fatal(err)
			}
			h := capturedHost{Report: detect.Detect(t.Context(), recording.Host(), detect.Options{})}
			h.quiet = detect.Detect(t.Context(), &host.Host{Files: recording.Host().Files}, detect.Options{}).Status
			h.labels = nodeagent.Labels(&h.Status)
			checkOnce(t, &h.Status)
			checkWithoutTools(t, c.file, ids(&h.Status), ids(&h.quiet))
			c.check(t, &h)
		})
	}
}

// Hosts of NVIDIA on which detection once was wrong, and a host on which it never was.
func TestNVIDIACaptures(t *testing.T) {
	replayCaptures(t, []capture{
		{"nv-gb10", checkGB10},
		{"nv-gb10-nvml", checkGB10},
		{"hw-gb10", func(t *testing.T, host *capturedHost) {
			// Neither PCI functions nor a driver or tool are in what was published of it.
			if len(host.Status.Devices) != 0 {
				t.Errorf("%d devices of nothing", len(host.Status.Devices))
			}
		}},
		{"hw-lassen", unread(4, "Tesla V100-SXM2-16GB")},
		{"hw-pascal", func(t *testing.T, host *capturedHost) {
			devices(t, host, 2, "Tesla P100-PCIE-16GB", 16384, v1alpha1.SourceCatalogue)
		}},
		{"hw-power8", unread(4, "Tesla P100-SXM2-16GB")},
		{"lact-nvidia-rtx4080", func(t *testing.T, host *capturedHost) {
			devices(t, host, 1, "NVIDIA GeForce RTX 4080", 16384, v1alpha1.SourceCatalogue)
		}},
		{"nv-nvidia-geforce-rtx-2080-super-610.57.04", func(t *testing.T, host *capturedHost) {
			devices(t, host, 1, "NVIDIA GeForce RTX 2080 SUPER", 8192, v1alpha1.SourceDriver)
			if version := host.label("nvidia.driver"); version != "610.57.04" {
				t.Errorf("driver %q", version)
			}
		}},
		{"nv-aws-t4-width", func(t *testing.T, host *capturedHost) {
			devices(t, host, 1, "Tesla T4", 15360, v1alpha1.SourceDriver)
			for id, signs := range host.Signs {
				if len(signs.Suspicions) > 0 {
					t.Errorf("%s: %+v", id, signs.Suspicions)
				}
			}
		}},
		{"nv-azure-a100-8", func(t *testing.T, host *capturedHost) {
			devices(t, host, 8, "NVIDIA A100-SXM4-80GB", 81920, v1alpha1.SourceCatalogue)
			if link, topology := host.label("nvidia.link"), host.label("nvidia.link-topology"); link != "NVLink" || topology != "Switch" {
				t.Errorf("linked by %q as %q", link, topology)
			}
		}},
	})
}

// checkGB10 expects the GPU of a DGX Spark, which works in the host's memory.
func checkGB10(t *testing.T, h *capturedHost) {
	devices(t, h, 1, "NVIDIA GB10", 122566, v1alpha1.SourceKernel)
	if len(h.Status.Devices) != 1 {
		return
	}
	d, reading := &h.Status.Devices[0], h.Readings[h.Status.Devices[0].ID]
	if d.Health.State != v1alpha1.Healthy || d.UUID == "" {
		t.Errorf("%+v, UUID %q", d.Health, d.UUID)
	}
	if d.Memory.Shared == nil || d.Memory.Shared.HostMiB != 122566 {
		t.Errorf("shared: %+v", d.Memory.Shared)
	}
	if used := reading.MemoryUsedMiB; used == nil || *used != 122566-118884 {
		t.Errorf("used: %v", used)
	}
	if quiet := h.quiet.Devices[0].Memory; quiet.TotalMiB != 122566 || quiet.Source != v1alpha1.SourceKernel {
		t.Errorf("without tools: %+v", quiet)
	}
}

// unread expects GPUs of 16 GiB with NVLinks of which nothing was published: they are said to be linked by neither NVLink nor PCIe.
func unread(count int, product string) func(*testing.T, *capturedHost) {
	return func(t *testing.T, host *capturedHost) {
		devices(t, host, count, product, 16384, v1alpha1.SourceCatalogue)
		if link := host.label("nvidia.link"); link != "" || len(host.Status.Links.Unread) != count {
			t.Errorf("linked by %q, links of %v are not known", link, host.Status.Links.Unread)
		}
	}
}

// devices fails where the host has another number of devices, or one of another product or memory.
func devices(t *testing.T, h *capturedHost, count int, product string, memoryMiB int64, source v1alpha1.FactSource) {
	t.Helper()
	if len(h.Status.Devices) != count {
		t.Errorf("%d devices, want %d", len(h.Status.Devices), count)
	}
	for i := range h.Status.Devices {
		d := &h.Status.Devices[i]
		if d.Product != product || d.Memory == nil || d.Memory.TotalMiB != memoryMiB || d.Memory.Source != source {
			t.Errorf("%s is %q with %+v, want %q with %d MiB (%s)", d.ID, d.Product, d.Memory, product, memoryMiB, source)
		}
	}
}
