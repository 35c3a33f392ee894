package amd

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/google"
	"github.com/rankwright/rankwright/pkg/detect/nvidia"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

// The captures of cards hold what is below /sys/class/drm/cardN. The PCI bus around them is composed here from the
// device's uevent; where other files that a full sysfs has were not captured, nothing stands in for them.
func TestCapturedCards(t *testing.T) {
	for name, want := range map[string]struct {
		card, address     string
		revision          string // where the capture has no such file: as libdrm's amdgpu.ids has it for the card
		product, firmware string
		totalMiB, usedMiB int64
		source            v1alpha1.FactSource
		health            v1alpha1.HealthState
	}{
		"rx580": {
			card: "card0", address: "0000:09:00.0", product: "AMD Radeon RX 580 Series", firmware: "113-1E3871U-O4C",
			totalMiB: 4096, usedMiB: 512, source: v1alpha1.SourceKernel, health: v1alpha1.Healthy,
		},
		"vega56": {
			card: "card0", address: "0000:0b:00.0", product: "AMD Radeon RX Vega 56", firmware: "115-D050PIL-100",
			totalMiB: 8176, usedMiB: 64, source: v1alpha1.SourceKernel, health: v1alpha1.Healthy,
		},
		"rx7800xt": {
			card: "card1", address: "0000:03:00.0", revision: "0xc8", product: "AMD Radeon RX 7800 XT", firmware: "113-EXT90249-100",
			totalMiB: 16384, source: v1alpha1.SourceCatalogue, health: v1alpha1.Unknown,
		},
		"rx7900xtx": {
			card: "card0", address: "0000:03:00.0", revision: "0xc8", product: "AMD Radeon RX 7900 XTX", firmware: "113-D70401XT-N11",
			totalMiB: 24576, source: v1alpha1.SourceCatalogue, health: v1alpha1.Unknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.PlaceCard(compose.Capture(t, "drm-sysfs/amd-"+name+".tar.gz"), want.card, want.revision)
			found := s.Detect(GPU())
			if len(found.Devices) != 1 {
				t.Fatalf("got %d devices, want 1", len(found.Devices))
			}
			device := found.Devices[0]
			if device.PCI.Address != want.address || device.ID != v1alpha1.DeviceID("amd-"+want.address) {
				t.Errorf("got %s at %s, want it at %s", device.ID, device.PCI.Address, want.address)
			}
			if device.Product != want.product || device.FirmwareVersion != want.firmware || device.Health.State != want.health {
				t.Errorf("got product %q, firmware %q, health %v", device.Product, device.FirmwareVersion, device.Health)
			}
			if device.Driver != "amdgpu" || device.DriverVersion != "6.8.0-60-generic" {
				t.Errorf("got driver %s %s: the VBIOS is not the driver", device.Driver, device.DriverVersion)
			}
			if wantPaths := []string{"/dev/dri/" + want.card}; !slices.Equal(device.Paths, wantPaths) {
				t.Errorf("got paths %v, want %v", device.Paths, wantPaths)
			}
			var memory *v1alpha1.DeviceMemory
			if want.totalMiB > 0 {
				memory = &v1alpha1.DeviceMemory{TotalMiB: want.totalMiB, UsedByOthersMiB: want.usedMiB, Source: want.source}
			}
			if diff := cmp.Diff(memory, device.Memory); diff != "" {
				t.Errorf("memory: %s", diff)
			}
		})
	}
}

// Cards of a vendor without a backend are nobody else's: an empty answer, and no failure.
func TestCapturedCardsOfOthers(t *testing.T) {
	for name, card := range map[string]string{"intel-a380-i915": "card1", "intel-a380-xe": "card0", "intel-b580": "card1"} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.PlaceCard(compose.Capture(t, "drm-sysfs/"+name+".tar.gz"), card, "")
			for _, backend := range []backend.Backend{GPU(), nvidia.GPU(), google.TPU()} {
				if found := s.Detect(backend); len(found.Devices) != 0 || found.Degraded != "" {
					t.Errorf("%s claims %+v, degraded %q", backend.Name(), found.Devices, found.Degraded)
				}
			}
		})
	}
}

// The KFD captures hold the topology alone: the PCI functions that it names are composed here, with the memory of the
// product.
func TestCapturedMI210(t *testing.T) {
	s := newTree(t)
	s.Place(compose.Capture(t, "rocm-kfd/topo-mi210-xgmi-pcie.tar.gz"), "testdata/topo-mi210-xgmi-pcie/", "/sys/class/kfd/kfd/topology")
	addresses := s.composeFunctions(compose.Merge(amdID("740f", "038000"), vram(65520, 10)))
	found := s.Detect(GPU())
	checkIDs(t, found, addresses)
	for _, device := range found.Devices {
		if device.Product != "AMD Instinct MI210" || device.Architecture != "CDNA2" || device.ComputeCapability != "gfx90a" || device.Memory.TotalMiB != 65520 ||
			device.Partition != nil || device.Health.State != v1alpha1.Healthy {
			t.Errorf("got %+v", device)
		}
	}
	if len(found.Links.Domains) != 2 || len(found.Links.Pairs) != 0 || found.Degraded != "" {
		t.Fatalf("got links %+v, degraded %q; want two domains", found.Links, found.Degraded)
	}
	for _, domain := range found.Links.Domains {
		if len(domain.Members) != 4 || domain.Kind != "XGMI" || domain.Topology != v1alpha1.TopologyMesh ||
			domain.PeerMBps != 50_000 || domain.DeviceMBps != 150_000 {
			t.Errorf("got domain %+v, want a mesh of 4 with 3 links of 50 GB/s each", domain)
		}
	}
}

