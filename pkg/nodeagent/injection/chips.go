package injection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// chips counts the grant's devices by their chip.
func (g grant) chips() map[v1alpha1.DeviceID]int {
	chips := map[v1alpha1.DeviceID]int{}
	for i := range g.devices {
		chips[g.devices[i].Whole()]++
	}
	return chips
}

// partial returns a chip of which some parts are granted and others not; false where there is none.
func (g grant) partial() (v1alpha1.DeviceID, bool) {
	granted := g.chips()
	for _, other := range g.others() {
		if granted[other.Whole()] > 0 {
			return other.Whole(), true
		}
	}
	return "", false
}

// neuronCores numbers the granted cores. On the host, chip N's cores follow the cores of the chips 0 to N-1; in a container,
// they follow the cores of the chips that it has. Both agree where the container has the chips 0 to N-1, too.
func neuronCores(g grant) (string, error) {
	part, ok := g.partial()
	if !ok {
		return "", nil
	}
	cores, err := g.coresPerChip()
	if err != nil {
		return "", err
	}
	highest, numbers := 0, []int{}
	for i := range g.devices {
		d := &g.devices[i]
		if d.Index == nil || d.Partition == nil {
			return "", fmt.Errorf("device %s: the number of its chip is not known: grant every core of %s", d.ID, part)
		}
		highest = max(highest, int(*d.Index))
		numbers = append(numbers, int(*d.Index)*cores+int(d.Partition.Index))
	}
	if highest+1 != len(g.chips()) {
		return "", fmt.Errorf("device %s: a part of %s cannot be granted without the chips of lower numbers, since the runtime's numbers of its cores "+
			"in the container are not documented: grant every core of %s", g.devices[0].ID, part, part)
	}
	return list(numbers), nil
}

// coresPerChip is the number of cores that the node's chips are listed as.
func (g grant) coresPerChip() (int, error) {
	counts := map[v1alpha1.DeviceID]int{}
	for i := range g.node.Devices {
		if d := &g.node.Devices[i]; d.Backend == g.kind.Backend {
			counts[d.Whole()]++
		}
	}
	first := g.devices[0].Whole()
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if counts[id] != counts[first] {
			return 0, fmt.Errorf("device %s: it is listed as %d cores and %s as %d, so that cores cannot be numbered: grant whole chips",
				id, counts[id], first, counts[first])
		}
	}
	return counts[first], nil
}

// neuronGrouping is the LNC by which the granted cores were counted; it is in the devices' profile (`LNC=2`).
func neuronGrouping(g grant) (string, error) {
	if _, ok := g.partial(); !ok {
		return "", nil
	}
	var grouping []string
	for i := range g.devices {
		if partition := g.devices[i].Partition; partition != nil {
			number, _ := strings.CutPrefix(partition.Profile, "LNC=")
			grouping = append(grouping, number)
		}
	}
	slices.Sort(grouping)
	if grouping = slices.Compact(grouping); len(grouping) != 1 {
		return "", fmt.Errorf("device %s: its cores are grouped in different ways (%s): grant whole chips", g.devices[0].ID, strings.Join(grouping, ", "))
	}
	return grouping[0], nil
}

// tpuShapes are the shapes of a process by its number of chips (dra-driver-google-tpu, chips per dimension).
var tpuShapes = map[int]string{1: "1,1,1", 2: "1,2,1", 4: "2,2,1"}

// tpuBounds is the shape of a part of a host's chips; a whole host needs none.
func tpuBounds(g grant) (string, error) {
	partOfHost := slices.ContainsFunc(g.others(), func(d *v1alpha1.Device) bool { return d.Backend == g.kind.Backend })
	if !partOfHost {
		return "", nil
	}
	count := len(g.chips())
	shape, ok := tpuShapes[count]
	if !ok {
		return "", fmt.Errorf("device %s: %s of this host make no shape that libtpu knows: grant 1, 2 or 4, or all", g.devices[0].ID, words.Counted(count, "chip"))
	}
	if g.devices[0].Partition != nil {
		return "", fmt.Errorf("device %s: the bounds of a part of a host are not documented for chips that are several devices: grant all chips of the host",
			g.devices[0].ID)
	}
	return shape, nil
}

func tpuProcessBounds(g grant) (string, error) {
	shape, err := tpuBounds(g)
	if shape == "" || err != nil {
		return "", err
	}
	return tpuShapes[1], nil
}
