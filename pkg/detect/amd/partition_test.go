package amd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// xcp is the KFD node of a partition of the card at 0000:05:00.0.
func (s tree) xcp(node, partition, render int, bankBytes int64) {
	s.Helper()
	s.kfdNode(node, fmt.Sprintf("simd_count 152\ngfx_target_version 90402\nlocation_id %d\ndrm_render_minor %d\n",
		partition<<28|0x0500, render))
	s.File(fmt.Sprintf("%s/%d/gpu_id", kfdNodes, node), fmt.Sprintf("%d\n", 1000+node))
	if bankBytes > 0 {
		s.File(fmt.Sprintf("%s/%d/mem_banks/0/properties", kfdNodes, node), fmt.Sprintf("heap_type 1\nsize_in_bytes %d\n", bankBytes))
		s.File(fmt.Sprintf("%s/%d/mem_banks/1/properties", kfdNodes, node), "heap_type 0\nsize_in_bytes 99999999999\n")
	}
}

// composeDPX composes a card with 8 GiB in DPX mode, with a platform device for the second partition as amdgpu makes.
func composeDPX(t *testing.T, bankBytes int64) tree {
	s := newTree(t)
	s.Folder("/sys/class/kfd/kfd")
	folder := s.Function("pci0000:00/0000:05:00.0", "amdgpu", compose.Merge(mi300x(), vram(8192, 0), compose.Attributes{"current_compute_partition": "DPX"}))
	s.DRM(folder, "card1", "renderD128")
	s.DRM("/sys/devices/platform/amdgpu_xcp_0", "card2", "renderD129")
	s.xcp(2, 0, 128, bankBytes)
	s.xcp(3, 1, 129, bankBytes)
	return s
}

func TestAMDPartitions(t *testing.T) {
	for name, test := range map[string]struct{ bank, want int64 }{
		"banks of the memory mode":               {3 << 30, 3072},
		"banks that are not there":               {0, 4096},
		"banks that are more than the card's":    {8 << 30, 4096},
		"banks that are exactly the card's half": {4 << 30, 4096},
	} {
		t.Run(name, func(t *testing.T) {
			s := composeDPX(t, test.bank)
			s.File("/sys/class/kfd/kfd/proc/4711/vram_1003", fmt.Sprint(int64(2500)<<20))
			s.File("/sys/class/kfd/kfd/proc/4711/vram_1002", "0\n")
			found := s.Detect(GPU())
			checkIDs(t, found, []string{"0000:05:00.0-xcp0", "0000:05:00.0-xcp1"})
			for i, paths := range [][]string{
				{"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1"},
				{"/dev/kfd", "/dev/dri/renderD129", "/dev/dri/card2"},
			} {
				device := found.Devices[i]
				if !slices.Equal(device.Paths, paths) || *device.Index != int32(128+i) {
					t.Errorf("%s: got paths %v, index %d; want %v", device.ID, device.Paths, *device.Index, paths)
				}
				memory := &v1alpha1.DeviceMemory{TotalMiB: test.want, UsedByOthersMiB: int64(3072 * i), Source: v1alpha1.SourceKernel}
				if diff := cmp.Diff(memory, device.Memory); diff != "" {
					t.Errorf("%s: %s", device.ID, diff)
				}
				partition := &v1alpha1.DevicePartition{Kind: "DPX", Parent: "amd-0000:05:00.0", Profile: "DPX/NPS1", Index: int32(i)}
				if diff := cmp.Diff(partition, device.Partition); diff != "" {
					t.Errorf("%s: %s", device.ID, diff)
				}
				if device.UUID != "" || device.Performance.MemoryBandwidthMBps != 2_650_000 {
					t.Errorf("%s: got UUID %q, bandwidth %d; want none and half the card's", device.ID, device.UUID,
						device.Performance.MemoryBandwidthMBps)
				}
			}
		})
	}
}

