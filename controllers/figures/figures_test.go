package figures

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure/measuretest"
	"github.com/rankwright/rankwright/pkg/price"
)

// cache has what a test puts into it; what is nil cannot be listed.
type cache struct {
	placements  []v1alpha1.ModelPlacement
	plans       []v1alpha1.ShardingPlan
	meshes      []v1alpha1.DeviceMesh
	inventories []v1alpha1.AcceleratorInventory
}

// Get implements client.Reader; nothing is got.
func (cache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not here")
}

// List implements client.Reader.
func (c cache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	known := true
	switch list := into.(type) {
	case *v1alpha1.ModelPlacementList:
		list.Items, known = c.placements, c.placements != nil
	case *v1alpha1.ShardingPlanList:
		list.Items, known = c.plans, c.plans != nil
	case *v1alpha1.DeviceMeshList:
		list.Items, known = c.meshes, c.meshes != nil
	case *v1alpha1.AcceleratorInventoryList:
		list.Items, known = c.inventories, c.inventories != nil
	}
	if !known {
		return fmt.Errorf("the informer of %T is not filled", into)
	}
	return nil
}

// series are the metrics of a cache as `name{labels} value`, without the prefix of all.
func series(t *testing.T, c cache) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	prices := map[string]int64{"H100": 2_500_000}
	registry.MustRegister(Collector{Cache: c, Price: func(product string) (price.Price, bool) {
		p, known := prices[product]
		return price.Price{MicroUSDPerHour: p}, known
	}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	lines := measuretest.Series(t, registry, "")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "rankwright_")
	}
	return lines
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(time.Unix(7, 0))}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: name} }

func TestPlacementsAreMetrics(t *testing.T) {
	got := series(t, cache{placements: []v1alpha1.ModelPlacement{{ObjectMeta: named("llm"), Status: v1alpha1.ModelPlacementStatus{
		Model: "m", Plan: "llm-1", Strategy: "TP2", PlannedReplicas: 3, Replicas: 2, ReadyReplicas: 1,
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionPlaced, metav1.ConditionTrue, "Placed"), condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "PodsNotReady")},
		Estimate:   &v1alpha1.Estimate{TokensPerSecond: v1alpha1.Expected{Value: 900}, TPOTMicros: v1alpha1.Expected{Value: 20_000}},
		Observed:   &v1alpha1.ObservedService{TokensPerSecond: 300, TPOTMicros: 60_000, Estimate: &v1alpha1.Estimate{TokensPerSecond: v1alpha1.Expected{Value: 310}}},
	}}}})
	want := []string{
		"placement_condition_since_timestamp_seconds{condition=Placed,namespace=team,placement=llm,reason=Placed,status=True} 7",
		"placement_condition_since_timestamp_seconds{condition=Ready,namespace=team,placement=llm,reason=PodsNotReady,status=False} 7",
		"placement_copies{namespace=team,placement=llm,state=planned} 3",
		"placement_copies{namespace=team,placement=llm,state=present} 2",
		"placement_copies{namespace=team,placement=llm,state=ready} 1",
		"placement_info{model=m,namespace=team,placement=llm,plan=llm-1,strategy=TP2} 1",
		"placement_time_per_token_seconds{namespace=team,placement=llm,value=observed} 0.06",
		"placement_time_per_token_seconds{namespace=team,placement=llm,value=planned} 0.02",
		"placement_tokens_per_second{namespace=team,placement=llm,value=expected} 310",
		"placement_tokens_per_second{namespace=team,placement=llm,value=observed} 300",
		"placement_tokens_per_second{namespace=team,placement=llm,value=planned} 900",
		"placements_as_estimated{status=False} 0",
		"placements_as_estimated{status=True} 0",
		"placements_as_estimated{status=Unknown} 0",
		"placements{placed=True,ready=False,reason=PodsNotReady} 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// planned is a plan and its mesh: two copies on two devices each.
func planned(name string, active metav1.ConditionStatus, devices ...v1alpha1.DeviceID) (plan v1alpha1.ShardingPlan, made v1alpha1.DeviceMesh) {
	plan = v1alpha1.ShardingPlan{ObjectMeta: named(name), Status: v1alpha1.ShardingPlanStatus{Conditions: []metav1.Condition{condition(v1alpha1.ConditionActive, active, "Reserved")}}}
	made = v1alpha1.DeviceMesh{ObjectMeta: named(name), Spec: v1alpha1.DeviceMeshSpec{
		Placement: v1alpha1.PlacementRef{Name: "llm"}, Plan: name, Order: "tp-pp", WorldSize: 2, Replicas: 2,
		Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 1}},
	}}
	for replica := range int32(2) {
		row := v1alpha1.PlanRow{Node: "n1", Replica: replica, Devices: devices[2*replica : 2*replica+2]}
		plan.Spec.Nodes = append(plan.Spec.Nodes, row)
		made.Spec.Members = append(made.Spec.Members, v1alpha1.MeshMember{Node: row.Node, Replica: replica, Devices: row.Devices})
	}
	return plan, made
}

