package operator

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/operation"
)

// unequalCopies puts the first copy on one device and each further one on two, all on the one node. A copy stays where it
// is as long as its devices are free. It stands for the planner where the test is about copies of different shape.
func unequalCopies(_ context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	var free []v1alpha1.DeviceID
	node := ""
	for _, d := range cluster.Free() {
		free, node = append(free, d.Device), d.Node
	}
	rows := make([]v1alpha1.PlanRow, *request.Placement.Spec.Replicas)
	if request.Previous != nil {
		free = keepCopies(rows, request.Previous.Nodes, free)
	}
	for i := range rows {
		size := min(i+1, 2)
		switch {
		case rows[i].Devices != nil:
			continue
		case len(free) < size:
			return nil, &plan.Unplaceable{Reason: shape.ReasonTooFewDevices, Message: "A copy has no room."}
		}
		rows[i] = v1alpha1.PlanRow{Node: node, Replica: int32(i), Devices: free[:size]}
		free = free[size:]
	}
	return unequalSpec(rows, request), nil
}

// keepCopies copies the rows whose devices are free, and returns the devices that are free after that.
func keepCopies(rows, previous []v1alpha1.PlanRow, free []v1alpha1.DeviceID) []v1alpha1.DeviceID {
	for _, row := range previous {
		taken := func(id v1alpha1.DeviceID) bool { return !slices.Contains(free, id) }
		if int(row.Replica) < len(rows) && !slices.ContainsFunc(row.Devices, taken) {
			rows[row.Replica] = row
			free = slices.DeleteFunc(free, func(id v1alpha1.DeviceID) bool { return slices.Contains(row.Devices, id) })
		}
	}
	return free
}

func unequalSpec(rows []v1alpha1.PlanRow, request shape.Request) *v1alpha1.ShardingPlanSpec {
	spec := operation.TensorPlan(request.Placement.Name, 1, 1)
	spec.Model.Name, spec.Model.Architecture = request.Model.Name, request.Model.Architecture
	spec.Enforcement, spec.Nodes = request.Placement.Spec.Enforcement, rows
	spec.Strategy.Summary = "None"
	if further := int32(len(rows)) - 1; further > 0 {
		other := spec.Strategy
		other.Tensor, other.Replicas, other.Summary = 2, further, "TP2 and more"
		spec.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 1, Strategy: other, Stages: spec.Stages}}
		spec.Strategy.Summary = words.JoinSummaries([]string{"None", other.Summary}, 64)
	}
	spec.Totals = v1alpha1.PlanTotals{Devices: int32(2*len(rows) - 1), Nodes: 1, Memory: "1 MiB"}
	return spec
}

var _ placement.Planner = unequalCopies

// copiesOn are the devices of each copy of a plan.
func copiesOn(made *v1alpha1.ShardingPlan) [][]v1alpha1.DeviceID {
	var copies [][]v1alpha1.DeviceID
	for _, row := range made.Spec.Nodes {
		copies = append(copies, row.Devices)
	}
	return copies
}

