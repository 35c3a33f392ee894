package detect

import (
	"path"
	"slices"
	"strings"
)

// maxChildren caps what is looked through below a PCI function: drivers make a few entries.
const maxChildren = 64

// notClasses are folders of a PCI function that belong to the bus and hold no class devices.
var notClasses = []string{"driver", "subsystem", "firmware_node", "iommu", "iommu_group", "link", "msi_irqs", "physfn", "power"}

// ownNodes returns the device nodes of the class devices below a PCI function, whatever the driver calls their class.
func ownNodes(files Files, function pciFunction) ([]string, error) {
	names, err := readNames(files, function.Path)
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, name := range names {
		if slices.Contains(notClasses, name) || strings.HasPrefix(name, "virtfn") {
			continue
		}
		members, err := files.ReadDir(path.Join(function.Path, name))
		if err != nil {
			continue // a file
		}
		for _, member := range members[:min(len(members), maxChildren)] {
			if node := deviceNode(files, path.Join(function.Path, name, member)); node != "" && exists(files, node) && len(nodes) < maxPaths {
				nodes = append(nodes, node)
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}
