package binding

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/operation"
)

// addNodeFor makes a node whose devices can be kept as the enforcement says.
func (w *world) addNodeFor(enforcement v1alpha1.Enforcement, name string, devices int) {
	w.Helper()
	if enforcement == v1alpha1.EnforcementClaim {
		w.addClaimedNode(name, devices)
		return
	}
	w.addNode(name, devices)
}

// setCopies gives the placement so many copies.
func (w *world) setCopies(copies int32) {
	w.Helper()
	w.setScale(&v1alpha1.ModelPlacement{}, copies)
}

// scale gives placement and StatefulSet so many copies of one pod each.
func (w *world) scale(copies int32) {
	w.Helper()
	w.scaleTo(copies, copies)
}

// scaleTo gives the placement so many copies, and its StatefulSet so many pods.
func (w *world) scaleTo(copies, pods int32) {
	w.Helper()
	w.setCopies(copies)
	w.setScale(&appsv1.StatefulSet{}, pods)
}

// setScale writes how many replicas the object llm of a kind is to have.
func (w *world) setScale(of client.Object, replicas int32) {
	w.Helper()
	of.SetNamespace(w.Home)
	of.SetName("llm")
	w.Eventually("the number of replicas is written", func(ctx context.Context) bool {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		return w.SubResource("scale").Update(ctx, of, client.WithSubResourceBody(scale)) == nil
	})
}

// lose makes devices of node a unhealthy.
func (w *world) lose(devices ...int) {
	w.Helper()
	inventory := &v1alpha1.AcceleratorInventory{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: "a"}, inventory))
	healthy := client.MergeFrom(inventory.DeepCopy())
	for _, device := range devices {
		inventory.Status.Devices[device].Health.State = v1alpha1.Unhealthy
	}
	w.Must(w.Status().Patch(w.Context(), inventory, healthy))
}

// awaitBound waits until so many pods are bound by a plan, with a kubelet that runs them and ends those that go.
func (w *world) awaitBound(count int, plan string) map[string]*corev1.Pod {
	w.Helper()
	return w.awaitPods(count, "bound by "+plan, func(p *corev1.Pod) bool {
		w.asKubelet()
		return !binding.Gated(p) && p.DeletionTimestamp == nil && p.Labels[v1alpha1.LabelPlan] == plan
	})
}

// awaitRunning is awaitBound for pods that run by the first plan: they may be bound before they are scheduled.
func (w *world) awaitRunning(count int) map[string]*corev1.Pod {
	w.Helper()
	w.awaitBound(count, "llm-1")
	return w.awaitPods(count, "running", func(p *corev1.Pod) bool {
		w.asKubelet()
		return p.Status.Phase == corev1.PodRunning
	})
}

// checkStayed holds the pods to those of before: the same, but for the indices that moved.
func (w *world) checkStayed(before, after map[string]*corev1.Pod, moved ...string) {
	w.Helper()
	uids := map[string]types.UID{}
	for index, pod := range before {
		uids[index] = pod.UID
	}
	for _, index := range moved {
		if uids[index] == after[index].UID {
			w.Errorf("pod %s lost its place and stayed", index)
		}
		delete(uids, index)
	}
	for index, pod := range after {
		if uid, was := uids[index]; was && uid != pod.UID {
			w.Errorf("pod %s kept its place and is another one", index)
		}
	}
}

var enforcements = []v1alpha1.Enforcement{v1alpha1.EnforcementAdvisory, v1alpha1.EnforcementSlot, v1alpha1.EnforcementClaim}

func TestScalingTouchesNoOtherCopy(t *testing.T) {
	for _, enforcement := range enforcements {
		t.Run(string(enforcement), func(t *testing.T) {
			w := newWorld(t, "scaled-"+strings.ToLower(string(enforcement)))
			w.planner = operation.KeepingFit
			w.operate(nil)
			w.addNodeFor(enforcement, "a", 4)
			w.addNodeFor(enforcement, "b", 4)
			w.place("llm", 2, enforcement)
			w.awaitPlan("llm-1")
			w.runStatefulSet(2)
			two := w.awaitBound(2, "llm-1")
			w.scale(3)
			three := w.awaitBound(3, "llm-2")
			w.checkStayed(two, three)
			w.scale(2)
			w.checkStayed(two, w.awaitBound(2, "llm-3"))
		})
	}
}

func TestLostDeviceMovesItsCopyAlone(t *testing.T) {
	for _, enforcement := range enforcements {
		t.Run(string(enforcement), func(t *testing.T) {
			const copies, lost = 10, 3
			w := newWorld(t, "lost-"+strings.ToLower(string(enforcement)))
			w.planner = operation.KeepingFit
			w.operate(nil)
			w.addNodeFor(enforcement, "a", copies+1)
			placement := w.PlacementOf("llm", 1, copies)
			placement.Spec.Enforcement = enforcement
			w.Must(w.Create(t.Context(), placement))
			w.awaitPlan("llm-1")
			w.runStatefulSet(copies)
			before := w.awaitBound(copies, "llm-1")
			w.lose(lost)
			after := w.awaitBound(copies, "llm-2")
			w.checkStayed(before, after, fmt.Sprint(lost))
			if got := after[fmt.Sprint(lost)].Annotations[v1alpha1.AnnotationDevices]; got != string(operation.DeviceID(copies)) {
				t.Errorf("the pod that moved has %s", got)
			}
		})
	}
}

func TestLostNodeMovesItsPodsAlone(t *testing.T) {
	const copies, perNode = 20, 4
	w := newWorld(t, "lostnode")
	w.planner = operation.KeepingFit
	w.operate(nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "spare"} {
		w.addNode(name, perNode)
	}
	w.Must(w.Create(t.Context(), w.PlacementOf("llm", 1, copies)))
	w.awaitPlan("llm-1")
	w.runStatefulSet(copies)
	before := w.awaitBound(copies, "llm-1")
	w.Must(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}}))
	after := w.awaitBound(copies, "llm-2")
	w.checkStayed(before, after, "8", "9", "10", "11")
}
