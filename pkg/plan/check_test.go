package plan

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/shape"
)

type failer interface {
	Helper()
	Errorf(string, ...any)
}

var _ failer = (*testing.T)(nil)

// checkPlan holds a plan to what every plan must be, from the inventories alone: every device is listed, free, used once
// and large enough for its stage; tensor groups stay in one link domain or host; the layers are all there, in order; a
// copy has one vendor.
func checkPlan(t failer, nodes []fleet.Node, r shape.Request, spec *v1alpha1.ShardingPlanSpec) {
	t.Helper()
	type key struct {
		node string
		id   v1alpha1.DeviceID
	}
	want := 0
	for _, shape := range spec.Shapes() {
		checkStages(t, r, spec, shape)
		want += int(shape.Strategy.Replicas * shape.Strategy.Data * shape.Strategy.Context * shape.Strategy.Pipeline * shape.Strategy.Tensor)
		checkLegal(t, r, spec, shape)
	}
	byName := map[string]*fleet.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	used := map[key]bool{}
	seats := map[[4]int32]bool{}
	places := map[[4]int32]string{}
	vendors := map[string]bool{}
	for _, row := range spec.Nodes {
		n := byName[row.Node]
		planned, known := spec.ShapeOf(row.Replica)
		if !known {
			t.Errorf("copy %d has no shape", row.Replica)
			continue
		}
		s := planned.Strategy
		if n == nil {
			t.Errorf("node %s is not in the cluster", row.Node)
			continue
		}
		for i, id := range row.Devices {
			d := n.Inventory.Status.Device(id)
			if d == nil || used[key{row.Node, id}] || isTaken(n, id) || n.Unschedulable || !d.Usable() || d.Family == v1alpha1.FamilyCPU {
				t.Errorf("device %s of %s is unknown, used twice or not free", id, row.Node)
				continue
			}
			used[key{row.Node, id}] = true
			seat := [4]int32{row.Replica, row.Data, row.Stage, row.TensorRank + int32(i)}
			if seats[seat] || seat[1] >= s.Data || seat[2] >= s.Pipeline || seat[3] >= s.Tensor*s.Context {
				t.Errorf("place %v is taken twice or does not exist", seat)
			}
			seats[seat] = true
			vendors[d.Vendor] = true
			use := planned.Stages[row.Stage].PerDevice
			need := use.TotalBytes
			if spec.Engine == v1alpha1.EngineSGLang { // its part of the device is for weights and cache alone
				need = use.WeightsBytes + use.KVCacheBytes
			}
			free := memory.Offer(spec.Engine, r.Placement.Spec.Workload.Training != nil, 0, memory.Device{
				Vendor: d.Vendor, Product: d.Product, TotalBytes: d.Memory.TotalMiB << 20, OthersBytes: d.Memory.UsedByOthersMiB << 20,
			})
			if spec.Engine == v1alpha1.EngineSGLang { // what it offers is for weights and cache; the rest of the device holds the rest
				need -= planned.Stages[row.Stage].PerDevice.ActivationsBytes + planned.Stages[row.Stage].PerDevice.OverheadBytes
			}
			if need > free {
				t.Errorf("device %s of %s offers %d bytes for %d", id, row.Node, free, need)
			}
			if s.Tensor > 1 {
				group := [4]int32{row.Replica, row.Data, row.Stage, (row.TensorRank + int32(i)) / s.Tensor}
				if place := placeOf(n, d); places[group] == "" {
					places[group] = place
				} else if places[group] != place {
					t.Errorf("tensor group %v is on %s and %s", group, places[group], place)
				}
			}
		}
	}
	if len(seats) != want || int(spec.Totals.Devices) != want {
		t.Errorf("%d places are filled, totals say %d devices, want %d", len(seats), spec.Totals.Devices, want)
	}
	if _, err := mesh.FromPlan("plan", spec, nil); err != nil && len(spec.OtherShapes) == 0 {
		t.Errorf("no mesh can be made of the plan: %v", err)
	}
	if len(vendors) != 1 {
		t.Errorf("vendors %v in one plan", vendors)
	}
}

func checkStages(t failer, r shape.Request, spec *v1alpha1.ShardingPlanSpec, planned v1alpha1.PlanShape) {
	t.Helper()
	next := int32(0)
	for i, stage := range planned.Stages {
		if stage.FirstLayer != next || stage.LastLayer < stage.FirstLayer {
			t.Errorf("stage %d has layers %d to %d after layer %d", i, stage.FirstLayer, stage.LastLayer, next-1)
		}
		next = stage.LastLayer + 1
		if u := stage.PerDevice; u.WeightsBytes+u.KVCacheBytes+u.ActivationsBytes+u.OverheadBytes != u.TotalBytes || u.WeightsBytes <= 0 {
			t.Errorf("stage %d: %+v does not add up", i, u)
		}
	}
	if next != r.Model.Architecture.Layers || len(planned.Stages) != int(planned.Strategy.Pipeline) {
		t.Errorf("%d stages have %d of %d layers", len(planned.Stages), next, r.Model.Architecture.Layers)
	}
	if spec.Totals.WeightsBytes < r.Model.WeightBytes(spec.Quantization) && spec.Strategy.Expert == 1 {
		t.Errorf("the plan holds %d bytes of weights, the model has %d", spec.Totals.WeightsBytes, r.Model.WeightBytes(spec.Quantization))
	}
}

// placeOf is the link domain of a device, or its host and product.
func placeOf(n *fleet.Node, d *v1alpha1.Device) string {
	for _, domain := range n.Inventory.Status.Links.Domains {
		for _, id := range domain.Members {
			if id == d.ID && domain.Fabric != nil {
				return domain.Fabric.ClusterUUID + "/" + domain.Fabric.CliqueID + "/" + d.Product
			}
			if id == d.ID {
				return n.Name + "/" + domain.Name + "/" + d.Product
			}
		}
	}
	return n.Name + "/" + d.Product
}

func isTaken(n *fleet.Node, id v1alpha1.DeviceID) bool {
	_, taken := n.Taken[id]
	return taken
}
