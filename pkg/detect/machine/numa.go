package machine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const nodeFolder = "/sys/devices/system/node"

// readNUMANodes returns the host's NUMA nodes in order of their numbers; none where the kernel has no NUMA.
func readNUMANodes(files host.Files) ([]v1alpha1.NUMANode, error) {
	numbers, err := host.ReadNumbered(files, nodeFolder, "node")
	if err != nil {
		return nil, err
	}
	var nodes []v1alpha1.NUMANode
	for _, number := range numbers {
		folder := fmt.Sprint(nodeFolder, "/node", number)
		node := v1alpha1.NUMANode{ID: int32(number)}
		if node.CPUs, _, err = host.ReadText(files, folder+"/cpulist"); err != nil {
			return nil, err
		}
		if node.MemoryMiB, err = host.ReadMemTotal(files, folder+"/meminfo"); err != nil {
			return nil, err
		}
		distances, _, err := host.ReadText(files, folder+"/distance")
		if err != nil {
			return nil, err
		}
		node.Distances = parseDistances(distances)
		nodes = append(nodes, node)
	}
	for i := range nodes {
		if len(nodes[i].Distances) != len(nodes) {
			nodes[i].Distances = nil // of which node each is cannot be told
		}
	}
	return nodes, nil
}

// parseDistances reads `10 21 21 31`: the distance to each node, in order of the nodes; none where one is no distance. A
// distance fits a byte (ACPI, System Locality Information Table).
func parseDistances(text string) []int32 {
	fields := strings.Fields(text)
	var distances []int32
	for _, field := range fields[:min(len(fields), backend.MaxNUMANodes)] {
		distance, err := strconv.ParseUint(field, 10, 8)
		if err != nil {
			return nil
		}
		distances = append(distances, int32(distance))
	}
	return distances
}
