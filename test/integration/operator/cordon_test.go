package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/cordon"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

func cordonsMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: cordon.Name}}
}

// newCordonWorld is a world with a node of four devices.
func newCordonWorld(t *testing.T) world {
	t.Helper()
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 4)
	return w
}

func (w world) cordon(devices ...v1alpha1.DeviceID) {
	w.Helper()
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Spec.CordonedDevices = devices })
}

func (w world) cordoned() []v1alpha1.DeviceID {
	w.Helper()
	var inventory v1alpha1.AcceleratorInventory
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: "n1"}, &inventory))
	return inventory.Spec.CordonedDevices
}

// replaceNode deletes the node with its inventory, as the garbage collector does, and creates both anew.
func (w world) replaceNode() {
	w.Helper()
	w.Must(w.Delete(w.Context(), &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))
	w.Must(w.Delete(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))
	w.addNode("n1", 4)
}

// awaitRecord waits until the operator has a record of the node, or none.
func (w world) awaitRecord(want bool) {
	w.Helper()
	w.Eventually("the cordons are recorded or forgotten", func(ctx context.Context) bool {
		records := cordonsMap()
		if err := w.Get(ctx, client.ObjectKeyFromObject(records), records); err != nil {
			return !want
		}
		_, recorded := records.Data["n1"]
		return recorded == want
	})
}

func TestCordonsSurviveTheirInventory(t *testing.T) {
	w := newCordonWorld(t)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.cordon(operation.DeviceID(0), operation.DeviceID(2))
	w.awaitRecord(true)
	// The second time shows that restored cordons are recorded like cordons that an administrator wrote.
	for range 2 {
		w.replaceNode()
		w.Eventually("the devices are cordoned again", func(context.Context) bool {
			return cmp.Equal(w.cordoned(), []v1alpha1.DeviceID{operation.DeviceID(0), operation.DeviceID(2)})
		})
	}
	// Cordons that were restored are lifted like any.
	w.cordon()
	w.awaitRecord(false)
	if got := w.cordoned(); len(got) > 0 {
		t.Errorf("%v are cordoned after that was lifted", got)
	}
}

// The administrator is faster than the next look at the inventory, which then sees it without cordons, as it was when it was new. The
// keeper looks when the test says so, and no manager beside it.
func TestCordonsLiftedRightAfterTheyWereRestoredStayLifted(t *testing.T) {
	w := newCordonWorld(t)
	keeper := cordon.Keeper{Inventories: w, Reader: w, Writer: w, Namespace: operation.Namespace}
	look := func() {
		t.Helper()
		_, err := keeper.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "n1"}})
		w.Must(err)
	}
	w.cordon(operation.DeviceID(0))
	look()
	w.replaceNode()
	look()
	if diff := cmp.Diff([]v1alpha1.DeviceID{operation.DeviceID(0)}, w.cordoned()); diff != "" {
		t.Fatalf("cordoned after the node was replaced (-want +got):\n%s", diff)
	}
	w.cordon()
	look()
	if got := w.cordoned(); len(got) > 0 {
		t.Errorf("%v are cordoned after that was lifted", got)
	}
	w.awaitRecord(false)
}

func TestLiftedCordonsAreForgotten(t *testing.T) {
	w := newCordonWorld(t)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.cordon(operation.DeviceID(0))
	w.awaitRecord(true)
	w.cordon()
	w.awaitRecord(false)
	w.replaceNode()
	// A placement that takes every device shows that the operator has seen the new inventory.
	w.place(w.PlacementOf("all", 4, 1))
	w.awaitPlan("all", "all-1")
	if got := w.cordoned(); len(got) > 0 {
		t.Errorf("%v are cordoned", got)
	}
}

// The operator that meets the records is another than the one that wrote them.
func TestNewCordonsAreLeftAsTheyAre(t *testing.T) {
	w := newCordonWorld(t)
	records := cordonsMap()
	records.Data = map[string]string{
		"n1": `{"inventory":"former","devices":["` + string(operation.DeviceID(0)) + `"]}`,
		"n2": `{"inventory":`, // a record that somebody broke is nobody's
	}
	w.Must(w.Create(t.Context(), records))
	w.cordon(operation.DeviceID(3))
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.Eventually("the new cordons are recorded", func(ctx context.Context) bool {
		w.Must(w.Get(ctx, client.ObjectKeyFromObject(records), records))
		return !cmp.Equal(records.Data["n1"], `{"inventory":"former","devices":["`+string(operation.DeviceID(0))+`"]}`)
	})
	if diff := cmp.Diff([]v1alpha1.DeviceID{operation.DeviceID(3)}, w.cordoned()); diff != "" {
		t.Errorf("cordoned (-want +got):\n%s", diff)
	}
}

// A pod that no placement made holds a device, by another vendor's plugin: it is not planned.
func TestDevicesOfStrangersAreTaken(t *testing.T) {
	w := newCordonWorld(t)
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Allocations = []v1alpha1.Allocation{{
			Device: operation.DeviceID(0), Namespace: "elsewhere", Pod: "notebook", Container: "c", Resource: "nvidia.com/gpu",
		}}
	})
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.place(w.PlacementOf("four", 4, 1))
	w.awaitReason("four", "TooFewDevices")
	w.place(w.PlacementOf("three", 3, 1))
	for _, device := range devicesOf(w.awaitPlan("three", "three-1")) {
		if device == "n1/"+string(operation.DeviceID(0)) {
			t.Error("the plan has the device that a stranger's pod holds")
		}
	}
}
