package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
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
