package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/calls"
	"github.com/rankwright/rankwright/test/operation"
)

// widePool has room for one plan after another.
var widePool = append(devices{"n/d3", "n/d4", "n/d5"}, pool...)

// log is what a client asks for that has to do with the ledger, in order.
type log []string

func (l *log) wrap(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			*l = append(*l, "get "+key.Name)
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			*l = append(*l, "list")
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			*l = append(*l, "create "+o.GetName())
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			*l = append(*l, "update "+o.GetName())
			return c.Update(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			*l = append(*l, "patch "+o.GetName())
			return c.Patch(ctx, o, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			*l = append(*l, "delete "+o.GetName())
			return c.Delete(ctx, o, options...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			*l = append(*l, "apply "+sub)
			return c.SubResource(sub).Apply(ctx, o, options...)
		},
	})
}

// A process that committed lists no plans for the next commit, nor reads the ledger, as long as nobody else writes it.
func TestWhatWasWrittenIsNotListedAgain(t *testing.T) {
	w := newWorld(t, justLedger)
	w.begin(w.ledger(w.WithWatch))
	var asked log
	l := w.ledger(asked.wrap(w.WithWatch))
	check := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(log(want), asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		asked = nil
	}
	take := func(placement string) *v1alpha1.ShardingPlan {
		t.Helper()
		made, err := reserve(t.Context(), l, widePool.take(placement, 1))
		w.Must(err)
		return made
	}
	take("b")
	check("the first commit", "get rankwright-ledger", "list", "create b-1", "patch rankwright-ledger", "apply status")
	c := take("c")
	check("the second", "create c-1", "patch rankwright-ledger", "apply status")
	_, err := l.Settle(t.Context(), everyPlan)
	w.Must(err)
	_, err = l.Reclaim(t.Context())
	w.Must(err)
	check("nothing is to be settled or reclaimed")

	w.Must(l.Release(t.Context(), c))
	l.Gone(c)
	take("d")
	// A backup of etcd from before would bring plan c-1 back. It has the ledger as it was then, so that this write fails.
	check("a plan is gone", "delete c-1", "patch rankwright-ledger", "create d-1", "patch rankwright-ledger", "apply status")

	_, err = reserve(t.Context(), w.ledger(w.WithWatch), widePool.take("e", 1))
	w.Must(err)
	_, err = reserve(t.Context(), l, widePool.take("f", 1))
	if !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("another process committed, and nothing is said of it: %v", err)
	}
	check("another process committed", "create f-1", "patch rankwright-ledger", "get rankwright-ledger", "delete f-1")
	take("f")
	check("and after that", "get rankwright-ledger", "list", "create f-1", "patch rankwright-ledger", "apply status")

	stranger := planOf("g", 1, []string{"n/d6"})
	w.Must(w.Create(t.Context(), stranger))
	l.Shown(stranger)
	_, err = l.Settle(t.Context(), everyPlan)
	w.Must(err)
	check("the informer shows a plan of somebody else", "get rankwright-ledger", "list")
}

