package google

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func tpuFunction(device, subsystem string) compose.Attributes {
	return compose.Attributes{
		"vendor": "0x1ae0", "device": "0x" + device, "class": "0x120000",
		"subsystem_vendor": "0x1ae0", "subsystem_device": "0x" + subsystem, "numa_node": "0",
	}
}

// vfio adds chips that VFIO passes to user space, each in an IOMMU group of its own, counted from 0.
func (s tree) vfio(chips int, device string) {
	s.Helper()
	for i := range chips {
		folder := s.Function(fmt.Sprintf("pci0000:00/0000:00:%02x.0", i+4), "vfio-pci", tpuFunction(device, "0000"))
		s.Folder(fmt.Sprint("/sys/kernel/iommu_groups/", i))
		s.Link(folder+"/iommu_group", fmt.Sprint("/sys/kernel/iommu_groups/", i))
		s.Must(s.AddDevice(fmt.Sprint("/dev/vfio/", i)))
	}
}

func TestTPUGenerations(t *testing.T) {
	for _, test := range []struct {
		device, subsystem, product, architecture string
		memoryMiB                                int64
		devices                                  int
	}{
		{"0027", "004e", "TPU v2", "v2", 16 << 10, 1},
		{"0027", "004f", "TPU v3", "v3", 32 << 10, 1},
		{"005e", "0000", "TPU v4", "v4", 32 << 10, 1},
		{"0063", "0000", "TPU v5e (v5 lite)", "v5e", 16 << 10, 1},
		{"0062", "0000", "TPU v5p", "v5p", 95 << 10, 1},
		{"006f", "0000", "TPU v6e (Trillium)", "v6e", 32 << 10, 1},
		{"0076", "0000", "TPU7x (Ironwood)", "v7x", 96 << 10, 2},
		{"0027", "0050", "", "", 0, 0},
		{"001f", "0000", "", "", 0, 0},
		{"0042", "0058", "", "", 0, 0},
		{"abcd", "0000", "", "", 0, 0},
	} {
		t.Run(test.device+" "+test.subsystem, func(t *testing.T) {
			s := newTree(t)
			s.Function("pci0000:00/0000:00:04.0", "", tpuFunction(test.device, test.subsystem))
			found := s.Detect(TPU())
			if len(found.Devices) != test.devices || len(found.Links.Domains) != 0 {
				t.Fatalf("got %d devices and links %+v, want %d and none", len(found.Devices), found.Links, test.devices)
			}
			for _, device := range found.Devices {
				if device.Product != test.product || device.Architecture != test.architecture {
					t.Errorf("got %q %q", device.Product, device.Architecture)
				}
				want := &v1alpha1.DeviceMemory{TotalMiB: test.memoryMiB, Source: v1alpha1.SourceCatalogue}
				if diff := cmp.Diff(want, device.Memory); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestTPUDeviceNodes(t *testing.T) {
	for name, test := range map[string]struct {
		compose func(s tree)
		paths   []string
		health  string
	}{
		"VFIO": {func(s tree) { s.vfio(1, "0062") }, []string{"/dev/vfio/0", "/dev/vfio/vfio"}, "Healthy Opened"},
		"the accel driver": {func(s tree) {
			folder := s.Function("pci0000:00/0000:00:05.0", "tpu_v4", tpuFunction("005e", "0000"))
			s.Link("/sys/class/accel/accel3", folder+"/accel/accel3")
			s.Link(folder+"/accel/accel3/device", folder)
			s.Must(s.AddDevice("/dev/accel3"))
		}, []string{"/dev/accel3"}, "Healthy Opened"},
		"no driver": {func(s tree) {
			s.Function("pci0000:00/0000:00:05.0", "", tpuFunction("0062", "0000"))
		}, nil, "Unknown DriverMissing"},
		"no node": {func(s tree) {
			s.Function("pci0000:00/0000:00:05.0", "vfio-pci", tpuFunction("0062", "0000"))
		}, nil, "Unknown DeviceNodeMissing"},
		"another vendor's accel0 beside it": {func(s tree) {
			s.Function("pci0000:00/0000:00:05.0", "tpu_v4", tpuFunction("005e", "0000"))
			npu := s.Function("pci0000:00/0000:00:0b.0", "intel_vpu", compose.Attributes{"vendor": "0x8086", "device": "0x7d1d", "class": "0x120000"})
			s.Link("/sys/class/accel/accel0", npu+"/accel/accel0")
			s.Link(npu+"/accel/accel0/device", npu)
			s.Must(s.AddDevice("/dev/accel0"))
		}, nil, "Unknown DeviceNodeMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			test.compose(s)
			found := s.Detect(TPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices, want 1", len(found.Devices))
			}
			device := found.Devices[0]
			if health := strings.TrimSpace(string(device.Health.State) + " " + device.Health.Reason); health != test.health {
				t.Errorf("got %s, want %s", health, test.health)
			}
			if !slices.Equal(device.Paths, test.paths) {
				t.Errorf("got paths %v, want %v", device.Paths, test.paths)
			}
		})
	}
}

// Accelerators of other vendors have nodes in /dev/accel, too.
func TestTPUIsNotAnotherVendorsAccel(t *testing.T) {
	s := newTree(t)
	for i, other := range []compose.Attributes{
		{"vendor": "0x1022", "device": "0x17f0", "class": "0x118000"},
		{"vendor": "0x1da3", "device": "0x1020", "class": "0x120000"},
		{"vendor": "0x8086", "device": "0x7d1d", "class": "0x120000"},
	} {
		folder := s.Function(fmt.Sprintf("pci0000:00/0000:00:%02x.0", i), []string{"amdxdna", "habanalabs", "intel_vpu"}[i], other)
		s.Link(fmt.Sprint("/sys/class/accel/accel", i), fmt.Sprint(folder, "/accel/accel", i))
		s.Link(fmt.Sprint(folder, "/accel/accel", i, "/device"), folder)
		s.Must(s.AddDevice(fmt.Sprint("/dev/accel", i)))
	}
	if diff := cmp.Diff(backend.Found{}, s.Detect(TPU())); diff != "" {
		t.Error(diff)
	}
}

func TestTPULinks(t *testing.T) {
	for _, test := range []struct {
		device           string
		chips            int
		shape            []int32
		members          int
		peer, deviceMBps int64
	}{
		{"0062", 4, []int32{2, 2, 1}, 4, 100_000, 200_000},
		{"005e", 4, []int32{2, 2, 1}, 4, 50_000, 100_000},
		{"0063", 4, []int32{2, 2}, 4, 50_000, 100_000},
		{"0063", 8, []int32{2, 4}, 8, 50_000, 100_000},
		{"006f", 8, []int32{2, 4}, 8, 100_000, 200_000},
		{"0076", 4, []int32{2, 2, 1, 2}, 8, 50_000, 100_000},
		{"0076", 8, []int32{2, 2, 1, 2}, 8, 50_000, 100_000},
	} {
		t.Run(fmt.Sprint(test.device, " ", test.chips), func(t *testing.T) {
			s := newTree(t)
			s.vfio(test.chips, test.device)
			found := s.Detect(TPU())
			if len(found.Links.Domains) != 1 || found.Degraded != "" {
				t.Fatalf("got %+v, degraded %q", found.Links, found.Degraded)
			}
			got := found.Links.Domains[0]
			want := v1alpha1.LinkDomain{
				Name: "ici-0000:00:04.0", Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: test.shape,
				PeerMBps: test.peer, DeviceMBps: test.deviceMBps, Members: got.Members,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(got.Members) != test.members || len(found.Devices) != test.members {
				t.Errorf("got %d members and %d devices, want %d", len(got.Members), len(found.Devices), test.members)
			}
		})
	}
}

func TestTPULinksOfAnIncompleteHost(t *testing.T) {
	s := newTree(t)
	s.vfio(3, "0062")
	found := s.Detect(TPU())
	if len(found.Devices) != 3 || len(found.Links.Domains) != 0 || !strings.Contains(found.Degraded, "3 chips") {
		t.Errorf("got %d devices, links %+v, degraded %q", len(found.Devices), found.Links, found.Degraded)
	}
}

func TestTPUCores(t *testing.T) {
	s := newTree(t)
	s.vfio(1, "0076")
	found := s.Detect(TPU())
	for i, device := range found.Devices {
		want := &v1alpha1.DevicePartition{Kind: "core", Parent: "google-0000:00:04.0", Index: int32(i)}
		if diff := cmp.Diff(want, device.Partition); diff != "" {
			t.Error(diff)
		}
		if device.ID != v1alpha1.DeviceID(fmt.Sprintf("google-0000:00:04.0-%d", i)) ||
			device.Performance.MemoryBandwidthMBps != 3_690_000 {
			t.Errorf("got %s with %d MB/s, want half a chip", device.ID, device.Performance.MemoryBandwidthMBps)
		}
	}
}

// Where each core is a function, none is counted twice, and neighbours are a chip's.
func TestTPUFunctionsOfAChip(t *testing.T) {
	s := newTree(t)
	s.vfio(8, "0076")
	found := s.Detect(TPU())
	if len(found.Devices) != 8 {
		t.Fatalf("got %d devices of 4 chips, want 8", len(found.Devices))
	}
	for i, device := range found.Devices {
		want := &v1alpha1.DevicePartition{Kind: "core", Parent: v1alpha1.DeviceID(fmt.Sprintf("google-0000:00:%02x.0", 4+i-i%2)), Index: int32(i % 2)}
		if diff := cmp.Diff(want, device.Partition); diff != "" {
			t.Error(diff)
		}
		own := fmt.Sprint("/dev/vfio/", i)
		if device.ID != v1alpha1.DeviceID(fmt.Sprintf("google-0000:00:%02x.0-%d", 4+i, i%2)) || device.Memory.TotalMiB != 96<<10 || device.Paths[0] != own {
			t.Errorf("got %s with %d MiB by %v, want half a chip by %s", device.ID, device.Memory.TotalMiB, device.Paths, own)
		}
	}
}

// A function that is missing makes the others no more than they are.
func TestTPUFunctionsOfAnIncompleteHost(t *testing.T) {
	s := newTree(t)
	s.vfio(7, "0076")
	found := s.Detect(TPU())
	if len(found.Devices) != 7 || len(found.Links.Domains) != 0 || !strings.Contains(found.Degraded, "7 functions, 2 to a chip") {
		t.Errorf("got %d devices, links %+v, degraded %q", len(found.Devices), found.Links, found.Degraded)
	}
}
