package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// placing has every placement look placed once it was there for as long as after says, without devices.
func placing(after func(name string) time.Duration) interceptor.Funcs {
	made := map[string]time.Time{}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			made[object.GetName()] = time.Now()
			return c.Create(ctx, object, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, into, options...)
			if p, is := into.(*v1alpha1.ModelPlacement); is && err == nil && time.Since(made[p.Name]) >= after(p.Name) {
				p.Status.ObservedGeneration, p.Status.PlannedReplicas = p.Generation, 1
				p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Reason: v1alpha1.ReasonPlaced, ObservedGeneration: p.Generation}}
				return c.Update(ctx, p)
			}
			return err
		},
	}
}

// Whoever waits in another namespace while something fails for one is a violation of the round, and what keeps a fault from being injected ends the run.
func TestBlocked(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		slow     string // part of the name of who waits
		after    time.Duration
		end      error
		violated string
		fails    string
	}{
		"nobody":                          {},
		"others, for a while":             {slow: "bystander", after: unblocked - time.Second},
		"others, for ever":                {slow: "bystander", after: never, violated: "placement chaos/bystander-tenant-1 was not placed within 30s while another one fails"},
		"the one, before anything failed": {slow: "llm", after: never, fails: "placement tenant-1/llm was not placed within 2m0s"},
		"what does not end":               {end: errors.New("it does not end"), fails: "it does not end"},
		"others, by what does not end":    {slow: "bystander", after: never, end: errors.New("it does not end"), fails: "bystander-tenant-1 was not placed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, running := atRest()
				w := played(t, s, running, placing(func(name string) time.Duration {
					if c.slow != "" && strings.HasPrefix(name, c.slow) {
						return c.after
					}
					return 0
				}))
				report := &Report{rows: map[string]*row{}}
				err := w.round(t.Context(), report, 1, fault{name: "of one", inject: ofOne(func(context.Context, *tenant) (func(context.Context) error, error) {
					return func(context.Context) error { return c.end }, nil
				})})
				if (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the round ends with %v, want %q", err, c.fails)
				}
				if found := strings.Join(report.violations, "\n"); (c.violated == "") != (found == "") || !strings.Contains(found, c.violated) {
					t.Errorf("found %q, want %q", found, c.violated)
				}
			})
		})
	}
}
