package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

func (w world) addClass(name string, value int32) {
	w.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), class)))
}

// damage turns the health of the first device.
func damage(state v1alpha1.HealthState) func(*v1alpha1.AcceleratorInventory) {
	return func(i *v1alpha1.AcceleratorInventory) {
		i.Status.Devices[0].Health = v1alpha1.DeviceHealth{State: state, Reason: "Xid79"}
	}
}

func TestLostDeviceIsReplaced(t *testing.T) {
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 3)
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")

	w.changeInventory(damage(v1alpha1.Unhealthy))
	want := []string{"n1/" + string(operation.DeviceID(1)), "n1/" + string(operation.DeviceID(2))}
	if got := devicesOf(w.awaitPlan("llm", "llm-2")); !cmp.Equal(got, want) {
		t.Errorf("the new plan has %v, want %v", got, want)
	}
	watched.check(2)
}

func TestLossThatNothingReplaces(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 2)
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) { i.Status.Devices = i.Status.Devices[:1] })
	w.awaitReason("llm", "DevicesLost")
	w.Eventually("nothing can replace the device", func(context.Context) bool {
		degraded := w.placement("llm")
		return lacksDevices(degraded) && degraded.Status.Plan == "llm-1"
	})
}

func TestHoldKeepsADegradedPlan(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	p := w.PlacementOf("llm", 2, 1)
	p.Spec.FailurePolicy.Action = v1alpha1.FailureHold
	w.place(p)
	w.awaitPlan("llm", "llm-1")

	w.changeInventory(damage(v1alpha1.Unhealthy))
	w.awaitReason("llm", "DevicesLost")
	mesh := w.mesh()
	want := []v1alpha1.LostRank{{Rank: 0, Node: "n1", Device: operation.DeviceID(0), Reason: "DeviceUnhealthy: Xid79"}}
	if diff := cmp.Diff(want, mesh.Status.LostRanks); diff != "" {
		t.Errorf("lost ranks (-want +got):\n%s", diff)
	}
	if !meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionDegraded) || meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("conditions of the mesh: %+v", mesh.Status.Conditions)
	}

	w.changeInventory(damage(v1alpha1.Healthy))
	w.awaitPlan("llm", "llm-1")
	if mesh := w.mesh(); len(mesh.Status.LostRanks) != 0 || !meta.IsStatusConditionTrue(mesh.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the mesh has not recovered: %+v", mesh.Status)
	}
}

// TestNoEvidenceIsNoLoss makes changes that are no reason to plan anew, waits until the operator has seen a later change, and checks
// that the plan stayed.
func TestNoEvidenceIsNoLoss(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.AcceleratorInventory){
		"health is not known": damage(v1alpha1.Unknown),
		"health is degraded":  damage(v1alpha1.Degraded),
		"the device is cordoned": func(i *v1alpha1.AcceleratorInventory) {
			i.Spec.CordonedDevices = []v1alpha1.DeviceID{operation.DeviceID(0)}
		},
		"no agent wrote a status": func(i *v1alpha1.AcceleratorInventory) { i.Status = v1alpha1.AcceleratorInventoryStatus{} },
		"a backend could not look": func(i *v1alpha1.AcceleratorInventory) {
			i.Status.Devices = i.Status.Devices[1:]
			i.Status.Backends = []v1alpha1.BackendStatus{{Name: "nvidia", State: v1alpha1.BackendFailed}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			w.operate(operator.Options{Planner: operation.FirstFit})
			w.addNode("n1", 3)
			w.place(w.PlacementOf("llm", 2, 1))
			w.awaitPlan("llm", "llm-1")
			w.changeInventory(change)
			w.addNode("n2", 1)
			w.place(w.PlacementOf("later", 1, 1))
			w.awaitPlan("later", "later-1")
			w.awaitPlan("llm", "llm-1")
		})
	}
}

func TestNodeThatIsGoneIsALoss(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 1)
	w.place(w.PlacementOf("llm", 1, 1))
	w.awaitPlan("llm", "llm-1")
	w.addNode("n2", 1)
	w.Must(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}))
	if got := devicesOf(w.awaitPlan("llm", "llm-2")); !cmp.Equal(got, []string{"n2/" + string(operation.DeviceID(0))}) {
		t.Errorf("the new plan has %v", got)
	}
}

func TestPlanStaysWhereANewOneWouldBeTheSame(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.FailurePolicy.Action = v1alpha1.FailureHold })
	w.awaitAnswered("llm-1")
}

func TestModelFromConfigMapIsFollowed(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.addNode("n1", 4)
	p := w.PlacementOf("llm", 1, 1)
	p.Spec.Model = v1alpha1.ModelSource{ConfigMap: &v1alpha1.ConfigMapKey{Name: "weights"}}
	w.place(p)
	w.awaitReason("llm", "ConfigMapNotFound")

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "weights"}, Data: map[string]string{"other": "{}"}}
	w.Must(w.Create(t.Context(), config))
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), config) })
	w.awaitReason("llm", "KeyNotFound")

	const text = `{"model_type":"llama","hidden_size":256,"num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":4,` +
		`"intermediate_size":1024,"vocab_size":1000,"max_position_embeddings":2048}`
	w.Change(config, func() { config.Data = map[string]string{"config.json": text} })
	first := w.awaitPlan("llm", "llm-1")

	w.Change(config, func() { config.Data["config.json"] = text[:len(text)-1] + `,"tie_word_embeddings":true}` })
	second := w.awaitPlan("llm", "llm-2")
	if first.Spec.Model.Architecture.TiedEmbeddings == second.Spec.Model.Architecture.TiedEmbeddings {
		t.Error("the new plan is for the old model")
	}
}
