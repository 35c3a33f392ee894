//go:build linux

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestUnpackHost(t *testing.T) {
	file, err := os.Open("../recordings/nvidia-h100-8.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	folder := t.TempDir()
	devices, err := unpackHost(file, folder)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(devices, "/dev/nvidia0") {
		t.Errorf("no /dev/nvidia0 among the device nodes %q", devices)
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
