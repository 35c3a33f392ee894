package fleet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// past is what the API server has at one moment of a cluster's life.
type past struct {
	version     int
	inventories map[string]v1alpha1.AcceleratorInventory
	nodes       map[string]corev1.Node
	plans       []v1alpha1.ShardingPlan
	pods        []corev1.Pod
	silent      map[string]bool
}

var (
	pastNodes    = []string{"a", "b", "c", "d", "e"}
	pastProducts = []string{"NVIDIA L40S", "NVIDIA H100"}
	pastDevices  = []v1alpha1.DeviceID{"nvidia-0", "nvidia-1", "nvidia-2", "nvidia-2-mig1"}
)

func (p *past) next() string { p.version++; return fmt.Sprint(p.version) }

// step lets one thing happen.
func (p *past) step(t *rapid.T) {
	name := rapid.SampledFrom(pastNodes).Draw(t, "node")
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0, 1, 2:
		p.inventories[name] = p.drawInventory(t, name)
	case 3, 4:
		p.nodes[name] = p.drawNode(t, name)
	case 5:
		delete(p.inventories, name)
	case 6:
		delete(p.nodes, name)
	case 7:
		p.silent = map[string]bool{name: rapid.Bool().Draw(t, "silent")}
	case 8:
		if len(p.plans) > 0 && rapid.Bool().Draw(t, "released") {
			p.plans = slices.Delete(slices.Clone(p.plans), 0, 1)
			break
		}
		made := planOn(name, rapid.SampledFrom(pastDevices).Draw(t, "first"))
		made.Name, made.UID = "one-"+p.next(), types.UID(p.next())
		made.Spec.Placement.Name = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "placement")
		made.Spec.Nodes = append(made.Spec.Nodes, v1alpha1.PlanRow{Node: rapid.SampledFrom(pastNodes).Draw(t, "other"), Devices: pastDevices[:1]})
		p.plans = append(slices.Clone(p.plans), made)
	default:
		if len(p.pods) > 0 && rapid.Bool().Draw(t, "ended") {
			p.pods = slices.Delete(slices.Clone(p.pods), 0, 1)
			break
		}
		pod := podOf("pod-"+p.next(), name, corev1.PodRunning)
		pod.UID = types.UID(p.next())
		if len(p.plans) > 0 {
			pod.Labels[v1alpha1.LabelPlan] = rapid.SampledFrom(p.plans).Draw(t, "plan").Name
		}
		if of := rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "bound for"); of != "" {
			pod.Annotations = map[string]string{
				v1alpha1.AnnotationPlacementUID: of, v1alpha1.AnnotationDevices: string(rapid.SampledFrom(pastDevices).Draw(t, "bound to")),
			}
		}
		p.pods = append(slices.Clone(p.pods), pod)
	}
}

func (p *past) drawInventory(t *rapid.T, name string) v1alpha1.AcceleratorInventory {
	i := v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: p.next()}}
	for _, id := range pastDevices[:rapid.IntRange(0, len(pastDevices)).Draw(t, "devices")] {
		d := v1alpha1.Device{
			ID: id, Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: rapid.SampledFrom(pastProducts).Draw(t, "product"), Memory: &v1alpha1.DeviceMemory{TotalMiB: 46068},
			Health: v1alpha1.DeviceHealth{State: rapid.SampledFrom([]v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Unhealthy}).Draw(t, "health")},
		}
		i.Status.Devices = append(i.Status.Devices, d)
		if len(p.pods) > 0 && rapid.Bool().Draw(t, "allocated") {
			i = allocated(i, id, rapid.SampledFrom(p.pods).Draw(t, "pod").Name)
		}
	}
	return i
}

