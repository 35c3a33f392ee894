package holding

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

const h100 = "NVIDIA H100 80GB HBM3"

// world is a node with four devices, of which a plan in force has a and b, a pod of it runs on a, and nobody has c and d.
func world() *State {
	inventory := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, id := range []v1alpha1.DeviceID{"d", "c", "b", "a"} {
		inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{
			ID: id, Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: h100,
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 80000}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		})
	}
	inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{ID: "cpu", Family: v1alpha1.FamilyCPU})
	inventory.Status.Allocations = []v1alpha1.Allocation{{Device: "a", Namespace: "team", Pod: "llm-0", Container: "engine"}}
	plan := v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "llm-1", UID: "plan"},
		Spec: v1alpha1.ShardingPlanSpec{
			Placement: v1alpha1.PlacementRef{Name: "llm", UID: "llm"}, Model: v1alpha1.PlannedModel{Name: "Llama-3.1-8B"},
			Strategy: v1alpha1.Strategy{Summary: "PP2", Tensor: 1, Pipeline: 2, Data: 1, Context: 1, Replicas: 1},
			Stages: []v1alpha1.Stage{
				{PerDevice: v1alpha1.MemoryUse{TotalBytes: 20_000 << 20}}, {FirstLayer: 1, LastLayer: 1, PerDevice: v1alpha1.MemoryUse{TotalBytes: 10_000<<20 + 1}},
			},
			Nodes: []v1alpha1.PlanRow{{Node: "n", Devices: []v1alpha1.DeviceID{"a", "b"}}},
		},
		Status: v1alpha1.ShardingPlanStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}},
	}
	mesh := v1alpha1.DeviceMesh{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "llm"},
		Spec:       v1alpha1.DeviceMeshSpec{Plan: "llm-1", Members: []v1alpha1.MeshMember{{Node: "n", FirstRank: 4, Devices: []v1alpha1.DeviceID{"a", "b"}}}},
	}
	s := &State{Meshes: []v1alpha1.DeviceMesh{mesh}}
	s.Inventories, s.Plans = []v1alpha1.AcceleratorInventory{inventory}, []v1alpha1.ShardingPlan{plan}
	s.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	return s
}

// podOn is a pod of the plan on the node, which the operator bound to devices.
func podOn(name, devices string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: "pod", Labels: map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1"},
			Annotations: map[string]string{v1alpha1.AnnotationPlacementUID: "llm", v1alpha1.AnnotationDevices: devices},
		},
		Spec: corev1.PodSpec{NodeName: "n"},
	}
}

