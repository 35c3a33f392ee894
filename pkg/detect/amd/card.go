package amd

import (
	"cmp"
	"errors"
	"fmt"
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
	nodes []amdNode
	// kfd says that the host has the KFD device.
	kfd bool

	productName   string
	driverVersion string
	firmware      string
	uniqueID      string
	gfx           string
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

// amdNode is a KFD node with the number of the partition that it is.
type amdNode struct {
	kfdNode
	partition int
}

// groupKFD assigns the GPU nodes to the functions that they are on, by domain and location.
func groupKFD(nodes []kfdNode, gpus []pci.Function) map[string][]amdNode {
	isGPU := func(address string) bool {
		return slices.ContainsFunc(gpus, func(f pci.Function) bool { return f.Address == address })
	}
	groups := map[string][]amdNode{}
	for _, node := range nodes {
		if !node.gpu() {
			continue
		}
		address, partition := node.place(isGPU)
		groups[address] = append(groups[address], amdNode{node, partition})
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b amdNode) int {
			return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.number, b.number))
		})
		numberPartitions(group)
	}
	return groups
}

// numberPartitions counts partitions by their order where the kernel does not tell them apart.
func numberPartitions(group []amdNode) {
	distinct := map[int]bool{}
	for _, node := range group {
		distinct[node.partition] = true
	}
	if len(distinct) == len(group) {
		return
	}
	for i := range group {
		group[i].partition = i
	}
}

// readAMDCard reads the files of a function (Linux, Documentation/gpu/amdgpu).
func readAMDCard(files host.Files, function pci.Function, drm sysfs.DRM, nodes []amdNode) amdCard {
	text := func(name string) string {
		value, _, _ := host.ReadText(files, path.Join(function.Path, name))
		return value
	}
	card := amdCard{
		Function:    function,
		drm:         drm.ByFolder[function.Path],
		nodes:       nodes,
		kfd:         host.Exists(files, "/sys/class/kfd/kfd"),
		productName: host.Clip(text("product_name"), 256),
		firmware:    host.Clip(text("vbios_version"), 64),
		uniqueID:    host.Clip(text("unique_id"), 64),
		compute:     host.Clip(text("current_compute_partition"), 16),
		memoryMode:  host.Clip(text("current_memory_partition"), 16),
		hive:        text("xgmi_hive_info/xgmi_hive_id"),
		hops:        parseHops(text("xgmi_num_hops")),
	}
	if function.Driver != "" {
		card.driverVersion = sysfs.ModuleVersion(files, function.Driver)
	}
	card.readMemory(files)
	if function.Driver == amdDriver {
		card.ras = readAMDRAS(files, function.Path)
		card.reading, card.signs = backend.ReadHwmon(files, function.Path)
		card.signs.Add(card.ras.signs())
	}
	if card.hive == "0" {
		card.hive = ""
	}
	card.readCatalogue()
	if card.integrated() {
		card.readShared(files)
	}
	if function.Driver == amdDriver {
		card.readUtilization(files)
	}
	card.readArchitecture(files)
	return card
}

func (c *amdCard) readMemory(files host.Files) {
	total, ok, err := host.ReadInt(files, path.Join(c.Path, "mem_info_vram_total"))
	switch {
	case err != nil:
		c.memoryErr = err
	case !ok || total <= 0:
		c.memoryErr = errors.New("amdgpu reports no memory of its own")
		for _, node := range c.nodes {
			c.totalBytes += int64(min(node.memoryBytes, 1<<50))
		}
	default:
		c.totalBytes = total
	}
	if c.totalBytes > 0 {
		c.memoryErr = nil
	}
	used, _, _ := host.ReadInt(files, path.Join(c.Path, "mem_info_vram_used"))
	c.usedBytes = min(max(used, 0), c.totalBytes)
}

// readUtilization adds to the reading how busy the card is and how much of its memory is used.
func (c *amdCard) readUtilization(files host.Files) {
	if busy, ok := host.ReadBetween(files, path.Join(c.Path, "gpu_busy_percent"), 0, 100); ok {
		c.reading.UtilizationPercent = &busy
	}
	if c.totalBytes > 0 {
		c.reading.MemoryUsedMiB = new(c.usedBytes >> 20)
	}
}

func (c *amdCard) readCatalogue() {
	c.product, c.known = accelerator.Lookup(c.Key(c.productName, c.totalBytes>>20))
}

// readArchitecture takes the instruction set from KFD, else from the version of the graphics core, else from the PCI id, else
// what the catalogue calls the architecture.
func (c *amdCard) readArchitecture(files host.Files) {
	if c.known {
		c.gfx = c.product.Architecture
	}
	c.gfx = cmp.Or(gfxByDevice[c.DeviceID], c.gfx)
	var version ipVersion
	core := path.Join(c.Path, "ip_discovery/die/0/GC/0")
	for name, part := range map[string]*uint64{"major": &version.major, "minor": &version.minor, "revision": &version.revision} {
		number, _, _ := host.ReadInt(files, path.Join(core, name))
		*part = uint64(max(number, 0))
	}
	if gfx, ok := gfxByGC[version]; ok {
		c.gfx = gfx
	}
	if len(c.nodes) > 0 {
		c.gfx = cmp.Or(gfxTarget(c.nodes[0].properties["gfx_target_version"]), c.gfx)
	}
}

// name is the product as the driver reports it, else as the catalogue has it, else by its ids.
func (c *amdCard) name() string {
	switch {
	case c.productName != "":
		return c.productName
	case c.known:
		return c.product.Name
	case c.shared != nil && amdAPUName(c.DeviceID, c.Revision) != "":
		return amdAPUName(c.DeviceID, c.Revision)
	default:
		return fmt.Sprintf("AMD GPU %s:%s", c.VendorID, c.DeviceID)
	}
}

// uuid is the card's unique id as ROCm writes it.
func (c *amdCard) uuid() string {
	id := strings.TrimPrefix(c.uniqueID, "0x")
	if id == "" || strings.Trim(id, "0") == "" {
		return ""
	}
	return "GPU-" + id
}

// deviceID is the id of a whole card.
func (c *amdCard) deviceID() v1alpha1.DeviceID { return v1alpha1.DeviceID(amdName + "-" + c.Address) }
