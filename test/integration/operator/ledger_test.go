package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/test/operation"
)

// devices are all there is to reserve in a test of the ledger.
type devices []string

// pool is what placement a, which has the first two, and others have.
var pool = devices{"n/d0", "n/d1", "n/d2"}

func (w world) ledger(c client.WithWatch) *ledger.Ledger {
	return &ledger.Ledger{Reader: c, Writer: c, Namespace: operation.Namespace, Now: time.Now}
}

// decide decides for one placement.
type decide func(context.Context, *ledger.State) (*ledger.Decision, error)

// reserve brings the plan of one decision into force.
func reserve(ctx context.Context, l *ledger.Ledger, one decide) (*v1alpha1.ShardingPlan, error) {
	made, err := l.Commit(ctx, func(ctx context.Context, now *ledger.State) ([]ledger.Decision, error) {
		decision, err := one(ctx, now)
		if decision == nil {
			return nil, err
		}
		return []ledger.Decision{*decision}, err
	})
	if err != nil || len(made) == 0 {
		return nil, err
	}
	if made[0].Err != nil {
		return nil, made[0].Err
	}
	return l.Finish(ctx, &made[0])
}

// take decides for count devices that nobody else has, in place of the placement's active plans.
func (d devices) take(placement string, count int) decide {
	return func(_ context.Context, now *ledger.State) (*ledger.Decision, error) {
		plans := now.Plans
		var own []v1alpha1.ShardingPlan
		held := map[string]bool{}
		revision := int64(0)
		for i := range plans {
			if plans[i].Spec.Placement.Name == placement {
				revision = max(revision, plans[i].Spec.Revision)
				if plans[i].Active() {
					own = append(own, plans[i])
					continue
				}
			}
			for _, device := range devicesOf(&plans[i]) {
				held[device] = true
			}
		}
		free := slices.DeleteFunc(slices.Clone(d), func(d string) bool { return held[d] })
		if len(free) < count {
			return nil, errFull
		}
		// The last free devices are taken, so that a plan has some devices of the plan that it replaces, and some new ones.
		return &ledger.Decision{Plan: planOf(placement, revision+1, free[len(free)-count:]), Replaces: own}, nil
	}
}

var errFull = errors.New("not enough devices")

func everyPlan(*v1alpha1.ShardingPlan) bool { return true }

// operations are what two operators may do at the same time, on plan a-1 which holds n/d0 and n/d1.
var operations = map[string]func(context.Context, *ledger.Ledger) error{
	"reserves the free device": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := reserve(ctx, l, pool.take("b", 1))
		return err
	},
	"replaces the plan and compacts": func(ctx context.Context, l *ledger.Ledger) error {
		if _, err := reserve(ctx, l, pool.take("a", 2)); err != nil {
			return err
		}
		return l.Compact(ctx)
	},
	"settles": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Settle(ctx, everyPlan)
		return err
	},
	"reclaims": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Reclaim(ctx)
		return err
	},
	"loses the ledger": func(ctx context.Context, l *ledger.Ledger) error {
		return errors.Join(client.IgnoreNotFound(l.Writer.Delete(ctx, ledgerMap())), func() error {
			_, err := reserve(ctx, l, pool.take("c", 1))
			return err
		}())
	},
}

// expected says whether an operation may end with the error: another operator was faster or took the devices, or the process "ended".
func expected(err error) bool {
	var refused *objects.Refused
	return err == nil || errors.As(err, &refused) || errors.Is(err, ledger.ErrConflict) || errors.Is(err, errFull) || errors.Is(err, errCrashed)
}

// begin makes plan a-1 active.
func (w world) begin(l *ledger.Ledger) {
	w.Helper()
	first := planOf("a", 1, []string{"n/d0", "n/d1"})
	_, err := reserve(w.Context(), l, func(context.Context, *ledger.State) (*ledger.Decision, error) {
		return &ledger.Decision{Plan: first}, nil
	})
	w.Must(err)
}

// recover does what an operator does that starts afterwards, and checks what must be so then: nothing is left behind, no device is in
// two plans, every device is in use, and the placements that had devices have some.
func (w world) recover(pool devices, placements ...string) {
	w.Helper()
	l := w.ledger(w.WithWatch)
	_, err := l.Settle(w.Context(), everyPlan)
	w.Must(err)
	_, err = l.Reclaim(w.Context())
	w.Must(err)
	for n := 0; err == nil; n++ {
		_, err = reserve(w.Context(), l, pool.take(fmt.Sprintf("z%d", n), 1))
	}
	if !errors.Is(err, errFull) {
		w.Error(err)
	}
	held := map[string]string{}
	for _, plan := range w.plans() {
		if !plan.Active() {
			w.Errorf("plan %s was left behind", plan.Name)
		}
		placements = slices.DeleteFunc(placements, func(name string) bool { return name == plan.Spec.Placement.Name })
		for _, device := range devicesOf(&plan) {
			if other, twice := held[device]; twice {
				w.Errorf("device %s is in plans %s and %s", device, other, plan.Name)
			}
			held[device] = plan.Name
		}
	}
	for _, name := range placements {
		w.Errorf("placement %s lost its plan", name)
	}
	if len(held) != len(pool) {
		w.Errorf("%d of %d devices are held though all are wanted: %v", len(held), len(pool), held)
	}
}

// TestLedgerSurvivesACrashAtEachRequest ends an operator before and after every request of every operation.
func TestLedgerSurvivesACrashAtEachRequest(t *testing.T) {
	for name, operate := range operations {
		for _, after := range []bool{false, true} {
			done := false
			for n := 1; !done; n++ {
				t.Run(fmt.Sprintf("%s/request %d, sent %v", name, n, after), func(t *testing.T) {
					w := newWorld(t, justLedger)
					watched := w.watchInvariant()
					w.begin(w.ledger(w.WithWatch))
					crash := &requests{}
					at := func(k int) error {
						if k == n {
							return errCrashed
						}
						return nil
					}
					if after {
						crash.after = at
					} else {
						crash.before = at
					}
					if err := operate(t.Context(), w.ledger(crash.wrap(w.WithWatch))); !expected(err) {
						t.Error(err)
					}
					done = !crash.dead
					w.recover(pool, "a")
					watched.check(1)
				})
				if t.Failed() {
					return
				}
			}
		}
	}
}

// TestLedgerHoldsAgainstAStaleOperator stops an operator before every request of every operation, lets another one do every
// operation to its end, and lets the first go on. The first has just started, or remembers the plans from an earlier commit.
func TestLedgerHoldsAgainstAStaleOperator(t *testing.T) {
	for first, operate := range operations {
		for second, interfere := range operations {
			for _, remembers := range []bool{false, true} {
				done := false
				for n := 1; !done; n++ {
					t.Run(fmt.Sprintf("one %s, remembers %v, before its request %d another %s", first, remembers, n, second), func(t *testing.T) {
						w := newWorld(t, justLedger)
						watched := w.watchInvariant()
						paused := &requests{}
						l := w.ledger(paused.wrap(w.WithWatch))
						w.begin(l)
						if !remembers {
							l = w.ledger(paused.wrap(w.WithWatch))
						}
						done, paused.count = true, 0
						paused.before = func(k int) error {
							if k == n {
								done = false
								if err := interfere(t.Context(), w.ledger(w.WithWatch)); !expected(err) {
									t.Error(err)
								}
							}
							return nil
						}
						if err := operate(t.Context(), l); !expected(err) {
							t.Error(err)
						}
						w.recover(pool, "a")
						watched.check(1)
					})
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}
