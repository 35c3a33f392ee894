package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// renderDistances prints for each device which ports are how far from it.
func renderDistances(b *strings.Builder, status *v1alpha1.AcceleratorInventoryStatus) {
	if len(status.NICs) == 0 {
		return
	}
	for _, d := range status.Devices {
		ports := map[v1alpha1.PCIRelation][]string{}
		for _, n := range status.NICs {
			relation := status.NICRelation(d.ID, n.Name)
			ports[relation] = append(ports[relation], n.Name)
		}
		fmt.Fprintf(b, "from %s:", d.ID)
		nearer := func(x, y v1alpha1.PCIRelation) int { return x.Distance() - y.Distance() }
		for _, relation := range slices.SortedFunc(maps.Keys(ports), nearer) {
			fmt.Fprintf(b, " %s %s;", cmp.Or(string(relation), "unknown"), strings.Join(ports[relation], " "))
		}
		b.WriteString("\n")
	}
}
