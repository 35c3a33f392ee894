package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
)

// maxBatch bounds how many plans one round makes. A write of the ledger then costs little beside them, and nobody waits long for a round.
const maxBatch = 64

// take finds out what there is for the placement of a turn, together with all others that wait for that at the same time. One of them decides
// for all; each goes on when its own plan is in force.
func (r *Reconciler) take(ctx context.Context, t *turn) {
	r.rounds.join(t)
	select {
	case <-t.done:
		return
	case r.rounds.deciding <- struct{}{}:
	}
	round := &round{Reconciler: r, turns: map[types.UID]*turn{}}
	for _, joined := range r.rounds.next() {
		round.turns[joined.uid()] = joined
	}
	var made []ledger.Commitment
	err := objects.Guarded(ctx, func() (err error) {
		if len(round.turns) > 0 {
			made, err = r.Ledger.Commit(ctx, round.decide)
		}
		return err
	})
	<-r.rounds.deciding
	round.end(ctx, made, err)
	<-t.done
}

// round decides for placements on one snapshot of the cluster, in their order.
type round struct {
	*Reconciler
	// turns are those that joined, by their placements.
	turns map[types.UID]*turn
	// served has for each decision whom it is for.
	served []served
	// behind is how many plans were decided before each turn's placement was refused.
	behind map[types.UID]int
}

// served is a placement for which a plan was decided.
type served struct {
	placement *v1alpha1.ModelPlacement
	// position counts, from 1, those that had their chance in the round up to this one.
	position int
	decided  time.Time
}

// decide gives the placements that wait, up to the last one that joined, their chance. It is a ledger.Decide.
func (d *round) decide(ctx context.Context, state *ledger.State) ([]ledger.Decision, error) {
	order, err := d.upTo(ctx, d.turns)
	if err != nil {
		return nil, err
	}
	for _, t := range d.turns {
		t.leftovers = len(state.Leftovers()) > 0
	}
	for p := (patience{}); ; {
		read, err := d.Index.Read(ctx, state.Plans)
		if err != nil {
			return nil, err
		}
		now := &moment{read, state}
		if decisions, done := d.decideInOrder(ctx, now, order, &p); done {
			return d.confirmed(ctx, now, decisions)
		}
	}
}

// decideInOrder decides for placements one after another. With patience those that were refused a moment ago are passed over. That is as
// if it had been done in that moment, as long as no plan uses a node that became better since; where one would, nothing is decided.
func (d *round) decideInOrder(ctx context.Context, now *moment, order []ranked, patience *patience) (decisions []ledger.Decision, done bool) {
	d.served, d.behind = nil, map[types.UID]int{}
	patience.begin()
	for i, one := range order {
		t := d.turns[one.placement.UID]
		if t != nil {
			t.begin(one.priority, len(decisions) == maxBatch)
			d.behind[t.uid()] = len(decisions)
		}
		if len(decisions) == maxBatch {
			continue
		}
		stands, epoch := d.answers.stands(one.placement, concernOf(one.placement, now.Snapshot), d.Now())
		var decision *ledger.Decision
		switch {
		case patience.passes(t != nil, stands, epoch):
			if t != nil {
				t.late = true
			}
		case t != nil:
			begun := d.Now()
			decision = t.decide(ctx, d.Reconciler, now)
			patience.asked(stands, d.Now().Sub(begun))
		default:
			decision = d.help(ctx, one.placement, now)
		}
		if decision == nil {
			continue
		}
		if patience.ends(now, decision.Plan.Spec.NodeNames()) {
			return nil, false
		}
		now.Hold(decision.Plan)
		decisions, d.served = append(decisions, *decision), append(d.served, served{one.placement, i + 1, d.Now()})
	}
	return decisions, true
}

// confirmed returns the decisions whose nodes are, by the API server, as they were when they were made.
func (d *round) confirmed(ctx context.Context, now *moment, decisions []ledger.Decision) ([]ledger.Decision, error) {
	plans := map[string][]*v1alpha1.ShardingPlan{}
	for i := range decisions {
		for _, node := range nodesOf(&decisions[i]) {
			if _, known := plans[node]; !known {
				plans[node] = nil
			}
		}
		for _, node := range decisions[i].Plan.Spec.NodeNames() {
			plans[node] = append(plans[node], decisions[i].Plan)
		}
	}
	changed, err := d.Index.Changed(ctx, now.Snapshot, plans)
	if err != nil || len(changed) == 0 {
		return decisions, err
	}
	var kept []ledger.Decision
	var left []served
	for i := range decisions {
		if slices.ContainsFunc(nodesOf(&decisions[i]), func(node string) bool { return changed[node] }) {
			d.shaken(i)
			if t := d.turns[d.served[i].placement.UID]; t != nil {
				t.err = fmt.Errorf("nodes of plan %s changed while it was computed: %w", decisions[i].Plan.Name, ledger.ErrConflict)
			}
			continue
		}
		kept, left = append(kept, decisions[i]), append(left, d.served[i])
	}
	d.served = left
	return kept, nil
}

// nodesOf returns the nodes of a decision and of the plans that it replaces.
func nodesOf(decision *ledger.Decision) []string {
	names := decision.Plan.Spec.NodeNames()
	for i := range decision.Replaces {
		names = append(names, decision.Replaces[i].Spec.NodeNames()...)
	}
	return names
}

// shaken has those asked again who were refused behind a decision that comes to nothing: its devices may be what they lacked.
func (d *round) shaken(decision int) {
	for uid, behind := range d.behind {
		if t := d.turns[uid]; behind > decision && t.unplaceable != nil {
			t.again = true
		}
	}
}

// end brings the plans of a round into force, several at once, and lets each turn go on when its own is.
func (d *round) end(ctx context.Context, made []ledger.Commitment, err error) {
	for i := range made {
		if made[i].Err != nil {
			d.shaken(i)
		}
	}
	waits := map[types.UID]bool{}
	for i := range made {
		waits[d.served[i].placement.UID] = true
	}
	for uid, t := range d.turns {
		if t.err = errors.Join(t.err, err); !waits[uid] {
			close(t.done)
		}
	}
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { d.finish(ctx, &made[i], &d.served[i]) })
	}
	all.Wait()
}

// finish brings one plan into force.
func (d *round) finish(ctx context.Context, c *ledger.Commitment, of *served) {
	placement := of.placement
	t := d.turns[placement.UID]
	made, err := c.Plan, c.Err
	committed := d.Now()
	if err == nil {
		err = objects.Guarded(ctx, func() (err error) {
			made, err = d.Ledger.Finish(ctx, c)
			return err
		})
	}
	if err == nil {
		revision := made.Spec.Revision
		d.Course.Waited(placement, revision, d.asked.Get(keyOf(placement)), of.decided, of.position)
		d.Course.Took(placement, revision, course.Commit, of.decided, committed)
		d.Course.Took(placement, revision, course.Settle, committed, d.Now())
	}
	if t != nil {
		t.made, t.err = made, err
		close(t.done)
		return
	}
	var why *objects.Refused
	switch {
	case err == nil:
		d.setbacks.Forget(keyOf(placement))
	case errors.As(err, &why) && made != nil:
		d.reconcile(ctx, placement)
	case errors.As(err, &why):
		d.setBack(ctx, placement, why)
	}
}
