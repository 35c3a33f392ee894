package amd

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// amdCard is a PCI function with all that amdgpu, KFD and the catalogue say of it.
type amdCard struct {
	pci.Function
	drm sysfs.DRMNodes
	// nodes are the KFD nodes of the devices that the card is listed as, in order of their partitions; none where KFD does
	// not show them.
	nodes []kfdNode
	// kfd says that the host has the KFD device.
	kfd bool

	// listed is the card as one device, as far as kernel and catalogue know any PCI function.
	listed v1alpha1.Device
	gfx    string
	// compute and memory are the partition modes (`CPX`, `NPS1`); empty where the card has none.
	compute, memoryMode string
	totalBytes          int64
	usedBytes           int64
	memoryErr           error
	// shared is set for the graphics of a processor, whose memory is the host's.
	shared *amdShared
	// parts is the number of partitions that the card is cut into; 1 where it is whole.
	parts int
	// partitionErr says why a card that is cut is listed as one, missingErr which of its parts are not.
	partitionErr, missingErr error
	ras                      amdRAS
	reading                  backend.Reading
	signs                    backend.Signs
	// hive is the XGMI hive, "" where there is none; hops the distances to its members.
	hive string
	hops []int

	product accelerator.Product
	known   bool
}

// groupKFD assigns the GPU nodes to the functions that they are on, by domain and location.
func groupKFD(nodes []kfdNode, gpus []pci.Function) map[string][]kfdNode {
	isGPU := func(address string) bool {
		return slices.ContainsFunc(gpus, func(f pci.Function) bool { return f.Address == address })
	}
	groups := map[string][]kfdNode{}
	for _, node := range nodes {
		if node.gpu() {
			address, partition := node.place(isGPU)
			node.partition = partition
			groups[address] = append(groups[address], node)
		}
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b kfdNode) int {
			return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.number, b.number))
		})
		numberPartitions(group)
	}
	return groups
}

// numberPartitions counts partitions by their order where the kernel does not tell them apart.
func numberPartitions(group []kfdNode) {
	same := func(a, b kfdNode) bool { return a.partition == b.partition }
	if len(slices.CompactFunc(slices.Clone(group), same)) == len(group) {
		return
	}
	for i := range group {
		group[i].partition = i
	}
}

// readAMDCard reads the files of a function (Linux, Documentation/gpu/amdgpu).
func readAMDCard(files host.Files, function pci.Function, drm sysfs.DRM, nodes []kfdNode) amdCard {
	card := amdCard{
		Function:   function,
		drm:        drm.ByFolder[function.Path],
		nodes:      nodes,
		kfd:        host.Exists(files, "/sys/class/kfd/kfd"),
		compute:    host.Clip(host.Text(files, function.Path, "current_compute_partition"), 16),
		memoryMode: host.Clip(host.Text(files, function.Path, "current_memory_partition"), 16),
		hive:       host.Text(files, function.Path, "xgmi_hive_info/xgmi_hive_id"),
		hops:       parseHops(host.Text(files, function.Path, "xgmi_num_hops")),
	}
	if card.hive == "0" {
		card.hive = ""
	}
	card.readMemory(files)
	name := host.Clip(host.Text(files, function.Path, "product_name"), 256)
	card.listed, card.product, card.known = amdKind.Measured(files, function, name, card.totalBytes>>20)
	card.listed.FirmwareVersion = host.Text(files, function.Path, "vbios_version")
	card.listed.UUID = amdUUID(host.Text(files, function.Path, "unique_id"))
	if card.integrated() {
		card.readShared(files)
	}
	if function.Driver == amdDriver {
		card.ras = readAMDRAS(files, function.Path)
		card.reading, card.signs = backend.ReadHwmon(files, function.Path)
		card.signs.Add(card.ras.signs())
		card.reading.UtilizationPercent = backend.ReadNumber(files, path.Join(function.Path, "gpu_busy_percent"), 0, 100)
		if card.totalBytes > 0 {
			card.reading.MemoryUsedMiB = new(card.usedBytes >> 20)
		}
	}
	card.readArchitecture(files)
	return card
}

func (c *amdCard) readMemory(files host.Files) {
	total, _, err := host.ReadInt(files, path.Join(c.Path, "mem_info_vram_total"))
	c.totalBytes = max(total, 0)
	if c.totalBytes == 0 && err == nil {
		for _, node := range c.nodes {
			c.totalBytes += int64(min(node.memoryBytes, 1<<50))
		}
	}
	if c.totalBytes == 0 {
		c.memoryErr = cmp.Or(err, errors.New("amdgpu reports no memory of its own"))
	}
	used, _, _ := host.ReadInt(files, path.Join(c.Path, "mem_info_vram_used"))
	c.usedBytes = min(max(used, 0), c.totalBytes)
}

// readArchitecture takes the instruction set from KFD, else from the version of the graphics core, else from the PCI id, else
// what the catalogue calls the architecture.
func (c *amdCard) readArchitecture(files host.Files) {
	if c.known {
		c.gfx = c.product.Architecture
	}
	c.gfx = cmp.Or(gfxByDevice[c.DeviceID], c.gfx)
	core := path.Join(c.Path, "ip_discovery/die/0/GC/0")
	version := host.Text(files, core, "major") + "." + host.Text(files, core, "minor") + "." + host.Text(files, core, "revision")
	c.gfx = cmp.Or(gfxByGC[version], c.gfx)
	if len(c.nodes) > 0 {
		c.gfx = cmp.Or(gfxTarget(c.nodes[0].properties["gfx_target_version"]), c.gfx)
	}
}

// amdUUID is a card's unique id as ROCm writes it; empty where it is zero.
func amdUUID(uniqueID string) string {
	id := strings.TrimPrefix(uniqueID, "0x")
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return "GPU-" + id
}

// deviceID is the id of a whole card.
func (c *amdCard) deviceID() v1alpha1.DeviceID { return amdKind.ID(c.Address) }
