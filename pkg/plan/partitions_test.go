package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/test/plantest"
)

// sliced is host a, whose devices are partitions of a kind with 40 GiB each.
func sliced(kind string, devices int) fleet.Node {
	part := plantest.H100
	part.MiB = 40960
	n := plantest.Host("a", false, plantest.Many(devices, part)...)
	for i := range n.Inventory.Status.Devices {
		d := &n.Inventory.Status.Devices[i]
		d.Partition = &v1alpha1.DevicePartition{Kind: kind, Parent: "nvidia-0000:ff:00.0", Index: int32(i)}
	}
	return n
}

// TestMIGSlicesAreNeverRanksOfOneGroup: a copy is on one slice, whatever is asked for; partitions that can be joined are.
func TestMIGSlicesAreNeverRanksOfOneGroup(t *testing.T) {
	mig, cpx := fleet.NewCluster([]fleet.Node{sliced("MIG", 4)}), fleet.NewCluster([]fleet.Node{sliced("CPX", 4)})
	small := ask(plantest.Llama(t, 8), 1024, 1, plantest.Replicas(3))
	if spec := mustPlan(t, mig, small); spec.Strategy.Tensor*spec.Strategy.Pipeline*spec.Strategy.Data != 1 || spec.Totals.Devices != 3 {
		t.Errorf("planned %s on %d devices", spec.Strategy.Summary, spec.Totals.Devices)
	}
	large := ask(plantest.Llama(t, 70), 1024, 1, plantest.Format("INT8"))
	if spec := mustPlan(t, cpx, large); spec.Totals.Devices < 2 {
		t.Errorf("CPX: planned on %d devices", spec.Totals.Devices)
	}
	two := v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2))}
	stages := v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(2))}
	full := v1alpha1.TrainingWorkload{Method: "Full", SequenceLength: 1024, GlobalBatch: 8, Sharding: "ZeRO3"}
	for name, change := range map[string]func(*plantest.Spec){
		"70B": plantest.Format("INT8"), "tensor 2": plantest.Parallelism(two), "pipeline 2": plantest.Parallelism(stages), "data ranks": plantest.Train(full),
	} {
		m := plantest.Llama(t, 8)
		if name == "70B" {
			m = plantest.Llama(t, 70)
		}
		spec, err := Plan(mig, ask(m, 1024, 1, change))
		if err == nil {
			t.Errorf("%s: planned %s on %d slices", name, spec.Strategy.Summary, spec.Totals.Devices)
		}
		var no *Unplaceable
		if name == "70B" && errors.As(err, &no) {
			for _, r := range no.Rejected {
				if r.Strategy != "None INT8" {
					t.Errorf("%s: %s was rejected as %s: no slices are ranks of one group", name, r.Strategy, r.Message)
				}
			}
		}
	}
	// Beside a whole device, a slice is no stage of its pipeline.
	both := fleet.NewCluster([]fleet.Node{sliced("MIG", 4), plantest.Host("b", false, plantest.L40s, plantest.L40s)})
	for _, row := range mustPlan(t, both, large).Nodes {
		if row.Node != "b" {
			t.Errorf("70B: a rank is on node %s", row.Node)
		}
	}
}

// TestRemediesSpeakOfSlices, and ask for no more of what a host cannot get more of.
func TestRemediesSpeakOfSlices(t *testing.T) {
	mac := plantest.Product{Vendor: "apple", Name: "Apple M3 Max (40-core)", Family: v1alpha1.FamilyGPU, MiB: 65536}
	for name, c := range map[string]struct {
		node fleet.Node
		want string
	}{
		"slices":   {sliced("MIG", 2), "1 more free MIG slice of 40.0 GiB of NVIDIA H100 80GB HBM3 on 1 new node like a"},
		"soldered": {plantest.Host("a", false, mac), "2 more free Apple M3 Max (40-core) on 2 new nodes like a"},
		"cards":    {plantest.Host("a", false, plantest.L40s, plantest.L40s), "1 more free NVIDIA L40S on node a"},
	} {
		no := unplaceableBy(t, []fleet.Node{c.node}, ask(plantest.Llama(t, 8), 1024, 1, plantest.Replicas(3), plantest.Format("FP16")))
		if got, ok := changeOf(no, remedy.KindDevices, ""); !ok || !strings.HasPrefix(got.Change, c.want) {
			t.Errorf("%s: suggested %q, want %q", name, got.Change, c.want)
		}
	}
}