func TestConditions(t *testing.T) {
	inventory := func(s *State) *v1alpha1.AcceleratorInventory { return &s.Inventories[0] }
	// Devices of the inventory are in the order d, c, b, a.
	tests := map[string]struct {
		edit func(*State)
		want string // the conditions of a, b, c and d
		why  string // of d, or a part of it
	}{
		"one runs, one is reserved": {func(*State) {}, "InUse Reserved Idle Idle", ""},
		"cordoned by a person":      {func(s *State) { inventory(s).Spec.CordonedDevices = []v1alpha1.DeviceID{"a", "d"} }, "InUse Reserved Idle OutOfUse", "cordoned"},
		"cordoned for repair":       {func(s *State) { inventory(s).Status.Repairs = []v1alpha1.Repair{{Device: "d"}} }, "InUse Reserved Idle OutOfUse", "cordoned"},
		"unhealthy": {func(s *State) {
			inventory(s).Status.Devices[0].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "XID79"}
		}, "InUse Reserved Idle OutOfUse", "Unhealthy: XID79"},
		"nobody can say": {func(s *State) { inventory(s).Status.Devices[0].Health.State = v1alpha1.Unknown }, "InUse Reserved Idle OutOfUse", "Unknown"},
		"not monitored is used": {func(s *State) {
			inventory(s).Status.Devices[0].Health = v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored}
		}, "InUse Reserved Idle Idle", ""},
		"memory is not known":        {func(s *State) { inventory(s).Status.Devices[0].Memory = nil }, "InUse Reserved Idle OutOfUse", "without known memory"},
		"a stranger's pod":           {func(s *State) { allocate(s, "d", "other", "train-0") }, "InUse Reserved Idle InUse", ""},
		"no Node":                    {func(s *State) { s.Nodes = nil }, "InUse Reserved OutOfUse OutOfUse", "there is no such Node"},
		"nodes are not seen":         {func(s *State) { s.Nodes, s.Unseen = nil, []Unseen{{Kind: Nodes}} }, "InUse Reserved Idle Idle", ""},
		"node cordoned":              {func(s *State) { s.Nodes[0].Spec.Unschedulable = true }, "InUse Reserved OutOfUse OutOfUse", "node cordoned"},
		"agent silent":               {func(s *State) { s.Silent = map[string]bool{"n": true} }, "InUse Reserved OutOfUse OutOfUse", "the node's agent is silent"},
		"plans are not seen":         {func(s *State) { s.Plans, s.Unseen = nil, []Unseen{{Kind: Plans}} }, "InUse Unknown Unknown Unknown", "shardingplans are not all seen"},
		"plans of one namespace are": {func(s *State) { s.Unseen = []Unseen{{Kind: Plans, Namespace: "team"}} }, "InUse Reserved Unknown Unknown", "shardingplans are not all seen"},
		"pods are not seen":          {func(s *State) { s.Unseen = []Unseen{{Kind: Pods}} }, "InUse Reserved Unknown Unknown", "pods are not all seen"},
		"the kubelet says nothing": {func(s *State) {
			inventory(s).Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAllocationsCurrent, Status: metav1.ConditionFalse}}
		}, "InUse Reserved Unknown Unknown", "the kubelet does not say"},
		"bound and not yet reported": {func(s *State) { s.Plans, s.Pods = nil, []corev1.Pod{podOn("llm-1", "b")} }, "InUse Reserved Idle Idle", ""},
		"somebody has its device":    {func(s *State) { s.Plans, s.Pods = nil, []corev1.Pod{podOn("llm-1", "a")} }, "InUse Idle Idle Reserved", "whose device is not reported yet"},
		"a plan that is not active":  {func(s *State) { s.Plans[0].Status.Conditions = nil }, "InUse Reserved Idle Idle", ""},
		"a partition of a held whole": {func(s *State) {
			inventory(s).Status.Devices[0].Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: "a"}
		}, "InUse Reserved Idle Reserved", "shares its silicon"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := world()
			test.edit(s)
			devices := Of(s).Devices
			var got []string
			for i := range devices {
				got = append(got, string(devices[i].Condition))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("conditions %v, want %s", got, test.want)
			}
			last := devices[len(devices)-1]
			if test.why == "" && last.Why != "" || !strings.Contains(last.Why, test.why) {
				t.Errorf("%s because %q, want %q", last.Condition, last.Why, test.why)
			}
			for _, d := range devices {
				if d.Condition != Idle && d.Memory.FreeMiB != 0 {
					t.Errorf("%s is %s and has %d MiB free", d.ID, d.Condition, d.Memory.FreeMiB)
				}
			}
		})
	}
}

func allocate(s *State, device v1alpha1.DeviceID, namespace, pod string) {
	status := &s.Inventories[0].Status
	status.Allocations = append(status.Allocations, v1alpha1.Allocation{Device: device, Namespace: namespace, Pod: pod})
}

func TestHolders(t *testing.T) {
	s := world()
	allocate(s, "d", "other", "train-0")
	s.Pods = []corev1.Pod{podOn("llm-0", "a,b")}
	devices := Of(s).Devices
	rank := func(n int32) *int32 { return &n }
	want := []Device{{
		Node: "n", ID: "a", Vendor: "nvidia", Product: h100, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Condition: InUse,
		Memory: Memory{TotalMiB: 80000, PlannedMiB: 20000}, Pods: []Pod{{Namespace: "team", Name: "llm-0", Container: "engine"}},
		Seats: []Seat{{Namespace: "team", Placement: "llm", Plan: "llm-1", Active: true, Rank: rank(4), PlannedMiB: 20000}},
	}, {
		Node: "n", ID: "b", Vendor: "nvidia", Product: h100, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Condition: Reserved,
		Memory: Memory{TotalMiB: 80000, PlannedMiB: 10001}, Pods: []Pod{{Namespace: "team", Name: "llm-0", Bound: true}},
		Seats: []Seat{{Namespace: "team", Placement: "llm", Plan: "llm-1", Active: true, Stage: 1, Rank: rank(5), PlannedMiB: 10001}},
	}}
	if diff := cmp.Diff(want, devices[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Pod{{Namespace: "other", Name: "train-0"}}, devices[3].Pods); diff != "" {
		t.Errorf("pods of a device without a plan (-want +got):\n%s", diff)
	}
}

func TestTotals(t *testing.T) {
	s := world()
	s.Inventories[0].Status.Devices[1].Product = "A device of tomorrow"
	s.Inventories[0].Status.Devices[1].Memory.UsedByOthersMiB = 500
	s.Inventories[0].Status.Devices[2].Health.State = v1alpha1.Degraded
	f := Of(s)
	got := Sum(f.Devices)
	hour, known := (&Device{Product: h100}).Hourly()
	if !known || hour <= 0 {
		t.Fatalf("an H100 costs %d, %t", hour, known)
	}
	want := Totals{
		Devices: 4, Healthy: 3, Conditions: map[Condition]int{InUse: 1, Reserved: 1, Idle: 2},
		MemoryMiB: 320000, HeldMiB: 160000, PlannedMiB: 30001, OthersMiB: 500, FreeMiB: 159500, MicroUSDPerHour: 3 * hour, IdleMicroUSDPerHour: hour, Unpriced: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	groups := Grouped(f.Devices, func(d *Device) string { return d.Product })
	if len(groups) != 2 || groups[0].Name != "A device of tomorrow" || groups[1].Totals.Devices != 3 {
		t.Errorf("groups %+v", groups)
	}
}

// A placement is known by its plan where itself is not seen, and by itself where it has no plan.
func TestPlacements(t *testing.T) {
	s := world()
	s.Placements = []v1alpha1.ModelPlacement{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "big"},
		Status:     v1alpha1.ModelPlacementStatus{Model: "Big", Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: "TooLarge"}}},
	}}
	got := Of(s).Placements
	want := []Placement{
		{Namespace: "team", Name: "big", Model: "Big", Reason: "TooLarge"},
		{Namespace: "team", Name: "llm", Model: "Llama-3.1-8B", Strategy: "PP2", Plan: "llm-1", Nodes: []string{"n"}, Totals: got[1].Totals},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[1].Totals.Devices != 2 || got[1].Totals.PlannedMiB != 30001 {
		t.Errorf("totals %+v", got[1].Totals)
	}
}

