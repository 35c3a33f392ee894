package main

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

// GPUs that may have NVLinks are said to have some where a tool says so or the host shows switches, and never to have none where
// nothing was asked: the NVSwitches of an HGX B200 or a rack of GB200 are on no PCI bus of the host.
func TestLinkLabels(t *testing.T) {
	for name, want := range map[string]struct{ asked, unasked string }{
		"nvidia-v100-dgx1":      {"NVLink", ""},
		"nvidia-b200-8":         {"NVLink", ""},
		"nvidia-gb200-tray":     {"NVLink", ""},
		"nvidia-h100-8":         {"NVLink", "NVLink"},
		"nvidia-rtx-pro-6000-8": {"PCIe", "PCIe"},
		"nvidia-l40s-4":         {"PCIe", "PCIe"},
	} {
		t.Run(name, func(t *testing.T) {
			host := recordings[name]().Host()
			status := detect.Detect(t.Context(), host, detect.Options{}).Status
			host.Commands = nil
			quiet := detect.Detect(t.Context(), host, detect.Options{}).Status
			const label = v1alpha1.Prefix + "nvidia.link"
			if asked, unasked := nodeagent.Labels(&status)[label], nodeagent.Labels(&quiet)[label]; asked != want.asked || unasked != want.unasked {
				t.Errorf("linked by %q, unasked by %q, want %q and %q", asked, unasked, want.asked, want.unasked)
			}
		})
	}
}
