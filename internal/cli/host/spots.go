package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// spot is a row of the matrix: a device with all its partitions, a network port, or a group of either.
type spot struct {
	// name is short, for the matrix; id is the name in the inventory, and about says what it is.
	name, id, about string
	// noun and number make up the name.
	noun   string
	number int
	// devices are the ids of a device's partitions, or its own; nic is the name of a port.
	devices []v1alpha1.DeviceID
	nic     string
	numa    *int32
	// class is what the spots of a group have in common.
	class string
}

// spotsOf returns the rows for an inventory: its devices in their order, then its ports that are on PCI.
func spotsOf(status *v1alpha1.AcceleratorInventoryStatus) []spot {
	numbers := map[string]int{}
	named := func(s spot) spot {
		s.number = numbers[s.noun]
		s.name = fmt.Sprintf("%s%d", s.noun, s.number)
		numbers[s.noun]++
		return s
	}
	var spots []spot
	for _, parts := range grouped(len(status.Devices), func(i int) v1alpha1.DeviceID { return status.Devices[i].Whole() }) {
		spots = append(spots, named(deviceSpot(status, parts)))
	}
	for i := range status.NICs {
		if n := &status.NICs[i]; n.PCI != nil {
			spots = append(spots, named(spot{
				noun: "NIC", id: n.Name, about: aboutNIC(n), nic: n.Name, numa: n.NUMANode,
				class: fmt.Sprint(n.Kind, " ", n.Gbps, " ", integer(n.NUMANode)),
			}))
		}
	}
	return spots
}

// deviceSpot is the spot of a device whose partitions, or which itself, have these numbers in the inventory.
func deviceSpot(status *v1alpha1.AcceleratorInventoryStatus, parts []int) spot {
	first := &status.Devices[parts[0]]
	s := spot{
		noun: string(first.Family), id: string(first.Whole()), about: cmp.Or(first.Product, first.Architecture, first.Vendor),
		numa: first.NUMANode,
	}
	for _, i := range parts {
		s.devices = append(s.devices, status.Devices[i].ID)
	}
	if first.Partition != nil {
		s.about += ", " + words.Counted(len(parts), first.Partition.Kind+" partition")
	}
	s.class = fmt.Sprint(s.noun, " ", s.about, " ", integer(s.numa), " ", domainNames(status, first.ID))
	return s
}

// domainNames are the link domains that a device is in.
func domainNames(status *v1alpha1.AcceleratorInventoryStatus, id v1alpha1.DeviceID) []string {
	var names []string
	for i := range status.Links.Domains {
		if d := &status.Links.Domains[i]; slices.Contains(d.Members, id) {
			names = append(names, d.Name)
		}
	}
	return names
}

func aboutNIC(n *v1alpha1.NIC) string {
	parts := []string{n.Kind}
	switch {
	case !n.Up:
		parts = append(parts, "down")
	case n.Gbps > 0:
		parts = append(parts, fmt.Sprintf("%d Gbps", n.Gbps))
	}
	if len(n.Interfaces) > 0 && !slices.Contains(n.Interfaces, n.Name) {
		parts = append(parts, strings.Join(n.Interfaces, " "))
	}
	return strings.Join(parts, ", ")
}
