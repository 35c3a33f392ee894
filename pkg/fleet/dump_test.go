package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// dump is all that an index holds, in words that do not depend on how it came about.
func dump(c *Cluster) string {
	var b strings.Builder
	class := func(at int32) string { return fmt.Sprintf("%+v", *c.Class(at)) }
	for i, n := range c.Nodes() {
		fmt.Fprintln(&b, "node", i, n.Name, n.Address, n.Labels, n.Widest, n.Closed, n.Unclaimed)
		for _, d := range n.Devices {
			fmt.Fprintln(&b, " device", d.ID, d.FreeBytes, d.Holder, d.refusal, d.under, d.Island, class(d.Class))
		}
		for _, is := range n.Islands {
			fmt.Fprintln(&b, " island", is.domain, is.Size, is.Fabric, is.Wires, is.Free, class(is.Class))
		}
	}
	var lines []string
	for _, k := range c.Kinds() {
		lines = append(lines, fmt.Sprintln("kind", k.Members, k.Size, k.Wires, k.Runs, class(k.Class)))
	}
	for key, f := range c.fabrics {
		lines = append(lines, fmt.Sprintln("fabric", key.fabric, f.Members, f.Size, f.Wires, f.Free, f.Runs, class(f.Class)))
	}
	for i, free := range c.FreeCounts() {
		if listed := c.Listed(int32(i)); free != 0 || listed != 0 {
			lines = append(lines, fmt.Sprintln("class", class(int32(i)), free, listed))
		}
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "") + fmt.Sprint(c.RefusedCounts())
}
