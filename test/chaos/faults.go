package chaos

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fault is one way to break things: inject breaks something, waits a while and mends it.
type fault struct {
	name   string
	weight int
	inject func(ctx context.Context, w *world) error
}

// restoreName is the fault that needs a backup.
const restoreName = "etcd restored from a backup"

var faults = []fault{
	{"operator killed", 6, killed},
	{"operator stopped", 1, func(_ context.Context, w *world) error {
		return errors.Join(w.seats[0].stop(), w.seats[0].start(false))
	}},
	{"operator paused", 2, paused},
	{"two operators lead, one is killed", 3, twoLead},
	{"lost Lease: the leader sleeps", 1, leaderSleeps},
	{"lost Lease: the leader is cut off", 1, leaderCutOff},
	{"API server killed", 2, apiServerKilled},
	{"etcd killed", 2, etcdKilled},
	{"etcd and API server killed, backup", 1, backedUp},
	{restoreName, 2, restored},
	{"proxy: 500 of everything", 1, misbehave(rule{permille: 300, do: refuse(500, "InternalError")})},
	{"proxy: 503 of writes", 1, misbehave(rule{verbs: writes, permille: 500, do: refuse(503, "ServiceUnavailable")})},
	{"proxy: 409 of writes", 2, misbehave(rule{verbs: []string{"update", "patch", "delete"}, permille: 400, do: refuse(409, "Conflict")})},
	{"proxy: 409 of creations", 1, misbehave(rule{verbs: []string{"create"}, permille: 400, do: refuse(409, "AlreadyExists")})},
	{"proxy: 410 of watches and lists", 1, expired},
	{"proxy: 429 of everything", 1, misbehave(rule{permille: 200, do: refuse(429, "TooManyRequests")})},
	{"proxy: requests hang", 1, misbehave(rule{verbs: writes, permille: 150, do: hang(2 * time.Second)})},
	{"proxy: answers of writes are lost", 3, misbehave(rule{verbs: writes, permille: 300, do: swallow})},
	{"proxy: answers of the ledger are lost", 2, misbehave(rule{verbs: writes, resource: "rankwright-ledger", permille: 600, do: swallow})},
	{"proxy: watches dropped", 1, watchesDropped},
	{"proxy: watches lag", 2, watchesLag},
	{"proxy: slow answers", 1, misbehave(rule{permille: 300, do: delay(400 * time.Millisecond)})},
	{"webhook down", 1, webhookIs(closed)},
	{"webhook silent", 1, webhookIs(mute)},
	{"certificates expired", 1, certificatesExpired},
	{"certificates deleted", 1, certificatesDeleted},
	{"CRDs upgraded", 1, crdsUpgraded},
	{"ledger deleted", 1, ledgerDeleted},
	{"ledger emptied", 1, ledgerEmptied},
	{"kubelets and agents away", 1, kubeletsAway},
	{"nodes not ready for a moment", 1, nodesNotReady},
	{"of one placement: quota", 1, ofOne(quota)},
	{"of one placement: plans denied", 1, ofOne(denied("CREATE", "shardingplans"))},
	{"of one placement: activation denied", 1, ofOne(denied("UPDATE", "shardingplans/status"))},
	{"of one placement: deletion denied", 1, ofOne(denied("DELETE", "shardingplans"))},
	{"of one placement: mesh denied", 1, ofOne(denied("CREATE", "devicemeshes"))},
	{"of one placement: status denied", 1, ofOne(denied("UPDATE", "modelplacements/status"))},
	{"of one placement: a finalizer", 1, ofOne(finalized)},
}

// selected are the faults whose names contain one of some words.
func selected(only []string) []fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return len(only) > 0 && !slices.ContainsFunc(only, func(part string) bool { return strings.Contains(f.name, part) })
	})
}

// between waits for a time that the seed chose.
func (w *world) between(ctx context.Context, least, most time.Duration) {
	pause(ctx, least+time.Duration(w.random.Int64N(int64(most-least))))
}

// killed falls within a request, or within some reservations, after a plan changed.
func killed(ctx context.Context, w *world) error {
	for range 1 + w.random.IntN(3) {
		w.watcher.awaitChange(ctx, 3*time.Second)
		pause(ctx, time.Duration(w.random.Int64N(int64([]time.Duration{5 * time.Millisecond, 200 * time.Millisecond}[w.random.IntN(2)]))))
		if err := errors.Join(w.seats[0].kill(), w.seats[0].start(false)); err != nil {
			return err
		}
	}
	return nil
}

