package pci_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// The captures hold the sysfs of real hosts: virtual machines with an NVIDIA GPU, and with an accelerator (class 12) of
// a vendor that no backend knows.
func TestPCICaptures(t *testing.T) {
	tests := map[string]struct {
		functions int
		devices   []v1alpha1.Device
	}{
		"linux-amd64-accel.tar.gz": {functions: 26, devices: []v1alpha1.Device{{
			ID: "pci-1b36-0000:00:04.0", Vendor: "pci-1b36", Family: v1alpha1.FamilyASIC, Backend: "unknown-accelerator",
			Driver: "fake_pci_driver",
			PCI: &v1alpha1.PCIDevice{
				Address: "0000:00:04.0", VendorID: "1b36", DeviceID: "0005", Revision: "00",
				Root: "pci0000:00",
			},
			Health: v1alpha1.DeviceHealth{
				State: v1alpha1.Unknown, Reason: "UnknownAccelerator",
				Message: "no backend knows this accelerator: it is listed, and neither offered nor planned on",
			},
		}}},
		"linux-amd64-accel-nvidia.tar.gz": {functions: 29, devices: []v1alpha1.Device{{
			ID: "nvidia-0000:06:00.0", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Backend: "nvidia", ComputeCapability: "6.0",
			Driver: "nvidia",
			PCI: &v1alpha1.PCIDevice{
				Address: "0000:06:00.0", VendorID: "10de", DeviceID: "15f8", Revision: "a1", Root: "pci0000:00", Bridges: []string{"0000:00:01.5"},
			},
			Health: v1alpha1.DeviceHealth{
				State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored,
				Message: "the driver is bound to the GPU, and only its own tools can tell more: neither rankwright-nvml nor nvidia-smi " +
					"reported it, install one or make the driver's library visible",
			},
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := capturedTree(t, facts.Read(t, "captures/pci-sysfs/"+name)).Replay(t)
			functions, err := pci.Functions(h)
			if err != nil || len(functions) != test.functions {
				t.Errorf("%d functions, want %d; %v", len(functions), test.functions, err)
			}
			status := detect.Detect(t.Context(), h, detect.Options{}).Status
			got := status.Devices
			for i := range got { // what the catalogue adds is tested with the catalogue
				got[i].Product, got[i].Architecture, got[i].Memory, got[i].Performance = "", "", nil, nil
			}
			if diff := cmp.Diff(test.devices, got); diff != "" {
				t.Error(diff)
			}
			if status.Host.CPU.Threads == 0 || status.Host.Memory.TotalMiB == 0 {
				t.Errorf("host: %+v", status.Host)
			}
		})
	}
}

func TestPCIFunctionAttributes(t *testing.T) {
	numa := int32(1)
	tests := map[string]struct {
		function compose.Function
		want     v1alpha1.PCIDevice
		numa     *int32
	}{
		"behind a switch": {
			compose.Function{Place: "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", IDs: "10de:2330 10de:16c1", Class: "030200", Revision: "a1", NUMA: 1, Link: "32.0 GT/s PCIe x16"},
			v1alpha1.PCIDevice{
				Address: "0000:17:00.0", VendorID: "10de", DeviceID: "2330", SubsystemVendorID: "10de", SubsystemDeviceID: "16c1", Revision: "a1",
				Root: "pci0000:15", Bridges: []string{"0000:15:01.0", "0000:16:00.0"}, LinkMTps: 32000, LinkWidth: 16,
			},
			&numa,
		},
		"on the root, old and without a node": {
			compose.Function{Place: "pci0000:00/0000:00:02.0", IDs: "1002:0001 0000:0000", Class: "030000", Revision: "00", NUMA: -1, Link: "2.5 GT/s x255"},
			v1alpha1.PCIDevice{
				Address: "0000:00:02.0", VendorID: "1002", DeviceID: "0001", SubsystemVendorID: "0000", SubsystemDeviceID: "0000", Revision: "00",
				Root: "pci0000:00", LinkMTps: 2500,
			},
			nil,
		},
		"in a domain of a volume manager": {
			compose.Function{Place: "pci0000:e0/0000:e0:00.5/pci10000:e0/10000:e0:02.0/10000:e1:00.0", IDs: "10de:26b9 10de:1851", Class: "030200", Revision: "a1", NUMA: 1, Link: "Unknown x0"},
			v1alpha1.PCIDevice{
				Address: "10000:e1:00.0", VendorID: "10de", DeviceID: "26b9", SubsystemVendorID: "10de", SubsystemDeviceID: "1851", Revision: "a1",
				Root: "pci0000:e0", Bridges: []string{"0000:e0:00.5", "10000:e0:02.0"},
			},
			&numa,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.New("pci")
			h.PCI(test.function)
			functions, err := pci.Functions(h.Replay(t))
			if err != nil || len(functions) != 1 {
				t.Fatalf("%+v, %v", functions, err)
			}
			if diff := cmp.Diff(test.want, functions[0].PCIDevice); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.numa, functions[0].NUMANode); diff != "" || functions[0].Class != test.function.Class {
				t.Errorf("class %s, NUMA node\n%s", functions[0].Class, diff)
			}
		})
	}
}