func TestCapturedMI300XPartitions(t *testing.T) {
	s := newTree(t)
	s.Place(compose.Capture(t, "rocm-kfd/topo-mi300-cpx.tar.gz"), "testdata/topo-mi300-cpx/topology/", "/sys/class/kfd/kfd/topology")
	const cardMiB = 196592
	addresses := s.composeFunctions(compose.Merge(amdID("74a1", "120000"), vram(cardMiB, 283), compose.Attributes{
		"current_compute_partition": "CPX", "current_memory_partition": "NPS1",
	}))
	found := s.Detect(GPU())
	if got, want := len(addresses), 8; got != want {
		t.Fatalf("got %d cards, want %d", got, want)
	}
	byParent := map[v1alpha1.DeviceID][]v1alpha1.Device{}
	for _, device := range found.Devices {
		if device.Partition == nil {
			t.Fatalf("%s: %v", device.ID, device.Health)
		}
		byParent[device.Partition.Parent] = append(byParent[device.Partition.Parent], device)
	}
	// The kernel ran out of render nodes: the last card has seven of its eight partitions.
	last := slices.Max(slices.Collect(maps.Keys(byParent)))
	for _, parent := range slices.Sorted(maps.Keys(byParent)) {
		want := 8
		if parent == last {
			want = 7
		}
		if got := len(byParent[parent]); got != want {
			t.Errorf("%s: got %d partitions, want %d", parent, got, want)
		}
		checkPartitions(t, parent, byParent[parent], cardMiB/8)
	}
	if want := "0000:e5:00.0: 7 of 8 partitions are in the KFD topology"; found.Degraded != want {
		t.Errorf("got degraded %q, want %q", found.Degraded, want)
	}
	checkPartitionLinks(t, found)
}

func checkPartitions(t *testing.T, parent v1alpha1.DeviceID, parts []v1alpha1.Device, wantMiB int64) {
	t.Helper()
	for i, device := range parts {
		if device.Memory.TotalMiB != wantMiB {
			t.Errorf("%s: got %d MiB, want %d", device.ID, device.Memory.TotalMiB, wantMiB)
		}
		want := &v1alpha1.DevicePartition{Kind: "CPX", Parent: parent, Profile: "CPX/NPS1", Index: int32(i)}
		if diff := cmp.Diff(want, device.Partition); diff != "" {
			t.Errorf("%s: %s", device.ID, diff)
		}
		if device.ID != v1alpha1.DeviceID(fmt.Sprintf("%s-xcp%d", parent, i)) || device.Architecture != "CDNA3" || device.ComputeCapability != "gfx942" {
			t.Errorf("got id %s, architecture %s", device.ID, device.Architecture)
		}
	}
}

func checkPartitionLinks(t *testing.T, found backend.Found) {
	t.Helper()
	packages := 0
	for _, domain := range found.Links.Domains {
		if strings.HasPrefix(domain.Name, "package-") {
			packages++
			if domain.PeerMBps != 819_200 || domain.Topology != v1alpha1.TopologySwitch {
				t.Errorf("got %+v, want the rate that KFD reports inside a package", domain)
			}
			continue
		}
		if len(domain.Members) != len(found.Devices) || domain.PeerMBps != 1000 || domain.DeviceMBps != 56_000 {
			t.Errorf("got %d members, %d and %d MB/s; want all, and an eighth of a card's seven links of 64 GB/s",
				len(domain.Members), domain.PeerMBps, domain.DeviceMBps)
		}
	}
	if packages != 8 || len(found.Links.Domains) != 9 {
		t.Errorf("got %d domains of a package in %d, want 8 in 9", packages, len(found.Links.Domains))
	}
}

// composeFunctions adds a PCI function for every GPU that the placed KFD topology names, and returns their addresses.
func (s tree) composeFunctions(files compose.Attributes) []string {
	s.Helper()
	nodes, err := readKFD(s.Host().Files)
	s.Must(err)
	seen := map[string]bool{}
	for _, node := range nodes {
		if !node.gpu() {
			continue
		}
		// No GPU of these captures has another function than 0.
		address, _ := node.place(func(address string) bool { return strings.HasSuffix(address, ".0") })
		if !seen[address] {
			seen[address] = true
			s.Function(path.Join("pci0000:"+strconv.Itoa(len(seen)), address), "amdgpu", files)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func checkIDs(t *testing.T, found backend.Found, addresses []string) {
	t.Helper()
	var got []string
	for _, device := range found.Devices {
		got = append(got, strings.TrimPrefix(string(device.ID), "amd-"))
	}
	if diff := cmp.Diff(addresses, got); diff != "" {
		t.Error(diff)
	}
}
