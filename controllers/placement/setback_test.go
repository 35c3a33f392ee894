package placement

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

func TestPausesGrowWithFailures(t *testing.T) {
	placement := func(generation int64) *v1alpha1.ModelPlacement {
		return &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", UID: "u", Generation: generation}}
	}
	p, now := placement(1), time.Unix(100, 0)
	slow := &objects.Refused{Reason: reasonSlow, Err: errors.New("slow")}
	var s setbacks
	if s.current(p, now) != nil || s.budget(p) != leastBudget {
		t.Error("a placement that never failed is set back")
	}
	for _, want := range []struct{ pause, budget time.Duration }{
		{time.Second, 2 * time.Second},
		{2 * time.Second, 4 * time.Second},
		{4 * time.Second, 8 * time.Second},
		{8 * time.Second, 8 * time.Second},
		{16 * time.Second, 8 * time.Second},
		{32 * time.Second, 8 * time.Second},
		{time.Minute, 8 * time.Second},
		{time.Minute, 8 * time.Second},
	} {
		noted := s.note(p, slow, now)
		if noted.pause != want.pause || s.budget(p) != want.budget {
			t.Errorf("pause %s and budget %s, want %+v", noted.pause, s.budget(p), want)
		}
		if last := noted.until.Add(-1); s.current(p, last) == nil || s.current(p, noted.until) != nil {
			t.Errorf("the placement is not planned again after %s", want.pause)
		}
		if s.current(p, now.Add(-time.Second)) != nil {
			t.Errorf("the placement is set back by %s where the clock is, too", want.pause)
		}
	}
	edited := placement(2)
	if s.current(edited, now) != nil || s.budget(edited) != leastBudget {
		t.Error("a new spec is set back")
	}
	if again := s.note(edited, &objects.Refused{Reason: objects.ReasonPanic}, now); again.pause != leastPause || s.budget(edited) != leastBudget {
		t.Errorf("a new spec begins with a pause of %s and a budget of %s", again.pause, s.budget(edited))
	}
	s.Forget(client.ObjectKeyFromObject(edited))
	if s.current(edited, now) != nil {
		t.Error("what is forgotten is set back")
	}
}