func (p *past) drawNode(t *rapid.T, name string) corev1.Node {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready")}
	return corev1.Node{
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: p.next(), Labels: map[string]string{"zone": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone")}},
		Spec:       corev1.NodeSpec{Unschedulable: rapid.IntRange(0, 3).Draw(t, "cordon") == 0},
	}
}

func listOf[T any](byName map[string]T, order []string) []T {
	var all []T
	for _, name := range order {
		if one, ok := byName[name]; ok {
			all = append(all, one)
		}
	}
	return all
}

// state is all of it, listed in some order of the nodes.
func (p *past) state(order []string) State {
	return State{
		Plans: p.plans, Inventories: listOf(p.inventories, order), Nodes: listOf(p.nodes, order), Pods: slices.Clone(p.pods), Silent: p.silent,
	}
}

// informer keeps the objects of one kind as an informer does: an object that did not change is the same one.
type informer[T any] map[string]*T

func (i informer[T]) list(now []T, meta func(*T) *metav1.ObjectMeta) []*T {
	var all []*T
	for j := range now {
		name := meta(&now[j]).Name
		if last := i[name]; last == nil || meta(last).ResourceVersion != meta(&now[j]).ResourceVersion {
			i[name] = &now[j]
		}
		all = append(all, i[name])
	}
	return all
}

// informers follow what the API server has.
type informers struct {
	inventories informer[v1alpha1.AcceleratorInventory]
	nodes       informer[corev1.Node]
}

func (i informers) see(s State) Informed {
	now := s.informed()
	now.Inventories = i.inventories.list(s.Inventories, func(o *v1alpha1.AcceleratorInventory) *metav1.ObjectMeta { return &o.ObjectMeta })
	now.Nodes = i.nodes.list(s.Nodes, func(o *corev1.Node) *metav1.ObjectMeta { return &o.ObjectMeta })
	return now
}

// An index that followed a cluster through its life has what reading all of it anew has, for every placement, and gives
// it a fingerprint that changes with it and with nothing else.
func TestIndexIsWhatReadingAnewGives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &past{inventories: map[string]v1alpha1.AcceleratorInventory{}, nodes: map[string]corev1.Node{}}
		var x, y Follower
		seen := informers{informer[v1alpha1.AcceleratorInventory]{}, informer[corev1.Node]{}}
		for range rapid.IntRange(0, 6).Draw(rt, "before") {
			p.step(rt)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			p.step(rt)
			order := rapid.Permutation(pastNodes).Draw(rt, "order")
			anew := NewSnapshot(p.state(pastNodes))
			followed := x.Follow(p.state(order))
			if rapid.Bool().Draw(rt, "counted") {
				var want watched
				for _, h := range anew.hosts {
					want.count(h, 1)
				}
				if got := y.Ready(seen.see(p.state(order))); got != want.ready {
					rt.Fatalf("counted %+v, want %+v", got, want.ready)
				}
				if got := anew.Ready(); got != want.ready {
					rt.Fatalf("a snapshot counts %+v, want %+v", got, want.ready)
				}
			}
			if rapid.Bool().Draw(rt, "by informers") {
				followed = y.FollowInformed(seen.see(p.state(order)))
				if kept := len(y.watched.known); kept != len(p.nodes) {
					rt.Fatalf("%d objects are kept of %d nodes", kept, len(p.nodes))
				}
				if kept := len(y.plans); kept > 3*len(p.plans) {
					rt.Fatalf("%d plans are kept of %d", kept, len(p.plans))
				}
			}
			if followed.Fingerprint() != anew.Fingerprint() {
				rt.Fatal("the fingerprints differ")
			}
			for n := range len(p.plans) + 1 {
				for _, placement := range []types.UID{"", "one", "two"} {
					got, want := dump(followed.Cluster(placement, p.plans[:n], nil)), dump(NewCluster(anew.nodes(placement, p.plans[:n])))
					if diff := cmp.Diff(want, got); diff != "" {
						rt.Fatalf("placement %q, replacing %d plans (-anew +followed):\n%s", placement, n, diff)
					}
				}
			}
		}
	})
}

// What the informers say again is not indexed again, and what they share is not written.
func TestIndexKeepsWhatDidNotChange(t *testing.T) {
	p := &past{inventories: map[string]v1alpha1.AcceleratorInventory{}, nodes: map[string]corev1.Node{}}
	one := inventory("nvidia-0")
	one.ResourceVersion = "1"
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
	var x Follower
	now := func() State {
		return State{Inventories: []v1alpha1.AcceleratorInventory{one}, Nodes: []corev1.Node{node}}
	}
	before := x.Follow(now())
	host := before.Host("n")
	node.ResourceVersion = p.next() + "0"
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"new"}}}
	after := x.Follow(now())
	if after.Host("n").Inventory != host.Inventory || before.Fingerprint() != after.Fingerprint() {
		t.Error("a new image of a node is seen as a change")
	}
	one.ResourceVersion = "2"
	one.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDetected, Status: metav1.ConditionTrue}}
	if told := x.Follow(now()); !told.Host("n").Same(before.Host("n")) || told.Fingerprint() != before.Fingerprint() {
		t.Error("a condition of the inventory is seen as a change of what can be planned on")
	} else if len(told.Host("n").Inventory.Status.Conditions) != 1 {
		t.Error("a new version of the inventory is not seen")
	}
	one.ResourceVersion = "3"
	one.Status.Devices = slices.Clone(one.Status.Devices)
	one.Status.Devices[0].Health.State = v1alpha1.Unhealthy
	if changed := x.Follow(now()); changed.Host("n").Same(before.Host("n")) || changed.Fingerprint() == before.Fingerprint() {
		t.Error("a device that became unhealthy is not seen")
	}
	if before.Host("n").Inventory.ResourceVersion != "1" {
		t.Error("an earlier snapshot was changed")
	}
}

func TestHoldersOfDevices(t *testing.T) {
	one, two := planOn("n", "a"), planOn("n", "a", "b")
	one.Spec.Placement.Name, two.Spec.Placement.Name, two.Name, two.UID = "one", "two", "two-1", "two-1"
	for name, c := range map[string]struct {
		plans     []v1alpha1.ShardingPlan
		inventory v1alpha1.AcceleratorInventory
		pods      []corev1.Pod
		want      holders
	}{
		"a plan": {plans: []v1alpha1.ShardingPlan{one}, inventory: inventory("a"), want: holders{"a": "models/one"}},
		"a plan with its own pod": {
			plans: []v1alpha1.ShardingPlan{one}, inventory: allocated(inventory("a"), "a", "one-0"), pods: []corev1.Pod{podOf("one-0", "n", corev1.PodRunning)},
			want: holders{"a": "models/one"},
		},
		"a plan, and a stranger's pod": {
			plans: []v1alpha1.ShardingPlan{one}, inventory: allocated(inventory("a"), "a", "stranger"), want: holders{"a": ""},
		},
		"a pod beside its plan": {
			plans: []v1alpha1.ShardingPlan{one}, inventory: allocated(inventory("a", "b"), "b", "one-0"), pods: []corev1.Pod{podOf("one-0", "n", corev1.PodRunning)},
			want: holders{"a": "models/one", "b": ""},
		},
		"two plans": {plans: []v1alpha1.ShardingPlan{one, two}, inventory: inventory("a", "b"), want: holders{"a": "", "b": "models/two"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSnapshot(State{Plans: c.plans, Inventories: []v1alpha1.AcceleratorInventory{c.inventory}, Pods: c.pods})
			if diff := cmp.Diff(c.want, s.takenOn("n", leavingFor("", nil))); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
	}
}