func TestRanksAndDevicesAreMetrics(t *testing.T) {
	now, mesh := planned("llm-2", metav1.ConditionTrue, "nvidia-0", "nvidia-1", "nvidia-2", "nvidia-3")
	former, old := planned("llm-1", metav1.ConditionFalse, "nvidia-0", "nvidia-1", "nvidia-2", "nvidia-3")
	unreadable := mesh
	unreadable.Spec.Members = unreadable.Spec.Members[:1]
	inventory := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1alpha1.AcceleratorInventoryStatus{Allocations: []v1alpha1.Allocation{{Device: "nvidia-4"}}}}
	for i, product := range []string{"H100", "H100", "H100", "H100", "H100", "unknown"} {
		inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprintf("nvidia-%d", i)), Vendor: "nvidia", Product: product, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	got := series(t, cache{
		plans: []v1alpha1.ShardingPlan{former, now}, meshes: []v1alpha1.DeviceMesh{old, mesh, unreadable}, inventories: []v1alpha1.AcceleratorInventory{inventory},
	})
	want := []string{
		"device_price_dollars_per_hour{product=H100,vendor=nvidia} 2.5",
		"devices{health=Healthy,holder=none,vendor=nvidia} 1",
		"devices{health=Healthy,holder=plan,vendor=nvidia} 4",
		"devices{health=Healthy,holder=pod,vendor=nvidia} 1",
		"rank_info{device=nvidia-0,namespace=team,node=n1,placement=llm,plan=llm-2,rank=0,replica=0,role=tp0} 1",
		"rank_info{device=nvidia-1,namespace=team,node=n1,placement=llm,plan=llm-2,rank=1,replica=0,role=tp1} 1",
		"rank_info{device=nvidia-2,namespace=team,node=n1,placement=llm,plan=llm-2,rank=0,replica=1,role=tp0} 1",
		"rank_info{device=nvidia-3,namespace=team,node=n1,placement=llm,plan=llm-2,rank=1,replica=1,role=tp1} 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Placements are counted by what they say now: a reason that no placement has any longer leaves no series behind, and there are never more than
// there are placements.
func TestSeriesDoNotGrowWithReasons(t *testing.T) {
	counted := func(reason func(i int) string) (n int) {
		c := cache{}
		for i := range 100 {
			c.placements = append(c.placements, v1alpha1.ModelPlacement{ObjectMeta: named(fmt.Sprint("llm-", i)), Status: v1alpha1.ModelPlacementStatus{
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, reason(i))},
			}})
		}
		for _, line := range series(t, c) {
			if strings.HasPrefix(line, "placements{") {
				n++
			}
		}
		return n
	}
	if n := counted(func(i int) string { return fmt.Sprint("Reason", i) }); n != 100 {
		t.Errorf("100 placements with a reason each have %d series", n)
	}
	if n := counted(func(int) string { return "Running" }); n != 1 {
		t.Errorf("100 placements with one reason have %d series", n)
	}
}
