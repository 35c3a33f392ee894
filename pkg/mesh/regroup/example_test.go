package regroup_test

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/regroup"
)

// A device is lost: its tensor group goes, and the others move up.
func ExampleLayout_Reshape() {
	three, _ := mesh.New("tp-dp", map[string]int{"tp": 2, "dp": 3})
	var seats []mesh.Seat
	for _, node := range []string{"a", "b", "c"} {
		for _, id := range []v1alpha1.DeviceID{"nvidia-0000:01:00.0", "nvidia-0000:02:00.0"} {
			seats = append(seats, mesh.Seat{Node: node, Device: id})
		}
	}
	layout, err := regroup.New(three, seats)
	if err != nil {
		fmt.Println(err)
		return
	}
	two, _ := mesh.New("tp-dp", map[string]int{"tp": 2, "dp": 2})
	change, err := layout.Reshape(two, layout.Without(2, 3))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, move := range change.Moves {
		fmt.Println(move.Node, move.Device, move.From, "->", move.To)
	}
	fmt.Println("groups that changed:", change.Regrouped)
	// Output:
	// c nvidia-0000:01:00.0 4 -> 2
	// c nvidia-0000:02:00.0 5 -> 3
	// b nvidia-0000:01:00.0 2 -> -1
	// b nvidia-0000:02:00.0 3 -> -1
	// groups that changed: [dp tp]
}

// The devices that hold a cache together have a group of their own, which no dimension makes.
func ExampleLayout_WithGroup() {
	m, _ := mesh.New("tp-dp", map[string]int{"tp": 2, "dp": 2})
	layout, err := regroup.New(m, []mesh.Seat{{Node: "a", Device: "amd-0000:01:00.0"}, {Node: "a", Device: "amd-0000:02:00.0"}, {Node: "b", Device: "amd-0000:01:00.0"}, {Node: "b", Device: "amd-0000:02:00.0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err = layout.WithGroup("cache", 0, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	group, place, _ := layout.GroupOf("cache", 3)
	fmt.Println(layout.GroupNames(), group, place)
	// Output: [world tp dp cache] [0 3] 1
}
