package nvidia

// LinksOf parses a matrix and a link status of one GPU.
func LinksOf(matrix, status string) (pairs, active int, mbps int64) {
	gpu := parseNVLinks(status)[0]
	return len(parseTopology(matrix)), gpu.active, gpu.mbps
}