// Two cards of which KFD shows a different number of partitions: the rest is told, and the memory is not shared among
// fewer.
func TestAMDPartitionMissing(t *testing.T) {
	s := composeDPX(t, 0)
	s.Function("pci0000:10/0000:15:00.0", "amdgpu", compose.Merge(mi300x(), compose.Attributes{"current_compute_partition": "DPX"}))
	s.kfdNode(4, fmt.Sprintf("simd_count 608\nlocation_id %d\n", 1<<28|0x1500))
	found := s.Detect(GPU())
	checkIDs(t, found, []string{"0000:05:00.0-xcp0", "0000:05:00.0-xcp1", "0000:15:00.0"})
	if state := found.Devices[2].Health.State; state != v1alpha1.Unknown || found.Degraded == "" {
		t.Errorf("got %s, degraded %q; want Unknown and the reason", state, found.Degraded)
	}
}

// renumbered is a file tree whose folders list their names in another order.
type renumbered struct {
	host.Files
	seed uint64
}

func (f renumbered) ReadDir(name string) ([]string, error) {
	names, err := f.Files.ReadDir(name)
	names = slices.Clone(names)
	rand.New(rand.NewPCG(f.seed, 1)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names, err
}

// Neither the order in which folders list their names nor the numbers that DRM and KFD give out change what is found,
// but for those numbers themselves.
func TestAMDOrderDoesNotMatter(t *testing.T) {
	composeHost := func(minors []int) tree {
		s := newTree(t)
		for i, minor := range minors {
			place := fmt.Sprintf("pci0000:%d0/0000:%d5:00.0", i, i)
			memory := vram(int64(10000*(i+1)), int64(2000*i))
			folder := s.Function(place, "amdgpu", compose.Merge(mi300x(), memory, compose.Attributes{"unique_id": fmt.Sprintf("%016x", i+1)}))
			s.DRM(folder, fmt.Sprint("card", minor), fmt.Sprint("renderD", 128+minor))
			var links []string
			for j, other := range minors {
				if j != i {
					links = append(links, fmt.Sprintf("type 11\nnode_to %d\nweight 15\nmax_bandwidth 64000\n", other+2))
				}
			}
			s.kfdNode(minor+2, fmt.Sprintf("simd_count 1216\ngfx_target_version 90402\nlocation_id %d\n", (i*16+5)<<8), links...)
		}
		return s
	}
	plain := composeHost([]int{0, 1, 2, 3, 4, 5, 6, 7}).Detect(GPU())
	rapid.Check(t, func(r *rapid.T) {
		minors := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).Draw(r, "minors")[:8]
		h := &host.Host{Files: renumbered{composeHost(minors).Host().Files, rapid.Uint64().Draw(r, "seed")}}
		found := probe.Detect(t, h, GPU())
		for i := range found.Devices {
			if want := int32(128 + minors[i]); *found.Devices[i].Index != want {
				r.Fatalf("%s: got render minor %d, want %d", found.Devices[i].ID, *found.Devices[i].Index, want)
			}
			found.Devices[i].Index, found.Devices[i].Paths = plain.Devices[i].Index, plain.Devices[i].Paths
		}
		if diff := cmp.Diff(plain, found); diff != "" {
			r.Fatal(diff)
		}
	})
}

// Where the kernel does not number partitions, their order does.
func TestAMDPartitionsWithoutNumbers(t *testing.T) {
	s := newTree(t)
	s.Function("pci0000:00/0000:05:00.0", "amdgpu", mi300x(), compose.Attributes{"current_compute_partition": "DPX"})
	s.kfdNode(2, "simd_count 608\nlocation_id 1280\ndrm_render_minor 128\n")
	s.kfdNode(3, "simd_count 608\nlocation_id 1280\ndrm_render_minor 129\n")
	found := s.Detect(GPU())
	checkIDs(t, found, []string{"0000:05:00.0-xcp0", "0000:05:00.0-xcp1"})
	if *found.Devices[0].Index != 128 || *found.Devices[1].Index != 129 {
		t.Errorf("got render minors %d and %d", *found.Devices[0].Index, *found.Devices[1].Index)
	}
}
