package heartbeat

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func lease(node, version string, seconds *int32) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: version},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds},
	}
}

func TestSilenceIsJudgedByOurClock(t *testing.T) {
	seconds := int32(240)
	var now time.Time
	m := &Monitor{Now: func() time.Time { return now }}
	for i, step := range []struct {
		after   time.Duration
		leases  []coordinationv1.Lease
		changed bool
		silent  map[string]bool
	}{
		{0, []coordinationv1.Lease{lease("a", "1", &seconds), lease("b", "1", &seconds), lease("c", "1", nil)}, false, map[string]bool{}},
		{240 * time.Second, []coordinationv1.Lease{lease("a", "1", &seconds), lease("b", "2", &seconds), lease("c", "1", nil)}, false, map[string]bool{}},
		{time.Second, []coordinationv1.Lease{lease("a", "1", &seconds), lease("b", "2", &seconds), lease("c", "1", nil)}, true, map[string]bool{"a": true}},
		{time.Second, []coordinationv1.Lease{lease("a", "1", &seconds), lease("b", "2", &seconds)}, false, map[string]bool{"a": true}},
		{time.Second, []coordinationv1.Lease{lease("a", "2", &seconds), lease("b", "2", &seconds)}, true, map[string]bool{}},
		{time.Hour, []coordinationv1.Lease{lease("b", "2", &seconds)}, true, map[string]bool{"b": true}},
		{time.Second, nil, true, map[string]bool{}},
	} {
		now = now.Add(step.after)
		if got := m.judge(step.leases); got != step.changed {
			t.Errorf("step %d: changed %v, want %v", i, got, step.changed)
		}
		if diff := cmp.Diff(step.silent, m.Silent()); diff != "" {
			t.Errorf("step %d: silent (-want +got):\n%s", i, diff)
		}
	}
}
