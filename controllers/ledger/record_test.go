package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	r := record{
		Sequence: 7,
		Plan:     &planRef{Namespace: "models", Name: "llm-2", UID: "b"},
		Replaces: []planRef{{Namespace: "models", Name: "llm-1", UID: "a"}},
	}
	if diff := cmp.Diff(r, decode(r.encode())); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestUnreadableRecordIsEmpty(t *testing.T) {
	for _, text := range []string{"", "{", `{"sequence":"many"}`, "[]"} {
		if diff := cmp.Diff(record{}, decode(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestLeftoversAreInactiveAndStaying(t *testing.T) {
	now := metav1.Now()
	plan := func(name string, active bool, deleted *metav1.Time) v1alpha1.ShardingPlan {
		p := v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: deleted}}
		if active {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
		}
		return p
	}
	var got []string
	for _, left := range Leftovers([]v1alpha1.ShardingPlan{plan("active", true, nil), plan("inactive", false, nil), plan("going", false, &now)}) {
		got = append(got, left.Name)
	}
	if diff := cmp.Diff([]string{"inactive"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
