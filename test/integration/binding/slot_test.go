package binding

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// asking makes a pod ask for a slot by itself.
func asking(pod *corev1.Pod, slot string) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(v1alpha1.SlotPrefix + slot): resource.MustParse("1")}
	return pod
}

// refusedBy says whether the policy refused, with the words.
func refusedBy(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'rankwright-slots'") && strings.Contains(err.Error(), words)
}

// Nobody has a slot but the pods that the operator binds, not even an administrator.
func TestSlotsAreForBoundPodsAlone(t *testing.T) {
	w := newWorld(t, "slotted")
	w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementSlot)
	w.awaitPlan("llm-1")
	const notOurs, gate = "only pods of a ModelPlacement", "only the operator may take the scheduling gate"
	stranger := asking(w.pod("stranger", nil), "0")
	stranger.Labels = nil
	w.Eventually("the policy is in force", func(ctx context.Context) bool {
		return refusedBy(w.Create(ctx, stranger.DeepCopy(), client.DryRunAll), notOurs)
	})
	inside := stranger.DeepCopy()
	inside.Spec.InitContainers, inside.Spec.Containers = inside.Spec.Containers, []corev1.Container{{Name: "main", Image: "model"}}
	byAuthor := asking(w.pod("by-author", map[string]string{v1alpha1.LabelPlan: "llm-1", binding.LabelIndex: "0"}), "0")
	for what, pod := range map[string]*corev1.Pod{"in an init container": inside, "by a pod that names its plan": byAuthor} {
		if err := w.Create(t.Context(), pod, client.DryRunAll); !refusedBy(err, notOurs) {
			t.Errorf("a slot that is asked for %s: %v", what, err)
		}
	}

	// A pod with our gate waits, and is never bound, since no place has the slot that it asks for.
	other := asking(w.pod("other", nil), "7")
	other.Labels, other.Spec.SchedulingGates = nil, []corev1.PodSchedulingGate{{Name: "rankwright.dev/placement"}}
	w.Must(w.Create(t.Context(), other))
	free := other.DeepCopy()
	free.Spec.SchedulingGates = nil
	if err := w.Patch(t.Context(), free, client.MergeFrom(other)); !refusedBy(err, gate) {
		t.Errorf("the gate was taken by somebody else: %v", err)
	}
	labelled := other.DeepCopy()
	labelled.Labels = map[string]string{"example.com/edited": "yes"}
	w.Must(w.Patch(t.Context(), labelled, client.MergeFrom(other)))

	w.runStatefulSet(1)
	pod := w.awaitBound(1, "llm-1")["0"]
	if _, has := pod.Spec.Containers[0].Resources.Limits["rankwright.dev/slot-1"]; !has {
		t.Errorf("the placement's pod asks for %v", pod.Spec.Containers[0].Resources.Limits)
	}
}

// A pod that waits and was admitted for a placement that is gone has slots of that one's plan, which may have had the same name: it is evicted, and
// what made it makes one that has a place.
func TestPodOfAnEarlierPlacementIsEvicted(t *testing.T) {
	w := newWorld(t, "earlier")
	w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementSlot)
	w.awaitPlan("llm-1")
	left := asking(w.pod("left", nil), "7")
	left.Labels, left.Spec.SchedulingGates = nil, []corev1.PodSchedulingGate{{Name: "rankwright.dev/placement"}}
	w.Must(w.Create(t.Context(), left))
	admitted := left.DeepCopy()
	admitted.Labels = map[string]string{v1alpha1.LabelPlacement: "llm", v1alpha1.LabelPlan: "llm-1", binding.LabelIndex: "0"}
	w.Must(w.Patch(t.Context(), admitted, client.MergeFrom(left)))
	w.awaitEvent("left", binding.ReasonDevicesDiffer)
	earlier := admitted.DeepCopy()
	earlier.Annotations = map[string]string{binding.AnnotationAdmittedFor: "a placement that is gone"}
	w.Must(w.Patch(t.Context(), earlier, client.MergeFrom(admitted)))
	w.Eventually("the pod is gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.Get(ctx, client.ObjectKeyFromObject(left), left))
	})
}
