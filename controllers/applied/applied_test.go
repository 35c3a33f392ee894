package applied

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestMeshConditionKeepsTheTimeOfTheLastChange(t *testing.T) {
	then := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := then.Add(time.Hour)
	mesh := &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	mesh.Status.Conditions = []metav1.Condition{
		{Type: "Launchable", Status: metav1.ConditionTrue, Reason: "Written", ObservedGeneration: 2, LastTransitionTime: then},
		{Type: "Other"},
	}
	for _, test := range []struct {
		name      string
		status    metav1.ConditionStatus
		condition string
		since     time.Time
	}{
		{"the same status", metav1.ConditionTrue, "Launchable", then.Time},
		{"another status", metav1.ConditionFalse, "Launchable", now},
		{"a new condition", metav1.ConditionTrue, "Verified", now},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := mesh.DeepCopy()
			got := MeshCondition(mesh, metav1.Condition{Type: test.condition, Status: test.status, Reason: "Next"}, now)
			want := metav1.Condition{
				Type: test.condition, Status: test.status, Reason: "Next", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(test.since),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, mesh); diff != "" {
				t.Errorf("the mesh was changed (-before +after):\n%s", diff)
			}
		})
	}
}
