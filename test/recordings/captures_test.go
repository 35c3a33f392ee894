package main

import (
	"bytes"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	outside "github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect"
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
			recording, err := detect.ReadRecording(bytes.NewReader(outside.ReadPacked(t, "captures/recordings/"+c.file+".tar.gz")))
			if err != nil {
				t.Fatal(err)
			}
			host := capturedHost{Report: detect.Detect(t.Context(), recording.Host(), detect.Options{})}
			host.quiet = detect.Detect(t.Context(), &detect.Host{Files: recording.Host().Files}, detect.Options{}).Status
			host.labels = nodeagent.Labels(&host.Status)
			checkOnce(t, &host.Status)
			checkWithoutTools(t, c.file, ids(&host.Status), ids(&host.quiet))
			c.check(t, &host)
		})
	}
}

// The hosts of NVIDIA that were answered wrong once, and one that never was.
func TestNVIDIACaptures(t *testing.T) {
	replayCaptures(t, []capture{
		{"nv-azure-a100-8", func(t *testing.T, host *capturedHost) {
			devices(t, host, 8, "NVIDIA A100-SXM4-80GB", 81920, v1alpha1.SourceCatalogue)
			if link, topology := host.label("nvidia.link"), host.label("nvidia.link-topology"); link != "NVLink" || topology != "Switch" {
				t.Errorf("linked by %q as %q", link, topology)
			}
		}},
	})
}

// devices fails where the host has another number of devices, or one of another product or memory.
func devices(t *testing.T, host *capturedHost, count int, product string, memoryMiB int64, source v1alpha1.FactSource) {
	t.Helper()
	if len(host.Status.Devices) != count {
		t.Errorf("%d devices, want %d", len(host.Status.Devices), count)
	}
	for i := range host.Status.Devices {
		d := &host.Status.Devices[i]
		if d.Product != product || d.Memory == nil || d.Memory.TotalMiB != memoryMiB || d.Memory.Source != source {
			t.Errorf("%s is %q with %+v, want %q with %d MiB (%s)", d.ID, d.Product, d.Memory, product, memoryMiB, source)
		}
	}
}
