package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// poisonedPool is the pool and what placement x has, for which plan x-2 is committed in place of x-1, which a finalizer keeps.
var poisonedPool = append(devices{"n/x0", "n/x1", "n/x2"}, pool...)

const keeper = "example.com/keep"

// poison commits x-2, which cannot become active, and returns what lets it.
func (w world) poison() (heal func()) {
	w.Helper()
	old := planOf("x", 1, []string{"n/x0", "n/x1"})
	old.Finalizers = []string{keeper}
	l := w.ledger(w.WithWatch)
	_, err := reserve(w.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: old}, nil
	})
	w.Must(err)
	heal = func() {
		err := w.Patch(context.WithoutCancel(w.Context()), old.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		w.Must(client.IgnoreNotFound(err))
	}
	w.Cleanup(heal)
	made, err := reserve(w.Context(), l, func(_ context.Context, now *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: planOf("x", 2, []string{"n/x1", "n/x2"}), Replaces: named(now, "x-1")}, nil
	})
	var refused *objects.Refused
	if !errors.As(err, &refused) || refused.Reason != ledger.ReasonOldPlanRemains || made == nil || made.Active() {
		w.Fatalf("x-2 is not pending: %v, %v", made, err)
	}
	return heal
}

// besides are what operators may do while x-2 is pending. Each wants every device that it could get.
var besides = map[string]func(context.Context, *ledger.Ledger) error{
	"reserves": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := reserve(ctx, l, poisonedPool.take("b", 1))
		return err
	},
	"replaces": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := reserve(ctx, l, poisonedPool.take("a", 2))
		return err
	},
	"replaces what is pending": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := reserve(ctx, l, poisonedPool.take("x", 1))
		return err
	},
	"settles": operations["settles"], "reclaims": operations["reclaims"],
}

// TestPendingCommitOutlastsOthers lets one operator be held up before every request of every operation, another one begin every
// operation and end before every request of it, and the first go on, while a plan is pending that cannot become active.
// The others get what they want, and when it can be, the pending plan becomes active.
func TestPendingCommitOutlastsOthers(t *testing.T) {
	for first, operate := range besides {
		for second, interfere := range besides {
			held := true
			for n := 1; held; n++ {
				crashed := true
				for m := 1; crashed; m++ {
					if (n+m)%sampleEvery != 0 {
						continue
					}
					t.Run(fmt.Sprintf("one %s, before its request %d another %s and ends before its request %d", first, n, second, m), func(t *testing.T) {
						w := newWorld(t, justLedger)
						watched := w.watchInvariant()
						w.begin(w.ledger(w.WithWatch))
						heal := w.poison()
						crash := &requests{before: failAt(m)}
						held, crashed = false, false
						paused := &requests{before: func(k int) error {
							if k != n {
								return nil
							}
							held = true
							if err := interfere(t.Context(), w.ledger(crash.wrap(w.WithWatch))); !expected(err) {
								t.Error(err)
							}
							crashed = crash.dead
							return nil
						}}
						if err := operate(t.Context(), w.ledger(paused.wrap(w.WithWatch))); !expected(err) {
							t.Error(err)
						}
						w.checkPending()
						heal()
						w.recover(poisonedPool, "a", "x")
						watched.check(3)
					})
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}

// failAt ends a client before its request n.
func failAt(n int) func(int) error {
	return func(k int) error {
		if k == n {
			return errCrashed
		}
		return nil
	}
}

// checkPending says whether x-2 still waits, and is the only plan of x beside the one that it replaces, and that a device is given to others.
func (w world) checkPending() {
	w.Helper()
	_, err := reserve(w.Context(), w.ledger(w.WithWatch), func(_ context.Context, now *ledger.State) (*ledger.Decision, error) {
		if !now.Waits(testNamespace, v1alpha1.PlacementRef{Name: "x"}) {
			w.Error("x-2 is no longer pending")
		}
		for _, left := range now.Leftovers() {
			if left.Name == "x-2" {
				w.Error("x-2 counts as never committed")
			}
		}
		return nil, nil
	})
	w.Must(err)
}

// TestUnrelatedPlacementsGoOnBesidePendingCommit commits one plan after another while one is pending.
func TestUnrelatedPlacementsGoOnBesidePendingCommit(t *testing.T) {
	w := newWorld(t, justLedger)
	watched := w.watchInvariant()
	w.begin(w.ledger(w.WithWatch))
	heal := w.poison()
	l := w.ledger(w.WithWatch)
	for _, placement := range []string{"a", "b"} {
		made, err := reserve(t.Context(), l, poisonedPool.take(placement, 1))
		w.Must(err)
		if !made.Active() {
			t.Errorf("%s is not active", made.Name)
		}
	}
	_, err := reserve(t.Context(), l, poisonedPool.take("x", 1))
	if !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a second plan was committed for a placement of which one is pending: %v", err)
	}
	w.checkPending()
	heal()
	w.recover(poisonedPool, "a", "b", "x")
	watched.check(5)
}

// TestOperatorSettlesWhatAnotherLeft starts an operator where a plan is committed for which there is no placement to be reconciled.
func TestOperatorSettlesWhatAnotherLeft(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.poison()()
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.Eventually("the plan is active", func(context.Context) bool {
		return slices.ContainsFunc(w.plans(), func(p v1alpha1.ShardingPlan) bool { return p.Name == "x-2" && p.Active() })
	})
}

// TestFullLedgerTakesNoMore fills the record with what a commit says that replaces very many plans.
func TestFullLedgerTakesNoMore(t *testing.T) {
	w := newWorld(t, justLedger)
	heal := w.poison()
	l := w.ledger(w.WithWatch)
	for n := 0; ; n++ {
		if n > 10 {
			t.Fatal("the ledger takes any number of commits")
		}
		_, err := reserve(t.Context(), l, func(_ context.Context, now *ledger.State) (*ledger.Decision, error) {
			decision := &ledger.Decision{Plan: planOf(fmt.Sprintf("y%d", n), 1, []string{fmt.Sprintf("n/y%d", n)})}
			for range 500 {
				decision.Replaces = append(decision.Replaces, named(now, "x-1")...)
			}
			return decision, nil
		})
		var refused *objects.Refused
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if refused.Reason == ledger.ReasonLedgerFull {
			break
		}
	}
	config := ledgerMap()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(config), config))
	if size := len(config.Data["record"]); size > 1<<19 {
		t.Errorf("the record has %d bytes", size)
	}
	heal()
	_, err := l.Settle(t.Context(), everyPlan)
	w.Must(err)
	if _, err := reserve(t.Context(), l, pool.take("b", 1)); err != nil {
		t.Errorf("the ledger takes nothing though nothing is pending: %v", err)
	}
}

func named(now *ledger.State, name string) []v1alpha1.ShardingPlan {
	return slices.DeleteFunc(slices.Clone(now.Plans), func(p v1alpha1.ShardingPlan) bool { return p.Name != name })
}
