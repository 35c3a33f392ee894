package amd

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strconv"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

const kfdNodes = "/sys/class/kfd/kfd/topology/nodes"

// Numbers of the KFD topology (Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.h and include/uapi/linux/kfd_sysfs.h).
const (
	kfdLinkXGMI = 11

	kfdHeapPublic  = 1
	kfdHeapPrivate = 2

	// kfdWeightPackage is the distance of two partitions of one package, kfdWeightHop the distance of an XGMI hop. Between
	// partitions of two packages the way inside both is added.
	kfdWeightPackage = 13
	kfdWeightHop     = 15
)

// kfdNode is a node of the KFD topology: a GPU, a partition of one, a CPU socket, or (old APUs) both in one.
type kfdNode struct {
	number int
	// partition is the number of the card's part that the node is.
	partition   int
	gpuID       string
	properties  kfdProperties
	memoryBytes uint64
	links       []kfdLink
}

// kfdLink is a way from a node to another one.
type kfdLink struct {
	to      int
	kind    uint64
	weight  uint64
	maxMBps int64
}

// gpu says whether the node can compute as a GPU does.
func (n *kfdNode) gpu() bool { return n.properties["simd_count"] > 0 }

// maxUnits is far above what a GPU has (304 on MI300X).
const maxUnits = 1 << 16

// computeUnits is the number of compute units of a GPU's node; 0 where the kernel does not say how many SIMDs make one.
func (n *kfdNode) computeUnits() int32 {
	each := n.properties["simd_per_cu"]
	if each == 0 {
		return 0
	}
	return int32(min(n.properties["simd_count"]/each, maxUnits))
}

// samePackage says whether the link stays inside a package.
func (l kfdLink) samePackage() bool { return l.kind == kfdLinkXGMI && l.weight == kfdWeightPackage }

// direct says whether the link is one XGMI hop to another package; the kernel lists those that need several hops, too.
func (l kfdLink) direct() bool {
	return l.kind == kfdLinkXGMI && (l.weight == kfdWeightHop || l.weight == kfdWeightHop+2*kfdWeightPackage)
}

// readKFD reads the KFD topology in order of the node numbers; none where the amdgpu driver does not offer one. A node
// that cannot be read is left out and told in the error: the kernel shows a GPU's node only to processes whose device
// cgroup may open its render node.
func readKFD(files host.Files) ([]kfdNode, error) {
	numbers, err := host.ReadNumbered(files, kfdNodes, "")
	if err != nil {
		return nil, fmt.Errorf("KFD topology: %w", err)
	}
	var nodes []kfdNode
	var first error
	for _, number := range numbers {
		node, err := readKFDNode(files, number)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		nodes = append(nodes, node)
	}
	if first != nil {
		return nodes, fmt.Errorf("%d of %d nodes of the KFD topology cannot be read: let the agent's device cgroup open "+
			"/dev/dri/renderD*: %w", len(numbers)-len(nodes), len(numbers), first)
	}
	return nodes, nil
}

func readKFDNode(files host.Files, number int) (kfdNode, error) {
	dir := path.Join(kfdNodes, strconv.Itoa(number))
	data, err := files.ReadFile(path.Join(dir, "properties"))
	if err != nil {
		return kfdNode{}, err
	}
	node := kfdNode{number: number, properties: parseKFDProperties(data)}
	node.gpuID = host.Text(files, dir, "gpu_id")
	for _, bank := range kfdFolder(files, dir, "mem_banks") {
		if heap := bank["heap_type"]; heap == kfdHeapPublic || heap == kfdHeapPrivate {
			node.memoryBytes += bank["size_in_bytes"]
		}
	}
	for _, folder := range []string{"io_links", "p2p_links"} {
		for _, link := range kfdFolder(files, dir, folder) {
			node.links = append(node.links, kfdLink{
				to:      int(min(link["node_to"], 1<<31)),
				kind:    link["type"],
				weight:  link["weight"],
				maxMBps: int64(min(link["max_bandwidth"], 1<<31)),
			})
		}
	}
	return node, nil
}

// kfdFolder reads the properties of every entry of a node's folder, in order of their numbers; what cannot be read is
// left out, as older kernels do not have every folder.
func kfdFolder(files host.Files, dir, folder string) []kfdProperties {
	numbers, _ := host.ReadNumbered(files, path.Join(dir, folder), "")
	var all []kfdProperties
	for _, number := range numbers {
		data, err := files.ReadFile(path.Join(dir, folder, strconv.Itoa(number), "properties"))
		if err == nil {
			all = append(all, parseKFDProperties(data))
		}
	}
	return all
}

// place is the PCI address of the node's GPU and the number of the partition in it. The kernel puts that number into
// bits 28 to 31 of the location; Linux 6.5 to 6.10 put it into the function, on GPUs that have function 0 alone, so that
// an address that is no GPU's stands for that of function 0.
func (n *kfdNode) place(isGPU func(address string) bool) (address string, partition int) {
	domain, location := n.properties["domain"], n.properties["location_id"]
	format := func(function uint64) string {
		return fmt.Sprintf("%04x:%02x:%02x.%x", domain, location>>8&0xff, location>>3&0x1f, function)
	}
	function := location & 7
	if address = format(function); isGPU(address) || !isGPU(format(0)) {
		return address, int(location >> 28 & 0xf)
	}
	return format(0), int(function)
}

// kfdProperties are the numbers of one `properties` file of the KFD topology: a name, a blank and a decimal number a
// line (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c). A name that is not there reads as 0, as the kernel writes
// what does not apply.
type kfdProperties map[string]uint64

// parseKFDProperties reads a `properties` file. Lines of another form are passed over: newer kernels may add some.
func parseKFDProperties(data []byte) kfdProperties {
	properties := kfdProperties{}
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if value, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
			properties[string(fields[0])] = value
		}
	}
	return properties
}

const kfdProcesses = "/sys/class/kfd/kfd/proc"

// kfdUsedBytes returns the bytes that processes hold on the KFD node with a gpu_id (Linux, drivers/gpu/drm/amd/amdkfd/
// kfd_process.c). It tells a partition's use, since amdgpu counts the use of the whole card only.
func kfdUsedBytes(files host.Files, gpuID string) int64 {
	if gpuID == "" {
		return 0
	}
	processes, _ := host.ReadNumbered(files, kfdProcesses, "")
	var sum int64
	for _, process := range processes {
		used, _, err := host.ReadInt(files, path.Join(kfdProcesses, strconv.Itoa(process), "vram_"+path.Base(gpuID)))
		if err == nil && used > 0 {
			sum += used
		}
	}
	return sum
}
