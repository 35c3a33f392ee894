package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

const kfdTopology = "/sys/class/kfd/kfd/topology"

// Kinds, weights and rates (MB/s) of the links as Linux writes them.
const (
	kfdPCIe, kfdXGMI                = 2, 11
	weightPCIe, weightXGMI          = 20, 15
	weightBetweenSockets            = 32
	ratePCIe5x16, rateXGMI          = 64000, 64000
	mi300xSIMDs, mi300xComputeDies  = 1216, 8
	mi300xFirstNode, mi300xCPUCores = 2, 96
)

// addMI300XTopology adds the KFD topology: a node for each socket, then one for each card.
func addMI300XTopology(h *compose.Host, cards []mi300xCard) {
	h.File(kfdTopology+"/generation_id", "1")
	for socket := range 2 {
		links := []kfdLink{{kind: 1, to: 1 - socket, weight: weightBetweenSockets}}
		for i := range cards {
			if i/4 == socket {
				links = append(links, kfdLink{kfdPCIe, mi300xFirstNode + i, weightPCIe, ratePCIe5x16})
			}
		}
		addKFDNode(h, socket, 0, []property{{"cpu_cores_count", mi300xCPUCores}, {"simd_count", 0}, {"mem_banks_count", 1}}, links)
	}
	for i, card := range cards {
		node := mi300xFirstNode + i
		links := []kfdLink{{kfdPCIe, i / 4, weightPCIe, ratePCIe5x16}}
		for peer := range cards {
			if peer != i {
				links = append(links, kfdLink{kfdXGMI, mi300xFirstNode + peer, weightXGMI, rateXGMI})
			}
		}
		addKFDNode(h, node, 10000+1111*i, []property{
			{"cpu_cores_count", 0},
			{"simd_count", mi300xSIMDs},
			{"mem_banks_count", 1},
			{"io_links_count", uint64(len(links))},
			{"gfx_target_version", 90402},
			{"vendor_id", 0x1002},
			{"device_id", 0x74a1},
			{"location_id", uint64(card.bus) << 8},
			{"domain", 0},
			{"drm_render_minor", uint64(128 + i*mi300xMinors)},
			{"hive_id", mi300xHive},
			{"unique_id", card.uniqueID},
			{"num_xcc", mi300xComputeDies},
		}, links)
		addProperties(h, fmt.Sprintf("%s/nodes/%d/mem_banks/0", kfdTopology, node), []property{
			{"heap_type", 1}, {"size_in_bytes", mi300xBytes}, {"flags", 0}, {"width", 8192}, {"mem_clk_max", 1300},
		})
	}
}

type property struct {
	name  string
	value uint64
}

type kfdLink struct{ kind, to, weight, rate int }

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
			{"min_bandwidth", uint64(link.rate)},
			{"max_bandwidth", uint64(link.rate)},
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
