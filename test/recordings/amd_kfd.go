package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

const kfdTopology = "/sys/class/kfd/kfd/topology"

// Kinds, weights and rates (MB/s) of the links as Linux writes them.
const (
	kfdPCIe, kfdXGMI       = 2, 11
	weightPCIe, weightXGMI = 20, 15
	weightPackage          = 13
	weightBetweenSockets   = 32
	rateXGMI2, rateXGMI3   = 50000, 64000
	// ratePackage is what KFD reports inside the package of an MI300.
	ratePackage = 819200
)

// Ways from a GPU to its processor.
var (
	overPCIe4 = kfdLink{kind: kfdPCIe, weight: weightPCIe, mbps: 32000}
	overPCIe5 = kfdLink{kind: kfdPCIe, weight: weightPCIe, mbps: 64000}
	overXGMI  = kfdLink{kind: kfdXGMI, weight: weightXGMI, mbps: rateXGMI2}
	inPackage = kfdLink{kind: kfdXGMI, weight: weightPackage, mbps: ratePackage}
)

// kfdPart is a partition of a GPU, or a whole one, with the number of its KFD node.
type kfdPart struct{ node, gpu, part int }

// parts returns the GPU nodes of the topology, which follow the nodes of the processors.
func (host amdHost) parts() []kfdPart {
	var parts []kfdPart
	for i, gpu := range host.GPUs {
		for part := range gpu.parts() {
			parts = append(parts, kfdPart{host.Sockets + len(parts), i, part})
		}
	}
	return parts
}

// addKFDTopology adds the KFD topology: a node for each processor, then one for each GPU or partition.
func addKFDTopology(h *compose.Host, host amdHost) {
	h.File(kfdTopology+"/generation_id", "1")
	parts := host.parts()
	for socket := range host.Sockets {
		var links []kfdLink
		for other := range host.Sockets {
			if other != socket {
				links = append(links, kfdLink{kind: 1, to: other, weight: weightBetweenSockets})
			}
		}
		for _, part := range parts {
			if host.GPUs[part.gpu].Socket == socket {
				links = append(links, host.CPULink.leadingTo(part.node))
			}
		}
		addKFDNode(h, socket, 0, []property{{"cpu_cores_count", uint64(host.CPUCores)}, {"simd_count", 0}, {"mem_banks_count", 1}}, links)
	}
	for i, part := range parts {
		gpu := host.GPUs[part.gpu]
		links := []kfdLink{host.CPULink.leadingTo(gpu.Socket)}
		for _, peer := range parts {
			if link, ok := host.link(part, peer); ok {
				links = append(links, link)
			}
		}
		addKFDNode(h, part.node, 10000+1111*i, gpu.properties(part, links), links)
		addProperties(h, fmt.Sprintf("%s/nodes/%d/mem_banks/0", kfdTopology, part.node), []property{
			{"heap_type", 1},
			{"size_in_bytes", uint64(max(gpu.Bytes, gpu.Banks) / gpu.parts())},
			{"flags", 0},
			{"width", uint64(gpu.Width)},
			{"mem_clk_max", uint64(gpu.Clock)},
		})
	}
}

// link returns the way by XGMI from a GPU node to another, and whether there is such a way.
func (host amdHost) link(from, to kfdPart) (kfdLink, bool) {
	if from == to || host.XGMI == nil {
		return kfdLink{}, false
	}
	if from.gpu == to.gpu {
		return inPackage.leadingTo(to.node), true
	}
	links, hops := host.XGMI(from.gpu, to.gpu)
	link := kfdLink{kind: kfdXGMI, to: to.node, weight: weightXGMI * hops, mbps: links * host.XGMIMBps}
	if host.GPUs[from.gpu].parts() > 1 {
		link.weight, link.mbps = link.weight+2*weightPackage, 0
	}
	return link, hops > 0
}

// properties returns the properties of the KFD node of a GPU or a partition, whose number the kernel puts into the location.
func (g amdGPU) properties(part kfdPart, links []kfdLink) []property {
	var domain, bus, device, function uint64
	_, _ = fmt.Sscanf(g.Address(), "%x:%x:%x.%x", &domain, &bus, &device, &function)
	id, _ := strconv.ParseUint(g.IDs[5:9], 16, 16)
	return []property{
		{"cpu_cores_count", 0},
		{"simd_count", uint64(g.SIMDs / g.parts())},
		{"mem_banks_count", 1},
		{"io_links_count", uint64(len(links))},
		{"gfx_target_version", uint64(g.GFX)},
		{"vendor_id", 0x1002},
		{"device_id", id},
		{"location_id", uint64(part.part)<<28 | bus<<8 | device<<3 | function},
		{"domain", domain},
		{"drm_render_minor", uint64(g.Render + part.part)},
		{"hive_id", g.Hive},
		{"unique_id", g.UniqueID},
		{"num_xcc", uint64(max(1, g.Dies/g.parts()))},
	}
}

type property struct {
	name  string
	value uint64
}

type kfdLink struct{ kind, to, weight, mbps int }

func (l kfdLink) leadingTo(node int) kfdLink {
	l.to = node
	return l
}

func addKFDNode(h *compose.Host, node, gpuID int, properties []property, links []kfdLink) {
	folder := fmt.Sprintf("%s/nodes/%d", kfdTopology, node)
	h.File(folder+"/gpu_id", fmt.Sprint(gpuID))
	addProperties(h, folder, properties)
	for i, link := range links {
		addProperties(h, fmt.Sprintf("%s/io_links/%d", folder, i), []property{
			{"type", uint64(link.kind)},
			{"version_major", 0},
			{"version_minor", 0},
			{"node_from", uint64(node)},
			{"node_to", uint64(link.to)},
			{"weight", uint64(link.weight)},
			{"min_latency", 0},
			{"max_latency", 0},
			{"min_bandwidth", uint64(link.mbps)},
			{"max_bandwidth", uint64(link.mbps)},
			{"recommended_transfer_size", 0},
			{"flags", 1},
		})
	}
}

func addProperties(h *compose.Host, folder string, properties []property) {
	var text strings.Builder
	for _, p := range properties {
		fmt.Fprintf(&text, "%s %d\n", p.name, p.value)
	}
	h.File(folder+"/properties", text.String())
}
