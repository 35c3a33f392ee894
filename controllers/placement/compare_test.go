package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// inventoryOf is a node of one device of a product, of which others use so much memory.
func inventoryOf(product string, usedMiB int64) *v1alpha1.AcceleratorInventory {
	i := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: product, UID: "1"}}
	i.Status.Devices = []v1alpha1.Device{{
		ID: "nvidia-0", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: product,
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559, UsedByOthersMiB: usedMiB}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}}
	return i
}

// What waits for a product, or runs on the best there is of it, is asked about again where a device of that product became better, and not where others did.
func TestAPlacementIsConcernedByItsProducts(t *testing.T) {
	const wanted, other = "NVIDIA H100", "NVIDIA L40S"
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "1"}}
	placement.Spec.Devices = &v1alpha1.DeviceRequirements{Products: []string{wanted}}
	for product, concerns := range map[string]bool{wanted: true, other: false} {
		if got := concernedBy(inventoryOf(product, 0))(placement); got != concerns {
			t.Errorf("an inventory of %s concerns what waits for %s: %v", product, wanted, got)
		}
	}
	if !concernedBy(&corev1.Node{})(placement) {
		t.Error("a node does not concern what waits for devices")
	}

	var f fleet.Follower
	follow := func(usedWanted, usedOther int64) concern {
		state := fleet.State{Inventories: []v1alpha1.AcceleratorInventory{*inventoryOf(wanted, usedWanted), *inventoryOf(other, usedOther)}}
		for i := range state.Inventories {
			state.Nodes = append(state.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: state.Inventories[i].Name}})
		}
		return concernOf(placement, f.Follow(state))
	}
	first := follow(1000, 1000)
	asked := func(fingerprint string) compared {
		return compared{question{uid: "1", fingerprint: fingerprint}, "plan"}
	}
	none := comparison{asked("a"), first.Epoch(), metav1.Condition{Status: metav1.ConditionFalse}}
	better := none
	better.condition.Status = metav1.ConditionTrue
	for _, c := range []struct {
		name                  string
		usedWanted, usedOther int64
		fingerprint           string
		of                    *comparison
		want                  bool
	}{
		{"nothing changed", 1000, 1000, "a", &better, true},
		{"others have more", 1000, 0, "b", &none, true},
		{"others have more, and there was a better plan", 1000, 0, "b", &better, false},
		{"its own have less", 2000, 0, "c", &none, true},
		{"its own have more", 0, 0, "d", &none, false},
	} {
		if got := c.of.answers(asked(c.fingerprint), follow(c.usedWanted, c.usedOther)); got != c.want {
			t.Errorf("%s: what was found still answers: %v", c.name, got)
		}
	}
	changed := asked("b")
	changed.generation++
	if none.answers(changed, first) {
		t.Error("what was found answers for another spec")
	}
}