// What was remembered is read again where it may be wrong: what a write of the ledger did is not known, a plan to be made exists already, or one
// to be activated was changed.
func TestWhatMayBeWrongIsReadAgain(t *testing.T) {
	again := log{"get rankwright-ledger", "list"}
	for name, spoil := range map[string]func(w world, writes *interceptor.Funcs) error{
		"the outcome of a write is not known": func(_ world, writes *interceptor.Funcs) error {
			lost := errors.New("the answer is lost")
			writes.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				return errors.Join(c.Patch(ctx, o, patch, options...), lost)
			}
			return lost
		},
		"another made a plan of the name": func(w world, _ *interceptor.Funcs) error {
			w.Must(w.Create(w.Context(), planOf("c", 1, pool[2:])))
			return ledger.ErrConflict
		},
		"a committed plan was changed": func(_ world, writes *interceptor.Funcs) error {
			writes.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				made := planOf("c", 1, nil)
				change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"true"}}}`))
				return errors.Join(c.Patch(ctx, o, patch, options...), c.Patch(ctx, made, change))
			}
			return ledger.ErrConflict
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, justLedger)
			var asked log
			writes := &interceptor.Funcs{}
			l := w.ledger(asked.wrap(interceptor.NewClient(w.WithWatch, interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
					if writes.Patch != nil {
						return writes.Patch(ctx, c, o, patch, options...)
					}
					return c.Patch(ctx, o, patch, options...)
				},
			})))
			w.begin(l)
			want := spoil(w, writes)
			if _, err := reserve(t.Context(), l, widePool.take("c", 1)); !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			*writes, asked = interceptor.Funcs{}, nil
			_, err := l.Settle(t.Context(), everyPlan)
			w.Must(err)
			if len(asked) < len(again) || !slices.Equal(asked[:len(again)], again) {
				t.Errorf("what was asked next is %v, want it to begin with %v", asked, again)
			}
		})
	}
}

// A plan that was deleted holds its devices until it is known to be gone: a finalizer may keep it.
func TestReleasedPlanHoldsDevicesUntilItIsGone(t *testing.T) {
	w := newWorld(t, justLedger)
	l := w.ledger(w.WithWatch)
	kept := planOf("a", 1, pool)
	kept.Finalizers = []string{keeper}
	made, err := reserve(t.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: kept}, nil
	})
	w.Must(err)
	w.Must(l.Release(t.Context(), made))
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); !errors.Is(err, errFull) {
		t.Errorf("devices of a plan that is being deleted were given away: %v", err)
	}
	var left v1alpha1.ShardingPlan
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(made), &left))
	left.Finalizers = nil
	w.Must(w.Update(t.Context(), &left))
	l.Gone(made)
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); err != nil {
		t.Errorf("devices of a plan that is gone are not free: %v", err)
	}
}

// Several plans come into force by one write of the ledger, and one that cannot be made keeps no other from it.
func TestOneWriteCommitsSeveralPlans(t *testing.T) {
	w := newWorld(t, justLedger)
	l := w.ledger(w.WithWatch)
	w.begin(l)
	made, err := l.Commit(t.Context(), func(context.Context, *ledger.State) ([]ledger.Decision, error) {
		return []ledger.Decision{{Plan: planOf("b", 1, pool[2:])}, {Plan: planOf("a", 1, []string{"n/d3"})}, {Plan: planOf("c", 1, []string{"n/d4"})}}, nil
	})
	w.Must(err)
	for i, want := range []error{nil, ledger.ErrConflict, nil} {
		if !errors.Is(made[i].Err, want) {
			t.Errorf("decision %d: %v", i, made[i].Err)
		}
	}
	for _, i := range []int{2, 0} {
		plan, err := l.Finish(t.Context(), &made[i])
		w.Must(err)
		if !plan.Active() {
			t.Errorf("plan %s is not active", plan.Name)
		}
	}
}

// An informer whose watch was interrupted while a plan was made and deleted never tells of it. The plan is looked for, and holds nothing any more.
func TestPlanThatNoInformerEverShowedIsLookedFor(t *testing.T) {
	w := newWorld(t, justLedger)
	l := w.ledger(w.WithWatch)
	made, err := reserve(t.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: planOf("a", 1, pool)}, nil
	})
	w.Must(err)
	recheck := func(want bool) {
		t.Helper()
		untold, err := l.Recheck(t.Context(), nil)
		w.Must(err)
		if untold != want {
			t.Errorf("untold: %t, want %t", untold, want)
		}
	}
	recheck(false)
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); !errors.Is(err, errFull) {
		t.Errorf("devices of a plan that is there were given away: %v", err)
	}
	w.Must(w.Delete(t.Context(), made))
	recheck(true)
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); err != nil {
		t.Errorf("devices of a plan that is gone are not free: %v", err)
	}
}

// A plan that is deleted while the answer to its activation is on the way holds nothing any more.
func TestPlanThatIsDeletedWhileItIsActivated(t *testing.T) {
	w := newWorld(t, justLedger)
	var l *ledger.Ledger
	l = w.ledger(interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			err := c.SubResource(sub).Apply(ctx, o, options...)
			var made v1alpha1.ShardingPlan
			w.Must(w.Get(ctx, client.ObjectKeyFromObject(planOf("a", 1, nil)), &made))
			w.Must(w.Delete(ctx, &made))
			l.Gone(&made)
			return err
		},
	}))
	_, err := reserve(t.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: planOf("a", 1, pool)}, nil
	})
	w.Must(err)
	l.Writer = w.WithWatch
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); err != nil {
		t.Errorf("devices of a plan that is gone are not free: %v", err)
	}
}

// record is the ledger's, as it is at the API server.
func (w world) record() string {
	w.Helper()
	config := ledgerMap()
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(config), config))
	return config.Data["record"]
}

// What is gone leaves the ledger by one write, which the next commit is spared.
func TestCompactLedgerHasNothingOfWhatIsGone(t *testing.T) {
	w := newWorld(t, justLedger)
	var asked log
	l := w.ledger(asked.wrap(w.WithWatch))
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{UID: "placement-of-c"}}
	made, err := reserve(t.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		plan := planOf("c", 1, pool[:1])
		plan.Spec.Placement.UID = string(placement.UID)
		return &ledger.Decision{Plan: plan}, nil
	})
	w.Must(err)
	if text := w.record(); !strings.Contains(text, string(made.UID)) || !strings.Contains(text, string(placement.UID)) {
		t.Fatalf("the record has nothing of the plan: %s", text)
	}
	w.Must(l.Compact(t.Context()))
	w.Must(l.Release(t.Context(), made))
	l.Ended(placement)
	l.Gone(made)
	<-l.Vacated()
	asked = nil
	w.Must(l.Compact(t.Context()))
	w.Must(l.Compact(t.Context()))
	if text := w.record(); strings.Contains(text, string(made.UID)) || strings.Contains(text, string(placement.UID)) {
		t.Errorf("the record has something of what is gone: %s", text)
	}
	if _, err := reserve(t.Context(), l, pool.take("d", 1)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(log{"patch rankwright-ledger", "create d-1", "patch rankwright-ledger", "apply status"}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Placements that are deleted leave the ledger together, long before anything else is swept.
func TestDeletedPlacementsLeaveTheLedger(t *testing.T) {
	const count = 16
	w := newWorld(t, wholeCluster)
	w.addNode("n1", count)
	made := &calls.Counter{}
	w.Transport = made.Wrap
	w.operate(operator.Options{Planner: operation.FirstFit, Housekeeping: seldom})
	for i := range count {
		w.place(w.PlacementOf(fmt.Sprint("llm", i), 1, 1))
	}
	for i := range count {
		w.awaitPlan(fmt.Sprint("llm", i), fmt.Sprint("llm", i, "-1"))
	}
	before := made.Calls()["patch configmaps"].Requests
	w.Must(w.DeleteAllOf(t.Context(), &v1alpha1.ModelPlacement{}, client.InNamespace(testNamespace)))
	w.Eventually("the ledger has nothing of them", func(context.Context) bool {
		return !strings.Contains(w.record(), "llm") && !strings.Contains(w.record(), "revisions")
	})
	if writes := made.Calls()["patch configmaps"].Requests - before; writes > count/2 {
		t.Errorf("the ledger was written %d times for %d placements that were deleted together", writes, count)
	}
}