func TestCopiesOfDifferentShapeScale(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: unequalCopies})
	w.addNode("n1", 5)
	w.place(w.slottedPlacement("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")

	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 3 })
	three := w.awaitPlan("llm", "llm-2")
	status := w.placement("llm").Status
	if status.PlannedReplicas != 3 || status.Devices != 5 || status.Strategy != "None + TP2 and more" {
		t.Errorf("status: %d copies on %d devices by %q", status.PlannedReplicas, status.Devices, status.Strategy)
	}
	if want, said := "llm-2 has 5 devices of 1 node: None + TP2 and more, ", placed(w.placement("llm")).Message; !strings.HasPrefix(said, want) {
		t.Errorf("Placed says %q, want it to begin with %q", said, want)
	}
	mesh := w.mesh()
	want := []v1alpha1.MeshMember{
		{Node: "n1", Address: "10.0.0.1", Devices: []v1alpha1.DeviceID{operation.DeviceID(0)}},
		{Node: "n1", Address: "10.0.0.1", Replica: 1, Devices: []v1alpha1.DeviceID{operation.DeviceID(1), operation.DeviceID(2)}},
		{Node: "n1", Address: "10.0.0.1", Replica: 2, Devices: []v1alpha1.DeviceID{operation.DeviceID(3), operation.DeviceID(4)}},
	}
	if diff := cmp.Diff(want, mesh.Spec.Members); diff != "" || mesh.Spec.Replicas != 3 || mesh.Spec.Shape != "1 + tp2 x2" {
		t.Errorf("mesh of %d copies of %q, members (-want +got):\n%s", mesh.Spec.Replicas, mesh.Spec.Shape, diff)
	}
	w.awaitSlots(0, 1, 2, 3, 4)

	// The copies that stay do not move, and what is no longer said of the others goes from the mesh.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 2 })
	two := w.awaitPlan("llm", "llm-3")
	if diff := cmp.Diff(copiesOn(three)[:2], copiesOn(two)); diff != "" {
		t.Errorf("copies moved (-before +after):\n%s", diff)
	}
	w.awaitSlots(0, 1, 2)
	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 1 })
	w.awaitPlan("llm", "llm-4")
	if mesh := w.mesh(); mesh.Spec.OtherShapes != nil || mesh.Spec.Replicas != 1 || mesh.Spec.Shape != "1" {
		t.Errorf("one copy is left, and the mesh has %d of %q and the shapes %v", mesh.Spec.Replicas, mesh.Spec.Shape, mesh.Spec.OtherShapes)
	}
	watched.check(4)
}

// damageDevice turns the health of one device.
func damageDevice(number int, state v1alpha1.HealthState) func(*v1alpha1.AcceleratorInventory) {
	return func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Devices[number].Health = v1alpha1.DeviceHealth{State: state, Reason: "Xid79"}
	}
}

// The planner is shown the previous plan as the API server stored it, so that copies of every shape can stay.
func TestLossInOneShapeMovesThatCopyAlone(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: unequalCopies})
	w.addNode("n1", 7)
	w.place(w.PlacementOf("llm", 1, 3))
	w.awaitPlan("llm", "llm-1")

	w.changeInventory(damageDevice(2, v1alpha1.Unhealthy))
	want := [][]v1alpha1.DeviceID{{operation.DeviceID(0)}, {operation.DeviceID(1), operation.DeviceID(5)}, {operation.DeviceID(3), operation.DeviceID(4)}}
	if diff := cmp.Diff(want, copiesOn(w.awaitPlan("llm", "llm-2"))); diff != "" {
		t.Errorf("devices of the copies (-want +got):\n%s", diff)
	}
}

func TestLostRankIsCountedInItsCopy(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: unequalCopies})
	w.addNode("n1", 5)
	p := w.PlacementOf("llm", 1, 3)
	p.Spec.FailurePolicy.Action = v1alpha1.FailureHold
	w.place(p)
	w.awaitPlan("llm", "llm-1")

	w.changeInventory(damageDevice(4, v1alpha1.Unhealthy))
	w.awaitReason("llm", "DevicesLost")
	lost := []v1alpha1.LostRank{{Replica: 2, Rank: 1, Node: "n1", Device: operation.DeviceID(4), Reason: "DeviceUnhealthy: Xid79"}}
	if diff := cmp.Diff(lost, w.mesh().Status.LostRanks); diff != "" {
		t.Errorf("lost ranks (-want +got):\n%s", diff)
	}
	w.changeInventory(damageDevice(4, v1alpha1.Healthy))
	w.awaitPlan("llm", "llm-1")

	// An edit that changes nothing of the plan leaves it in force.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Action = v1alpha1.FailureAnyShape })
	w.awaitAnswered("llm-1")
}
