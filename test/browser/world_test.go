package browser

import (
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/inventory"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// large is a fleet of so many nodes with eight devices each: pods hold 40 % of them, every fifth node has a placement, and some devices are unhealthy or cordoned.
func large(t *testing.T, s *standIn, count int) []*v1alpha1.AcceleratorInventory {
	t.Helper()
	shape, err := synthetic.Lookup("h100x8")
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: shape, Nodes: count}}, Occupied: 40_00, Pattern: synthetic.Fragments, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	inventories := make([]*v1alpha1.AcceleratorInventory, len(nodes))
	for i := range nodes {
		inventories[i] = nodes[i].Inventory
		inventories[i].ResourceVersion = "1"
		if i%97 == 0 {
			inventories[i].Status.Devices[i%8].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECCErrors", Message: "uncorrectable errors of memory: 4"}
		}
		if i%61 == 0 {
			inventories[i].Spec.CordonedDevices = []v1alpha1.DeviceID{inventories[i].Status.Devices[(i+3)%8].ID}
		}
		s.objects["acceleratorinventories"] = append(s.objects["acceleratorinventories"], inventories[i])
		s.objects["nodes"] = append(s.objects["nodes"], nodeOf(nodes[i].Name, nodes[i].Labels))
		s.objects["leases"] = append(s.objects["leases"], leaseOf(t, inventories[i], i))
		if i%5 == 0 {
			s.addPlacement(i, &nodes[i])
		}
	}
	return inventories
}

// leaseOf is the Lease of a node's agent, which says how busy the devices are: each other than the next, and otherwise in each turn.
func leaseOf(t *testing.T, of *v1alpha1.AcceleratorInventory, turn int) *coordinationv1.Lease {
	t.Helper()
	busy := inventory.Utilization{ReadAt: metav1.Now(), Percent: map[v1alpha1.DeviceID]int64{}}
	for i := range of.Status.Devices {
		busy.Percent[of.Status.Devices[i].ID] = int64((turn*31 + i*17) % 101)
	}
	text, err := busy.Text()
	if err != nil {
		t.Fatal(err)
	}
	renewed := metav1.NewMicroTime(busy.ReadAt.Time)
	return &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "rankwright-node-agent", Name: of.Name, ResourceVersion: "1", Annotations: map[string]string{v1alpha1.AnnotationUtilization: text}},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: new(int32(3600))},
	}
}

// addPlacement adds a placement that has all devices of a node that no pod has.
func (s *standIn) addPlacement(n int, node *fleet.Node) {
	held := map[v1alpha1.DeviceID]bool{}
	for _, a := range node.Inventory.Status.Allocations {
		held[a.Device] = true
	}
	var ids []v1alpha1.DeviceID
	for _, d := range node.Inventory.Status.Devices {
		if !held[d.ID] {
			ids = append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	name, namespace := numbered("llama", n), fmt.Sprintf("team-%c", 'a'+n/5%7)
	condition := []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue, Reason: "Active"}}
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: "1"}
	placement := &v1alpha1.ModelPlacement{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ModelPlacement"}, ObjectMeta: meta}
	placement.Status.Model, placement.Status.Plan, placement.Status.Strategy = "Llama-3.1-70B", name+"-1", fmt.Sprintf("TP%d", len(ids))
	plan := &v1alpha1.ShardingPlan{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ShardingPlan"}, ObjectMeta: meta}
	plan.Name, plan.Status.Conditions = name+"-1", condition
	plan.Spec = v1alpha1.ShardingPlanSpec{
		Placement: v1alpha1.PlacementRef{Name: name}, Revision: 1, Model: v1alpha1.PlannedModel{Name: "Llama-3.1-70B"},
		Strategy: v1alpha1.Strategy{Summary: placement.Status.Strategy, Tensor: int32(len(ids)), Pipeline: 1, Data: 1, Context: 1, Expert: 1, Replicas: 1},
		Stages:   []v1alpha1.Stage{{LastLayer: 79, PerDevice: v1alpha1.MemoryUse{WeightsBytes: 20 << 30, KVCacheBytes: 5 << 30, TotalBytes: 25 << 30}}},
		Nodes:    []v1alpha1.PlanRow{{Node: node.Name, Devices: ids}}, Totals: v1alpha1.PlanTotals{Devices: int32(len(ids)), Nodes: 1},
	}
	s.objects["modelplacements"] = append(s.objects["modelplacements"], placement)
	s.objects["shardingplans"] = append(s.objects["shardingplans"], plan)
}
