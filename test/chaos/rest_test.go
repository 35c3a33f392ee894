package chaos

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// planOn is an active plan for the placement of a uid on devices of node n.
func planOn(uid string, devices ...int) *v1alpha1.ShardingPlan {
	plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: uid + "-1", UID: types.UID(uid + "-1")}}
	plan.Spec.Placement = v1alpha1.PlacementRef{Name: uid, UID: uid}
	row := v1alpha1.PlanRow{Node: "n"}
	for _, i := range devices {
		row.Devices = append(row.Devices, operation.DeviceID(i))
	}
	plan.Spec.Nodes = []v1alpha1.PlanRow{row}
	plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
	return plan
}

// A device that is in two plans for a moment is seen, also when all is well again.
func TestDoubleDevicesAreSeen(t *testing.T) {
	w := newWatcher(nil)
	w.see(watch.Added, planOn("a", 0, 1))
	w.see(watch.Added, planOn("b", 2))
	if found := w.take(); len(found) > 0 {
		t.Errorf("found %q in order", found)
	}
	w.see(watch.Added, planOn("c", 1))
	w.see(watch.Deleted, planOn("c", 1))
	if found := w.take(); len(found) != 1 || !strings.Contains(found[0], string(operation.DeviceID(1))) {
		t.Errorf("found %q", found)
	}
}

// podUID is the uid of the pod of a world at rest.
const podUID = types.UID("pod")

// atRest is a world at rest: a placement with a plan for one device, and the pod that runs there.
func atRest() (s *sight, running map[types.UID]container) {
	s = &sight{}
	s.plans.Items = []v1alpha1.ShardingPlan{*planOn("a", 0)}
	s.placements.Items = []v1alpha1.ModelPlacement{*placementOf("a", wish{1, 1})}
	p := &s.placements.Items[0]
	p.UID, p.Generation = "a", 1
	p.Status.ObservedGeneration, p.Status.Plan, p.Status.PlannedReplicas = 1, "a-1", 1
	p.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionPlaced, Reason: v1alpha1.ReasonPlaced, ObservedGeneration: 1}, {Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
	}
	s.meshes.Items = []v1alpha1.DeviceMesh{{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "a"}, Spec: v1alpha1.DeviceMeshSpec{
		Placement: v1alpha1.PlacementRef{Name: "a", UID: "a"}, Plan: "a-1", Members: []v1alpha1.MeshMember{{Node: "n"}},
	}}}
	s.pods.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{
		Namespace: home, Name: "a-0", UID: podUID, Labels: map[string]string{v1alpha1.LabelPlacement: "a"},
		Annotations: map[string]string{v1alpha1.AnnotationDevices: string(operation.DeviceID(0))},
	}}}
	s.inventories.Items = []v1alpha1.AcceleratorInventory{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: *operation.GPUs(2)}}
	s.inventories.Items[0].Status.Slots = []v1alpha1.Slot{{Device: operation.DeviceID(0), Resource: "rankwright.dev/slot-0"}}
	name := types.NamespacedName{Namespace: home, Name: "a-0"}
	return s, map[types.UID]container{podUID: {name: name, node: "n", of: "a", devices: []v1alpha1.DeviceID{operation.DeviceID(0)}}}
}

// TestViolationsAtRest spoils a world at rest in every way that is looked for.
func TestViolationsAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *sight, running map[types.UID]container)
		says  string
	}{
		"nothing": {func(*sight, map[types.UID]container) {}, ""},
		"another's plan": {func(s *sight, _ map[types.UID]container) {
			s.plans.Items = []v1alpha1.ShardingPlan{*planOn("b", 0)}
		}, "planned for placement b"},
		"other devices than told": {func(_ *sight, running map[types.UID]container) {
			c := running[podUID]
			c.devices = append(c.devices, operation.DeviceID(1))
			running[podUID] = c
		}, "was told 1 devices"},
		"ended": {func(s *sight, running map[types.UID]container) {
			delete(running, podUID)
			s.pods.Items = nil
		}, "nothing asked for it"},
		"ended for a change": {func(s *sight, running map[types.UID]container) {
			delete(running, podUID)
			s.pods.Items, s.placements.Items[0].Generation = nil, 2
		}, ""},
		"a slot that nobody has": {func(s *sight, _ map[types.UID]container) {
			s.inventories.Items[0].Status.Slots = append(s.inventories.Items[0].Status.Slots, v1alpha1.Slot{Device: operation.DeviceID(3), Resource: "rankwright.dev/slot-3"})
		}, "slot rankwright.dev/slot-3 of node n is left behind"},
		"a pod too many": {func(s *sight, _ map[types.UID]container) { s.meshes.Items = nil }, "-1 pods too few"},
	} {
		t.Run(name, func(t *testing.T) {
			s, running := atRest()
			w := &world{rested: map[types.UID]resting{podUID: {name: running[podUID].name, placement: "a", generation: 1}}}
			c.spoil(s, running)
			found := append(s.trespassers(running), w.restarted(s, running)...)
			if stray := s.strays(running); stray != "" {
				found = append(found, stray)
			}
			if said := strings.Join(found, "\n"); (c.says == "") != (said == "" || strings.HasPrefix(said, "placement chaos/a has 1 pods too few")) || !strings.Contains(said, c.says) {
				t.Errorf("found %q, want %q", found, c.says)
			}
		})
	}
}
