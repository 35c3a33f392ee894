package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/nodeagent/preference"
)

// preferences are the questions that testdata/preference.txt answers: of which machine, with which devices in use (by
// their number in the order of ids), how many are asked for.
var preferences = []struct {
	recording string
	inUse     []int
	sizes     []int
}{
	{"nvidia-h100-8", nil, []int{1, 2, 4, 6}},
	{"nvidia-h100-8", []int{4}, []int{1, 2, 4}},
	{"nvidia-a100-dgx", nil, []int{2, 4}},
	{"nvidia-a100-dgx", []int{1}, []int{1, 2}},
	{"nvidia-a100-pcie-bridges", nil, []int{2, 3}},
	{"nvidia-v100-dgx1", nil, []int{2, 3, 4}},
	{"nvidia-v100-dgx1", []int{0, 3}, []int{2, 4}},
	{"nvidia-l40s-4", nil, []int{2}},
	{"nvidia-rtx-pro-6000-8", nil, []int{2, 4}},
	{"nvidia-h100-mig-7", nil, []int{2}},
	{"nvidia-l4-a10-mixed", nil, []int{2}},
	{"amd-mi300x-8", nil, []int{2, 4}},
	{"amd-mi300x-cpx-nps4", nil, []int{4, 8, 16}},
	{"amd-mi300x-cpx-nps4", []int{0, 1, 8, 9, 10, 11}, []int{4, 2}},
	{"amd-mi250x-4", nil, []int{2, 4}},
	{"intel-max1550-8", nil, []int{2, 4}},
	{"gaudi3-8", nil, []int{4}},
	{"google-v5e-8", nil, []int{2, 4}},
	{"google-v5e-8", []int{0}, []int{4}},
	{"aws-trn1-32xlarge", nil, []int{2, 4, 8}},
	{"aws-inf2-48xlarge", []int{0, 1, 6}, []int{2, 4}},
	{"huawei-910c-16", nil, []int{2, 8}},
	{"huawei-910b3-8-no-tool", nil, []int{4}},
	{"tenstorrent-t3000", nil, []int{2}},
	{"host-laptop", nil, []int{1}},
}

// The devices that are chosen together on recorded machines are the ones that a reviewer agreed to.
func TestPreferences(t *testing.T) {
	var b strings.Builder
	for _, p := range preferences {
		build, known := recordings[p.recording]
		if !known {
			t.Errorf("there is no recording %s", p.recording)
			continue
		}
		status := detect.Detect(t.Context(), build().Host(), detect.Options{}).Status
		topology := preference.NewTopology(&status)
		var free, inUse []v1alpha1.DeviceID
		for i, id := range ids(&status) {
			if slices.Contains(p.inUse, i) {
				inUse = append(inUse, id)
			} else {
				free = append(free, id)
			}
		}
		fmt.Fprintf(&b, "%s, %d devices", p.recording, len(status.Devices))
		if len(inUse) > 0 {
			fmt.Fprintf(&b, ", in use: %s", joined(inUse))
		}
		fmt.Fprintln(&b)
		for _, size := range p.sizes {
			chosen := topology.Choose(free, nil, size)
			fmt.Fprintf(&b, "  %d: %s\n", size, joined(chosen))
			if slowest, ok := slowestOf(&status, chosen); ok {
				fmt.Fprintf(&b, "     %s between %s and %s\n", slowest.Link, chosen[slowest.A], chosen[slowest.B])
			}
		}
	}
	golden(t, filepath.Join("testdata", "preference.txt"), b.String())
}

// slowestOf is the slowest link between any two devices, as the mesh of a placement that is given them will say.
func slowestOf(status *v1alpha1.AcceleratorInventoryStatus, chosen []v1alpha1.DeviceID) (mesh.Slowest, bool) {
	var seats []mesh.Seat
	var ranks []int32
	for i, id := range chosen {
		seats, ranks = append(seats, mesh.Seat{Node: "host", Device: id}), append(ranks, int32(i))
	}
	return mesh.NewWires(seats, mesh.Hosts{"host": {Inventory: status}}).Slowest([][]int32{ranks})
}
