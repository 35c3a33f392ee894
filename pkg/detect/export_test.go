package detect

import "github.com/rankwright/rankwright/pkg/detect/host"

// LinksOf parses a matrix and a link status of one GPU.
func LinksOf(matrix, status string) (pairs, active int, mbps int64) {
	gpu := parseNVLinks(status)[0]
	return len(parseTopology(matrix)), gpu.active, gpu.mbps
}

// PCIFunction is a function on the bus.
type PCIFunction = pciFunction

// PCIFunctions lists the bus.
func PCIFunctions(h *host.Host) ([]PCIFunction, error) { return pciFunctions(h) }