// What only a plan names is reserved, whether its node lost it or its inventory is not seen.
func TestUnlisted(t *testing.T) {
	gone := world()
	gone.Inventories[0].Status.Devices = gone.Inventories[0].Status.Devices[:2] // d and c
	unseen := world()
	unseen.Inventories, unseen.Unseen = nil, []Unseen{{Kind: Inventories}}
	for why, s := range map[string]*State{"its node's inventory does not list it": gone, "inventories are not seen": unseen} {
		f := Of(s)
		if d := f.Devices[0]; d.ID != "a" || d.Condition != Reserved || d.Why != why || d.Memory.PlannedMiB != 20000 {
			t.Errorf("%+v, want a reserved because %s", d, why)
		}
		if n := f.Placements[0].Totals.Devices; n != 2 {
			t.Errorf("%s: the placement has %d devices, want 2", why, n)
		}
	}
}

// The state is read and never written, so that it can be put together again.
func TestOfChangesNothing(t *testing.T) {
	s := world()
	s.Pods = []corev1.Pod{podOn("gone", "c"), podOn("llm-0", "a")}
	s.Pods[0].Status.Phase = corev1.PodSucceeded
	before := fleet.State{Pods: append([]corev1.Pod(nil), s.Pods...)}
	first, second := Of(s), Of(s)
	if diff := cmp.Diff(before.Pods, s.Pods); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestUtilization(t *testing.T) {
	const said = `{"readAt":"2026-05-04T12:02:03Z","percent":{"a":91,"b":0,"gone":7}}`
	at := metav1.NewTime(time.Date(2026, 5, 4, 12, 2, 3, 0, time.UTC))
	for name, c := range map[string]struct {
		change func(*State)
		want   map[v1alpha1.DeviceID]*Utilization
		total  string
	}{
		"as the agent says":           {func(*State) {}, map[v1alpha1.DeviceID]*Utilization{"a": {91, at}, "b": {0, at}, "c": nil, "d": nil}, `{"meanPercent":46,"devices":2}`},
		"not of an agent gone silent": {func(s *State) { s.Silent = map[string]bool{"n": true} }, map[v1alpha1.DeviceID]*Utilization{"a": nil, "b": nil, "c": nil, "d": nil}, `{"meanPercent":0,"devices":0}`},
		"not what is not understood":  {func(s *State) { s.Utilization["n"] = "91" }, map[v1alpha1.DeviceID]*Utilization{"a": nil, "b": nil, "c": nil, "d": nil}, `{"meanPercent":0,"devices":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := world()
			s.Utilization = map[string]string{"n": said}
			c.change(s)
			f := Of(s)
			got := map[v1alpha1.DeviceID]*Utilization{}
			for i := range f.Devices {
				got[f.Devices[i].ID] = f.Devices[i].Utilization
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text, err := json.Marshal(Sum(f.Devices).Utilization); err != nil || string(text) != c.total {
				t.Errorf("the mean is %s, %v, want %s", text, err, c.total)
			}
		})
	}
}
