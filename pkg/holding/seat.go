package holding

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Seat is what a plan has a device for.
type Seat struct {
	Namespace string `json:"namespace"`
	Placement string `json:"placement"`
	Plan      string `json:"plan"`
	// Active says that the plan is in force; one that is not holds its devices all the same.
	Active bool `json:"active"`
	// Copy, Data, Stage and Tensor are the place in the plan.
	Copy   int32 `json:"copy"`
	Data   int32 `json:"data"`
	Stage  int32 `json:"stage"`
	Tensor int32 `json:"tensor"`
	// Rank is the place in the mesh of the plan; nil where that is not there, or not seen.
	Rank *int32 `json:"rank,omitempty"`
	// PlannedMiB is the memory in MiB that the plan takes of the device, rounded up.
	PlannedMiB int64 `json:"plannedMiB"`
}

// Key is the placement as "namespace/name".
func (s *Seat) Key() string { return s.Namespace + "/" + s.Placement }

const mebibyte = 1 << 20

// seatsOf are the seats of all plans, by device, those in force first.
func seatsOf(s *State) map[place][]Seat {
	ranks := ranksOf(s.Meshes)
	seats := map[place][]Seat{}
	for _, active := range []bool{true, false} {
		for i := range s.Plans {
			if plan := &s.Plans[i]; plan.InForce() == active {
				addSeats(seats, plan, active, ranks[types.NamespacedName{Namespace: plan.Namespace, Name: plan.Name}])
			}
		}
	}
	return seats
}

func addSeats(seats map[place][]Seat, plan *v1alpha1.ShardingPlan, active bool, ranks map[place]int32) {
	for i := range plan.Spec.Nodes {
		row := &plan.Spec.Nodes[i]
		shape, known := plan.Spec.ShapeOf(row.Replica)
		for n, id := range row.Devices {
			at := place{row.Node, id}
			seat := Seat{Namespace: plan.Namespace, Placement: plan.Spec.Placement.Name, Plan: plan.Name, Active: active, Copy: row.Replica}
			if known {
				in := row.Place(&shape.Strategy, n)
				seat.Data, seat.Stage, seat.Tensor = in.Data, in.Stage, in.Tensor
				if int(in.Stage) < len(shape.Stages) {
					seat.PlannedMiB = (shape.Stages[in.Stage].PerDevice.TotalBytes + mebibyte - 1) / mebibyte
				}
			}
			if rank, numbered := ranks[at]; numbered {
				seat.Rank = &rank
			}
			seats[at] = append(seats[at], seat)
		}
	}
}

// ranksOf are the ranks of the devices in each plan's mesh.
func ranksOf(meshes []v1alpha1.DeviceMesh) map[types.NamespacedName]map[place]int32 {
	byPlan := map[types.NamespacedName]map[place]int32{}
	for i := range meshes {
		ranks := map[place]int32{}
		for _, member := range meshes[i].Spec.Members {
			for n, id := range member.Devices {
				ranks[place{member.Node, id}] = member.FirstRank + int32(n)
			}
		}
		byPlan[types.NamespacedName{Namespace: meshes[i].Namespace, Name: meshes[i].Spec.Plan}] = ranks
	}
	return byPlan
}

// compareNames compares objects by their names.
func compareNames[T interface{ GetName() string }](a, b T) int {
	return cmp.Compare(a.GetName(), b.GetName())
}
