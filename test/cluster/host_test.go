//go:build linux

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnpackHost(t *testing.T) {
	file, err := os.Open("../recordings/nvidia-h100-8.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	folder := t.TempDir()
	recorded, err := unpackHost(file, folder)
	if err != nil {
		t.Fatal(err)
	}
	if nodes := recorded.nodes(); !slices.Contains(nodes, "/dev/nvidia0") || !slices.Contains(nodes, "/dev/nvidiactl") {
		t.Errorf("no /dev/nvidia0 and /dev/nvidiactl among the device nodes %q", nodes)
	}
	if !strings.Contains(string(recorded.commands), `"nvidia-smi"`) {
		t.Errorf("no tools: %.200s", recorded.commands)
	}
	links, err := filepath.Glob(folder + "/sys/bus/pci/devices/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("no PCI devices: %v", err)
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join(link, "vendor")); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
}
