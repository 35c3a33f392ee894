package binding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Seat is the place of one pod in a mesh.
type Seat struct {
	// Replica is the copy.
	Replica int32
	// Node is where the pod has to run.
	Node string
	// Ranks in the copy, ascending, with the device of each.
	Ranks   []int32
	Devices []v1alpha1.DeviceID
}

// Seats returns the places of a mesh's pods, in order of copy and first rank: the index of a pod is its place in the list.
// A pod has so many devices, or with 0 all that a copy has on a node.
func Seats(mesh *v1alpha1.DeviceMeshSpec, devices int) ([]Seat, error) {
	type at struct {
		replica int32
		node    string
	}
	place := map[at]int{}
	var whole []Seat
	for i := range mesh.Members {
		row := &mesh.Members[i]
		key := at{row.Replica, row.Node}
		k, known := place[key]
		if !known {
			k = len(whole)
			place[key] = k
			whole = append(whole, Seat{Replica: row.Replica, Node: row.Node})
		}
		for offset, device := range row.Devices {
			whole[k].Ranks = append(whole[k].Ranks, row.FirstRank+int32(offset))
			whole[k].Devices = append(whole[k].Devices, device)
		}
	}
	if devices == 0 {
		return whole, nil
	}
	return split(whole, devices)
}

// split divides seats into those of so many devices each, in order of rank.
func split(whole []Seat, devices int) ([]Seat, error) {
	var seats []Seat
	for _, s := range whole {
		if len(s.Devices)%devices != 0 {
			return nil, refuse(ReasonDevicesDiffer, "pods of %d devices: copy %d has %d on node %s, which they do not divide: set %s of the placement to a divisor or to %s",
				devices, s.Replica, len(s.Devices), s.Node, AnnotationPodDevices, AllDevices)
		}
		for from := 0; from < len(s.Devices); from += devices {
			seats = append(seats, Seat{Replica: s.Replica, Node: s.Node, Ranks: s.Ranks[from : from+devices], Devices: s.Devices[from : from+devices]})
		}
	}
	slices.SortStableFunc(seats, func(a, b Seat) int {
		if a.Replica != b.Replica {
			return int(a.Replica - b.Replica)
		}
		return int(a.Ranks[0] - b.Ranks[0])
	})
	return seats, nil
}

// copySizes is the number of seats of each copy.
func copySizes(seats []Seat) []int32 {
	var sizes []int32
	for i := range seats {
		if i == 0 || seats[i].Replica != seats[i-1].Replica {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	return sizes
}

// ranksText writes ranks as runs: 0-3,8.
func (s *Seat) ranksText() string {
	var runs []string
	for i := 0; i < len(s.Ranks); {
		last := i
		for last+1 < len(s.Ranks) && s.Ranks[last+1] == s.Ranks[last]+1 {
			last++
		}
		run := strconv.Itoa(int(s.Ranks[i]))
		if last > i {
			run += "-" + strconv.Itoa(int(s.Ranks[last]))
		}
		runs = append(runs, run)
		i = last + 1
	}
	return strings.Join(runs, ",")
}

// devicesText lists the devices.
func (s *Seat) devicesText() string {
	names := make([]string, len(s.Devices))
	for i, device := range s.Devices {
		names[i] = string(device)
	}
	return strings.Join(names, ",")
}