func paused(ctx context.Context, w *world) error {
	w.seats[0].running.Signal(syscall.SIGSTOP)
	w.between(ctx, time.Second, 5*time.Second)
	w.seats[0].running.Signal(syscall.SIGCONT)
	return nil
}

// twoLead has two operators lead that both take long from a decision to its commit, and see late what the other one makes.
func twoLead(ctx context.Context, w *world) error {
	for _, s := range w.seats {
		s.proxy.set(
			rule{verbs: writes, resource: "rankwright-ledger", permille: 500, do: delay(300 * time.Millisecond)},
			rule{verbs: []string{"watch"}, resource: "shardingplans", permille: 1000, do: lag(500 * time.Millisecond)},
		)
		s.proxy.dropWatches()
	}
	defer func() {
		for _, s := range w.seats {
			s.proxy.set()
		}
	}()
	if err := w.seats[1].start(false); err != nil {
		return err
	}
	w.between(ctx, 3*time.Second, 8*time.Second)
	w.watcher.awaitChange(ctx, 3*time.Second)
	first := w.random.IntN(2)
	err := w.seats[first].kill()
	w.between(ctx, 0, time.Second)
	if first == 0 {
		err = errors.Join(err, w.seats[0].start(false))
		w.between(ctx, time.Second, 2*time.Second)
		err = errors.Join(err, w.seats[1].kill())
	}
	return err
}

// leaderSleeps lets one of two operators that elect sleep until the other one leads: it wakes with what it had under way.
func leaderSleeps(ctx context.Context, w *world) error {
	return w.elected(ctx, func(leader *seat) (mend func()) {
		leader.running.Signal(syscall.SIGSTOP)
		return func() { leader.running.Signal(syscall.SIGCONT) }
	})
}

// leaderCutOff lets the leader reach everything but its Lease.
func leaderCutOff(ctx context.Context, w *world) error {
	return w.elected(ctx, func(leader *seat) (mend func()) {
		leader.proxy.set(rule{resource: "/leases/rankwright-operator", permille: 1000, do: refuse(503, "ServiceUnavailable")})
		return func() { leader.proxy.set() }
	})
}

func apiServerKilled(ctx context.Context, w *world) error {
	w.plane.HaltAPIServer()
	w.between(ctx, 0, 2*time.Second)
	return w.plane.ResumeAPIServer(ctx)
}

func etcdKilled(ctx context.Context, w *world) error {
	w.plane.HaltEtcd()
	w.between(ctx, 0, 2*time.Second)
	return w.plane.ResumeEtcd(ctx)
}

// misbehave has the operator's proxy follow rules for some seconds, in which something is asked for.
func misbehave(rules ...rule) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		p := w.seats[0].proxy
		p.set(rules...)
		w.between(ctx, 2*time.Second, 5*time.Second)
		p.set()
		return nil
	}
}

// expired ends watches, so that they begin anew, and tells them that what they knew is too old.
func expired(ctx context.Context, w *world) error {
	p := w.seats[0].proxy
	p.set(rule{verbs: []string{"watch"}, permille: 500, do: expire}, rule{verbs: []string{"list"}, permille: 100, do: refuse(http.StatusGone, "Expired")})
	p.dropWatches()
	w.between(ctx, 2*time.Second, 5*time.Second)
	p.set()
	return nil
}

func watchesDropped(ctx context.Context, w *world) error {
	for range 4 {
		w.seats[0].proxy.dropWatches()
		w.between(ctx, 200*time.Millisecond, time.Second)
	}
	return nil
}

func watchesLag(ctx context.Context, w *world) error {
	p := w.seats[0].proxy
	p.set(rule{verbs: []string{"watch"}, permille: 700, do: lag(300 * time.Millisecond)})
	p.dropWatches()
	w.between(ctx, 4*time.Second, 8*time.Second)
	p.set()
	p.dropWatches()
	return nil
}

func webhookIs(m mood) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		w.gateway.be(m)
		w.between(ctx, 2*time.Second, 8*time.Second)
		w.gateway.be(open)
		return nil
	}
}
