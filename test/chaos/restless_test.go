package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// Plans are listed three times by restless: when it looks first, when it judges, and when it looks again.
const looksFirst, judges, looksAgain = 1, 2, 3

// atList does something before plans are listed for the nth time.
func atList(n int, do func(context.Context, client.WithWatch) error) interceptor.Funcs {
	listed := 0
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, is := list.(*v1alpha1.ShardingPlanList); is {
			listed++
			if listed == n {
				if err := do(ctx, c); err != nil {
					return err
				}
			}
		}
		return c.List(ctx, list, options...)
	}}
}

// moved gives the plan another device, which is as good.
func moved(ctx context.Context, c client.WithWatch) error {
	plan := planOn("a", 0)
	if err := c.Get(ctx, client.ObjectKeyFromObject(plan), plan); err != nil {
		return err
	}
	plan.Spec.Nodes[0].Devices[0] = operation.DeviceID(1)
	return c.Update(ctx, plan)
}

func away(context.Context, client.WithWatch) error { return errors.New("the API server is away") }

// TestRestless spoils a world at rest before or while it is looked at.
func TestRestless(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *sight, running map[types.UID]container)
		calls interceptor.Funcs
		says  string
	}{
		"at rest":                   {},
		"moved before it is judged": {calls: atList(judges, moved), says: "plans changed while they were looked at"},
		"moved after it was judged": {calls: atList(looksAgain, moved), says: "plans changed while they were looked at"},
		"cannot be read":            {calls: atList(looksFirst, away), says: "the API server is away"},
		"cannot be judged":          {calls: atList(judges, away), says: "the API server is away"},
		"cannot be read again":      {calls: atList(looksAgain, away), says: "the API server is away"},
		"not settled": {spoil: func(s *sight, _ map[types.UID]container) {
			s.plans.Items = append(s.plans.Items, *planOn("gone", 1))
		}, says: "plan gone-1 is left behind"},
		"not ready": {spoil: func(s *sight, _ map[types.UID]container) {
			s.placements.Items[0].Status.Conditions[1].Status = metav1.ConditionFalse
		}, says: "placement a is not ready"},
		"a pod that does not run": {spoil: func(_ *sight, running map[types.UID]container) { delete(running, podUID) }, says: "does not run"},
		"an allocation of a pod that is gone": {spoil: func(s *sight, _ map[types.UID]container) {
			s.inventories.Items[0].Status.Allocations = []v1alpha1.Allocation{{Device: operation.DeviceID(1), Namespace: home, Pod: "gone"}}
		}, says: "still counts as held by pod gone, which is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s, running := atRest()
			if c.spoil != nil {
				c.spoil(s, running)
			}
			seen, said := played(t, s, running, c.calls).restless(t.Context())
			if (c.says == "") != (said == "") || !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
			if unread := strings.Contains(said, "away"); unread != (seen == nil) {
				t.Errorf("it says %q and has seen %v", said, seen)
			}
		})
	}
}

// A world that does not come to rest is waited for as long as patience lasts, and then it is said what is wrong.
func TestSettleEnds(t *testing.T) {
	for name, c := range map[string]struct {
		calls interceptor.Funcs
		took  time.Duration
		says  string
	}{
		"at rest":   {},
		"away once": {calls: atList(looksAgain, away), took: 250 * time.Millisecond},
		"for ever": {calls: interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return away(ctx, c)
		}}, took: 2*time.Minute + 250*time.Millisecond, says: "it did not come to rest within 2m0s: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, running := atRest()
				_, took, err := played(t, s, running, c.calls).settle(t.Context())
				if took != c.took || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("after %s it says %v, want %q after %s", took, err, c.says, c.took)
				}
			})
		})
	}
}
