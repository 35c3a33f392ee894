package heartbeat

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func lease(node, version string, seconds *int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: version},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds},
	}
}

// server is what the API server has. It counts how often it is asked for all of it.
type server struct {
	client.Reader
	leases []*coordinationv1.Lease
	lists  int
}

func (s *server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.lists++
	into, is := list.(*coordinationv1.LeaseList)
	for _, lease := range s.leases {
		if is {
			into.Items = append(into.Items, *lease)
		}
	}
	return nil
}

var seconds = new(int32(240))

func all(versions ...string) []*coordinationv1.Lease {
	var leases []*coordinationv1.Lease
	for i, version := range versions {
		if version != "" {
			leases = append(leases, lease(string(rune('a'+i)), version, []*int32{seconds, seconds, nil}[i]))
		}
	}
	return leases
}

// TestSilenceIsJudgedByOurClock: c says not how long its Lease holds.
func TestSilenceIsJudgedByOurClock(t *testing.T) {
	var now time.Time
	s := &server{}
	m := &Monitor{Now: func() time.Time { return now }, Reader: s}
	for i, step := range []struct {
		after time.Duration
		// there are the Leases, and those that the watch brought, which may bring nothing.
		there, watched []*coordinationv1.Lease
		changed        bool
		silent         map[string]bool
		lists          int
	}{
		{0, all("1", "1", "1"), all("1", "1", "1"), false, map[string]bool{}, 0},
		{240 * time.Second, all("1", "2", "1"), all("", "2", ""), false, map[string]bool{}, 0},
		{time.Second, all("1", "2", "1"), nil, true, map[string]bool{"a": true}, 1},
		{time.Second, all("1", "2", "1"), nil, false, map[string]bool{"a": true}, 1},
		{time.Second, all("2", "2", "1"), all("2"), true, map[string]bool{}, 1},
		{time.Hour, all("3", "2", "1"), nil, true, map[string]bool{"b": true}, 2},
		{time.Hour, all("4", "3", "1"), nil, true, map[string]bool{}, 3},
	} {
		now = now.Add(step.after)
		s.leases = step.there
		for _, one := range step.watched {
			m.set(one)
		}
		if got, err := m.Look(t.Context()); got != step.changed || err != nil {
			t.Errorf("step %d: changed %v, want %v; %v", i, got, step.changed, err)
		}
		if diff := cmp.Diff(step.silent, m.Silent()); diff != "" {
			t.Errorf("step %d: silent (-want +got):\n%s", i, diff)
		}
		if s.lists != step.lists {
			t.Errorf("step %d: %d lists, want %d", i, s.lists, step.lists)
		}
	}
}

// A node whose Lease is deleted is not judged, and what a list does not have is gone.
func TestLeasesThatAreGone(t *testing.T) {
	var now time.Time
	m := &Monitor{Now: func() time.Time { return now }, Reader: &server{leases: all("1", "1")}}
	store := (*beats)(m)
	if err := store.Replace([]any{lease("a", "1", seconds), lease("b", "1", seconds), lease("d", "1", seconds)}, ""); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if _, err := m.Look(t.Context()); err != nil || len(m.Silent()) != 2 {
		t.Errorf("silent are %v, want a and b: %v", m.Silent(), err)
	}
	if err := store.Delete(lease("a", "1", seconds)); err != nil {
		t.Fatal(err)
	}
	if changed, err := m.Look(t.Context()); err != nil || !changed || len(m.Silent()) != 1 {
		t.Errorf("silent are %v, want b: %v", m.Silent(), err)
	}
}
