package detect

// LinksOf parses a matrix and a link status of one GPU.
func LinksOf(matrix, status string) (pairs, active int, mbps int64) {
	gpu := parseNVLinks(status)[0]
	return len(parseTopology(matrix)), gpu.active, gpu.mbps
}

// PCIFunction is a function on the bus.
type PCIFunction = pciFunction

// PCIFunctions lists the bus.
func PCIFunctions(host *Host) ([]PCIFunction, error) { return pciFunctions(host) }

// FolderCommands runs tools in the folders, our own programs in another, with libraries from a third: as the live commands
// do with the machine's.
func FolderCommands(own string, tools, libraries []string) Commands {
	commands := newCommands("/", tools, libraries)
	commands.own = own
	return commands
}
