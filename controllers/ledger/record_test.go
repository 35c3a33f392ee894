package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	r := record{
		Sequence: 7,
		Pending: []entry{
			{Plan: planRef{Namespace: "models", Name: "llm-2", UID: "b"}, Replaces: []planRef{{Namespace: "models", Name: "llm-1", UID: "a"}}},
			{Plan: planRef{Namespace: "other", Name: "llm-1", UID: "c"}},
		},
	}
	if diff := cmp.Diff(r, decode(r.encode())); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestUnreadableRecordIsEmpty(t *testing.T) {
	for _, data := range []map[string]string{
		nil,
		{formatKey: format},
		{formatKey: format, recordKey: "{"},
		{formatKey: format, recordKey: `{"sequence":"many"}`},
		{formatKey: format, recordKey: "[]"},
		{recordKey: `{"sequence":7}`},
		{formatKey: "1", recordKey: `{"sequence":7}`},
	} {
		if diff := cmp.Diff(record{}, decode(data)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", data, diff)
		}
	}
}

// A record that takes no more has room for many commits, whose names are as long as they may be, and is far below the 1 MiB of a ConfigMap.
func TestAFullRecordIsFarBelowAConfigMap(t *testing.T) {
	long := planRef{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("p", 253), UID: types.UID(strings.Repeat("u", 36))}
	var r record
	for len(r.encode()[recordKey]) <= mostBytes {
		r.Pending = append(r.Pending, entry{Plan: long, Replaces: []planRef{long}})
	}
	if n, bytes := len(r.Pending), len(r.encode()[recordKey]); n < 256 || bytes > 1<<19 {
		t.Errorf("%d commits in %d bytes", n, bytes)
	}
}

func TestStateSaysWhatIsLeftOver(t *testing.T) {
	now := metav1.Now()
	plan := func(name string, active bool, deleted *metav1.Time) v1alpha1.ShardingPlan {
		p := v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), DeletionTimestamp: deleted}}
		p.Spec.Placement.Name = "of-" + name
		if active {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}
		}
		return p
	}
	s := State{Plans: []v1alpha1.ShardingPlan{
		plan("active", true, nil), plan("inactive", false, nil), plan("going", false, &now), plan("committed", false, nil),
		plan("committed-going", false, &now),
	}}
	var entries []entry
	for _, name := range []types.UID{"active", "committed", "gone", "committed-going"} {
		entries = append(entries, entry{Plan: planRef{UID: name}})
	}
	s.pend(entries)
	want := []entry{{Plan: planRef{UID: "committed"}}, {Plan: planRef{UID: "committed-going"}}}
	if diff := cmp.Diff(want, s.pending); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	var left, waiting []string
	for _, p := range s.Leftovers() {
		left = append(left, p.Name)
	}
	for i := range s.Plans {
		if s.Waits("", s.Plans[i].Spec.Placement) {
			waiting = append(waiting, s.Plans[i].Name)
		}
	}
	if got, want := fmt.Sprint(left, waiting), "[inactive] [committed committed-going]"; got != want {
		t.Errorf("left over and waiting: %s, want %s", got, want)
	}
	if s.Waits("elsewhere", s.Plans[3].Spec.Placement) || !slices.Contains(left, "inactive") {
		t.Error("a placement of another namespace waits")
	}
}
