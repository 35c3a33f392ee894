package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// Each node that is there when the operator starts would ask for each placement that waits: only what comes later does.
func TestWhatIsThereAtTheStartAsksForNothing(t *testing.T) {
	for _, initial := range []bool{true, false} {
		if asks := afterStart().Create(event.CreateEvent{Object: &corev1.Node{}, IsInInitialList: initial}); asks == initial {
			t.Errorf("a node of the initial list (%t) asks: %t", initial, asks)
		}
	}
	if !afterStart().Delete(event.DeleteEvent{Object: &corev1.Node{}}) || !afterStart().Update(event.UpdateEvent{ObjectOld: &corev1.Node{}, ObjectNew: &corev1.Node{}}) {
		t.Error("changes and ends are left out")
	}
}

// TestInventoriesThatSayTheSameAskForNothing: times, versions and sums of an inventory are written without anything being otherwise.
func TestInventoriesThatSayTheSameAskForNothing(t *testing.T) {
	before := &v1alpha1.AcceleratorInventory{Status: v1alpha1.AcceleratorInventoryStatus{
		Devices:     []v1alpha1.Device{{ID: "a", Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Memory: &v1alpha1.DeviceMemory{TotalMiB: 100}}},
		Backends:    []v1alpha1.BackendStatus{{Name: "nvidia"}},
		Allocations: []v1alpha1.Allocation{{Device: "a", Pod: "p"}},
		Conditions:  []metav1.Condition{{Type: v1alpha1.ConditionAllocationsCurrent, Status: metav1.ConditionTrue}},
	}}
	now := metav1.Now()
	tests := map[string]struct {
		change  func(*v1alpha1.AcceleratorInventory)
		matters bool
	}{
		"nothing":                  {func(*v1alpha1.AcceleratorInventory) {}, false},
		"version":                  {func(i *v1alpha1.AcceleratorInventory) { i.ResourceVersion, i.Generation = "2", 2 }, false},
		"managed fields":           {func(i *v1alpha1.AcceleratorInventory) { i.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}} }, false},
		"agent":                    {func(i *v1alpha1.AcceleratorInventory) { i.Status.AgentVersion = "v2" }, false},
		"sums":                     {func(i *v1alpha1.AcceleratorInventory) { i.Status.Summary.Devices = 1 }, false},
		"since when a device is":   {func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices[0].Health.Since = &now }, false},
		"since when a condition":   {func(i *v1alpha1.AcceleratorInventory) { i.Status.Conditions[0].LastTransitionTime = now }, false},
		"label":                    {func(i *v1alpha1.AcceleratorInventory) { i.Labels = map[string]string{"a": "b"} }, true},
		"annotation":               {func(i *v1alpha1.AcceleratorInventory) { i.Annotations = map[string]string{"a": "b"} }, true},
		"health":                   {func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices[0].Health.State = v1alpha1.Unhealthy }, true},
		"memory in use":            {func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices[0].Memory.UsedByOthersMiB = 1 }, true},
		"device":                   {func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices = nil }, true},
		"backend":                  {func(i *v1alpha1.AcceleratorInventory) { i.Status.Backends[0].State = v1alpha1.BackendFailed }, true},
		"allocation":               {func(i *v1alpha1.AcceleratorInventory) { i.Status.Allocations = nil }, true},
		"condition":                {func(i *v1alpha1.AcceleratorInventory) { i.Status.Conditions[0].Status = metav1.ConditionFalse }, true},
		"cordon":                   {func(i *v1alpha1.AcceleratorInventory) { i.Spec.CordonedDevices = []v1alpha1.DeviceID{"a"} }, true},
		"slots":                    {func(i *v1alpha1.AcceleratorInventory) { i.Status.Slots = []v1alpha1.Slot{{Device: "a"}} }, true},
		"another one of this name": {func(i *v1alpha1.AcceleratorInventory) { i.UID = "2" }, true},
		"it is being deleted":      {func(i *v1alpha1.AcceleratorInventory) { i.DeletionTimestamp = &now }, true},
	}
	for name, test := range tests {
		after := before.DeepCopy()
		test.change(after)
		if got := inventoryMatters().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.matters {
			t.Errorf("%s: matters is %t", name, got)
		}
	}
}

// TestWhoHasAPlanComesBeforeWhoWaits: a placement that got its plan in the turn of another does not queue up behind those that have none.
func TestWhoHasAPlanComesBeforeWhoWaits(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
	}
	queue.Add(named("waits"))
	queue.Add(named("served"))
	plan := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "served-1", Labels: map[string]string{v1alpha1.LabelPlacement: "served"}}}
	r := &Reconciler{Ledger: &ledger.Ledger{}}
	r.followPlans().Create(t.Context(), event.CreateEvent{Object: plan}, queue)
	if first, _ := queue.Get(); first != named("served") {
		t.Errorf("%v comes first", first)
	}
}