func TestPCIWithoutSysfs(t *testing.T) {
	if _, err := pci.Functions(host.NewRecording().Host()); err == nil {
		t.Error("a host without /sys has no PCI functions")
	}
	noBus := host.NewRecording()
	if err := noBus.AddFolder("/sys/bus/virtio"); err != nil {
		t.Fatal(err)
	}
	if functions, err := pci.Functions(noBus.Host()); err != nil || len(functions) != 0 {
		t.Errorf("a host without a PCI bus: %v, %v", functions, err)
	}
}

func TestPCIOneFunctionHidesNoOther(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		state v1alpha1.BackendState
	}{
		"unreadable": {errors.New("input/output error"), v1alpha1.BackendDegraded},
		"unplugged":  {fs.ErrNotExist, v1alpha1.BackendFound},
	} {
		t.Run(name, func(t *testing.T) {
			h := compose.Recorded(t, "nvidia-l40s-4.tar.gz")
			h.Files = compose.Broken{Files: h.Files, Name: "/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/vendor", Err: test.err}
			status := detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{nvidia.GPU()}}).Status
			if len(status.Devices) != 3 || status.Backends[0].State != test.state {
				t.Errorf("%d devices, %+v", len(status.Devices), status.Backends)
			}
		})
	}
}

// shuffled lists folders in any order, as the interface forbids and file systems do.
type shuffled struct {
	host.Files
	seed uint64
}

func (s shuffled) ReadDir(name string) ([]string, error) {
	names, err := s.Files.ReadDir(name)
	rand.New(rand.NewPCG(s.seed, uint64(len(name)))).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] }) //nolint:gosec // reproducible
	return names, err
}

func TestDetectDoesNotDependOnTheOrderOfListings(t *testing.T) {
	h := compose.Recorded(t, "nvidia-h100-8.tar.gz")
	want, err := json.Marshal(detect.Detect(t.Context(), h, detect.Options{}).Status)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		other := &host.Host{Files: shuffled{h.Files, rapid.Uint64().Draw(r, "seed")}, Commands: h.Commands}
		got, err := json.Marshal(detect.Detect(t.Context(), other, detect.Options{}).Status)
		if err != nil || !bytes.Equal(got, want) {
			r.Fatalf("%v\n%s\n%s", err, want, got)
		}
	})
}

// capturedTree is a recording of a host whose /sys and /proc were packed without a recording's names.
func capturedTree(t *testing.T, archive []byte) *compose.Host {
	t.Helper()
	h := compose.New("captured")
	reader := tar.NewReader(strings.NewReader(string(archive)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return h
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join("/", header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			h.Folder(name)
		case tar.TypeSymlink:
			h.Link(name, header.Linkname)
		case tar.TypeReg:
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			h.Keep(h.AddFile(name, string(data)))
		}
	}
}
