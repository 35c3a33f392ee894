package survey

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Function is a PCI function and its link to the port above it.
type Function struct {
	Address string
	// Depth is the number of bridges above the function.
	Depth int
	// Class is of six hexadecimal digits, IDs are vendor and device as lspci has them.
	Class, IDs string
	// Link and Most are speed and width, now and at most, such as `32.0 GT/s x16`.
	Link, Most string
	NUMANode   string
	Driver     string
	IOMMUGroup string

	above []string
}

const pciDevices = "/sys/bus/pci/devices"

var (
	pciAddress = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	// endpoints are the classes of what moves data: storage, networks, displays, signal processors and accelerators.
	endpoints = regexp.MustCompile(`^0x(01|02|03|0880|0b|11|12)`)
)

// functions are the endpoints that have a link, and the bridges above them.
func functions(files host.Files) []Function {
	addresses, err := files.ReadDir(pciDevices)
	if err != nil {
		return nil
	}
	var all []Function
	wanted := map[string]bool{}
	for _, address := range addresses {
		if !pciAddress.MatchString(address) {
			continue
		}
		f := readFunction(files, address)
		all = append(all, f)
		if endpoints.MatchString(f.Class) && f.Most != "" {
			wanted[address] = true
			for _, bridge := range f.above {
				wanted[bridge] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(f Function) bool { return !wanted[f.Address] })
	slices.SortFunc(all, func(a, b Function) int {
		return cmp.Compare(strings.Join(append(a.above, a.Address), "/"), strings.Join(append(b.above, b.Address), "/"))
	})
	return all
}

func readFunction(files host.Files, address string) Function {
	folder, err := files.RealPath(path.Join(pciDevices, address))
	if err != nil {
		folder = path.Join(pciDevices, address)
	}
	value := func(name string) string { return strings.TrimSpace(text(files, path.Join(folder, name))) }
	base := func(name string) string {
		target, err := files.ReadLink(path.Join(folder, name))
		if err != nil {
			return ""
		}
		return path.Base(target)
	}
	f := Function{
		Address: address, Class: value("class"), IDs: strings.TrimPrefix(value("vendor"), "0x") + ":" + strings.TrimPrefix(value("device"), "0x"),
		NUMANode: value("numa_node"), Driver: base("driver"), IOMMUGroup: base("iommu_group"),
		Link: link(value("current_link_speed"), value("current_link_width")),
		Most: link(value("max_link_speed"), value("max_link_width")),
	}
	for step := range strings.SplitSeq(path.Dir(folder), "/") {
		if pciAddress.MatchString(step) {
			f.above = append(f.above, step)
		}
	}
	f.Depth = len(f.above)
	return f
}

// link writes speed and width; empty where there is no link, whose width the kernel gives as 0 or 255.
func link(speed, width string) string {
	if width == "" || width == "0" || width == "255" {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(speed, " PCIe") + " x" + width)
}
