package survey

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// function is a PCI function and its link to the port above it.
type function struct {
	pci.Function
	// link and most are speed and width, now and at most, such as `32.0 GT/s x16`.
	link, most string
	// node, driver and group are the NUMA node, the driver of whatever function, bridges included, and the IOMMU group.
	node, driver, group string
}

// endpoints are the classes of what moves data: storage, networks, displays, signal processors and accelerators.
var endpoints = regexp.MustCompile(`^(01|02|03|0880|0b|11|12)`)

// functions are the endpoints that have a link, and the bridges above them.
func functions(files host.Files) []function {
	listed, _ := pci.Functions(&host.Host{Files: files}) // of what cannot be read nothing is said
	var all []function
	wanted := map[string]bool{}
	for _, f := range listed {
		value := func(name string) string {
			text, _, _ := host.ReadText(files, path.Join(f.Path, name))
			return text
		}
		one := function{
			Function: f, node: value("numa_node"), driver: sysfs.Driver(files, f.Path),
			link: link(value("current_link_speed"), value("current_link_width")),
			most: link(value("max_link_speed"), value("max_link_width")),
		}
		if group, err := files.ReadLink(path.Join(f.Path, "iommu_group")); err == nil {
			one.group = path.Base(group)
		}
		all = append(all, one)
		if endpoints.MatchString(f.Class) && one.most != "" {
			for _, address := range one.way() {
				wanted[address] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(f function) bool { return !wanted[f.Address] })
	slices.SortFunc(all, func(a, b function) int { return cmp.Compare(strings.Join(a.way(), "/"), strings.Join(b.way(), "/")) })
	return all
}

// way is the addresses of the bridges above the function, and its own.
func (f function) way() []string { return append(slices.Clone(f.Bridges), f.Address) }

// link writes speed and width; empty where there is no link, whose width the kernel gives as 0 or 255.
func link(speed, width string) string {
	if width == "" || width == "0" || width == "255" {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(speed, " PCIe") + " x" + width)
}
