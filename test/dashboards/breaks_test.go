package dashboards

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/process"
	"github.com/rankwright/rankwright/test/prometheus"
)

// breaks are what breaks when the story is over, one after the other, and the alert that tells of it.
var breaks = []struct {
	alert string
	of    func(*story, *page)
}{
	{"RankwrightDetectionOld", func(_ *story, p *page) { p.skipped = 31 * time.Minute }},
	{"RankwrightEvictionsBlocked", (*story).guard},
	{"RankwrightRepairFailed", (*story).repairInVain},
	{"RankwrightLedgerContended", (*story).contend},
	{"RankwrightDecisionsSlow", (*story).decideLate},
	{"RankwrightWebhookSlow", (*story).starve},
	{"RankwrightOperatorFailing", (*story).revoke},
	{"RankwrightOperatorAbsent", (*story).end},
}

// checkBreaks breaks one thing after the other: its alert answers then and not before.
func (p *page) checkBreaks(s *story) {
	s.Helper()
	rules, err := prometheus.ReadRules(chart + "alerts.yaml")
	s.Must(err)
	unseen := map[string]prometheus.Rule{}
	for _, r := range rules {
		if !slices.Contains(fired, r.Alert) {
			unseen[r.Alert] = r
		}
	}
	for _, b := range breaks {
		p.skipped = 15 * time.Minute // of which rates are
		p.scrape(s, nil)
		expr := unseen[b.alert].Expr
		delete(unseen, b.alert)
		if p.answers(s.T, expr) {
			s.Errorf("%s answers before anything breaks", b.alert)
		}
		b.of(s, p)
		p.scrape(s, nil)
		if !p.answers(s.T, expr) {
			s.Errorf("%s does not answer", b.alert)
		}
	}
	if len(unseen) > 0 {
		s.Errorf("nothing breaks for %v", slices.Sorted(maps.Keys(unseen)))
	}
}

// now is the answer to a query of what an instance shows now, and 0 where there is none.
func (s *story) now(ctx context.Context, address, expr string) float64 {
	s.Helper()
	_, text, err := controlplane.Scrape(ctx, address, s.token)
	s.Must(err)
	shown, at := prometheus.New(), time.Now()
	_, err = shown.Scrape([]byte(text), at, nil)
	s.Must(err)
	answer, err := shown.Instant(expr, at)
	s.Must(err)
	if len(answer) == 0 {
		return 0
	}
	return answer[0].Value
}

// leader is the answer of the operator that leads.
func (s *story) leader(ctx context.Context, expr string) float64 {
	s.Helper()
	return s.now(ctx, s.operators["operator-0"], expr)
}

// grows waits until a number has grown by so much, for as long as it goes on to grow.
func (s *story) grows(what string, by float64, now func(context.Context) float64) {
	s.Helper()
	const steps = 10
	before := now(s.Context())
	for i := range steps {
		s.Eventually(what, func(ctx context.Context) bool { return now(ctx)-before >= by*float64(i+1)/steps })
	}
}

// decideLate makes room for a placement that has waited since the story began.
func (s *story) decideLate(*page) {
	s.Helper()
	const slow = time.Minute
	s.Eventually("the placement has waited for long", func(context.Context) bool {
		return time.Since(s.placement("late").CreationTimestamp.Time) > slow+time.Second
	})
	s.Must(s.Delete(s.Context(), s.placement("empty")))
	s.awaitCondition("late", v1alpha1.ConditionPlaced, metav1.ConditionTrue, "")
}

// guard has a disruption budget keep the pod of a plan that is replaced.
func (s *story) guard(*page) {
	s.Helper()
	s.place("guarded", h100, 1, func(*v1alpha1.ModelPlacementSpec) {})
	s.awaitCondition("guarded", v1alpha1.ConditionPlaced, metav1.ConditionTrue, "")
	s.runPods("guarded", 1, "http://127.0.0.1:1")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Home, Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelPlacement: "guarded"}}},
	}
	s.Must(s.Create(s.Context(), budget))
	s.Change(budget, func() { budget.Status.ObservedGeneration, budget.Status.ExpectedPods = budget.Generation, 1 }) // as its controller, which does not run here
	p := s.placement("guarded")
	s.Change(p, func() { p.Spec.Parallelism.Tensor = new(int32(2)) })
	s.Eventually("an eviction is blocked", func(ctx context.Context) bool {
		return s.leader(ctx, `rankwright_evictions_total{result="blocked"}`) > 0
	})
}

// repairInVain ends the Job that repairs the GPU which nobody holds: it stays off the bus. Nothing is repaired on a node on which a pod holds what
// nothing names.
func (s *story) repairInVain(*page) {
	s.Helper()
	s.sites["h100-0"].kubelet.ends(strangers, "unknown")
	s.sites["h100-0"].agent.Poke()
	s.Eventually("the repair is under way", func(ctx context.Context) bool {
		var jobs batchv1.JobList
		s.Must(s.List(ctx, &jobs, client.InNamespace(operation.RepairNamespace)))
		for i := range jobs.Items {
			s.CompleteJob(&jobs.Items[i])
		}
		return len(jobs.Items) > 0
	})
	s.Eventually("the repair has failed", func(ctx context.Context) bool {
		return s.leader(ctx, `rankwright_devices_in_repair{state="Failed"}`) > 0
	})
}

// contend has somebody else write the ledger without end while placements get their plans.
func (s *story) contend(*page) {
	s.Helper()
	const placements, conflicts = 4, 70
	book := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operation.Namespace, Name: ledger.Name}}
	ctx, cancel := context.WithCancel(s.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			note := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/written":"%d"}}}`, i)
			_ = s.Patch(ctx, book, client.RawPatch(types.MergePatchType, note))
		}
	})
	defer writing.Wait()
	defer cancel()
	for i := range placements {
		s.place(fmt.Sprintf("contended-%d", i), intel, 1, func(*v1alpha1.ModelPlacementSpec) {})
	}
	s.grows("the ledger is contended", conflicts, func(ctx context.Context) float64 {
		return s.leader(ctx, `rankwright_ledger_conflicts_total`)
	})
}

// starve lets the operator run for a moment a second, as a low limit on its processor does, while pods ask for its webhook.
func (s *story) starve(*page) {
	s.Helper()
	const all, quick = `sum(controller_runtime_webhook_latency_seconds_count)`, `sum(controller_runtime_webhook_latency_seconds_bucket{le="1"})`
	before := s.leader(s.Context(), all)
	s.Eventually("one pod of fifty waits for the webhook", func(ctx context.Context) bool {
		s.halt(ctx, s.running["operator-0"], func(ctx context.Context) {
			_ = s.Create(ctx, s.podOf("guarded", 0), client.DryRunAll) // how it is answered is nothing to this
		})
		now := s.leader(ctx, all)
		return now-s.leader(ctx, quick) > (now-before)/50
	})
}

// halt keeps a process from running but for moments, while others ask it again and again.
func (s *story) halt(ctx context.Context, of *process.Process, ask func(context.Context)) {
	const askers, halts = 8, 3
	const halted, runs = 1100 * time.Millisecond, 2 * time.Millisecond
	asking, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range askers {
		all.Go(func() {
			for asking.Err() == nil {
				ask(asking)
			}
		})
	}
	for range halts {
		of.Signal(syscall.SIGSTOP)
		<-time.After(halted)
		of.Signal(syscall.SIGCONT)
		<-time.After(runs)
	}
	cancel()
	all.Wait()
}

// revoke takes a right from the operator: what it would say of placements is denied.
func (s *story) revoke(*page) {
	s.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "rankwright-operator"}}
	s.Change(role, func() {
		for i := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(of string) bool { return of == "modelplacements/status" })
		}
	})
	confined, err := client.New(s.Rights(), client.Options{Scheme: s.Scheme()})
	s.Must(err)
	s.Eventually("the right is gone", func(ctx context.Context) bool {
		late := s.placement("late")
		return apierrors.IsForbidden(confined.Status().Patch(ctx, late, client.RawPatch(types.MergePatchType, []byte(`{}`)), client.DryRunAll))
	})
	const several, failures = 12, 70
	for i := range several {
		s.place(fmt.Sprintf("denied-%d", i), intel, 1, func(*v1alpha1.ModelPlacementSpec) {})
	}
	s.grows("the operator fails", failures, func(ctx context.Context) float64 {
		return s.leader(ctx, `sum(controller_runtime_reconcile_errors_total{controller="placement"})`)
	})
}

// end ends the operators.
func (s *story) end(p *page) {
	s.Helper()
	for name, running := range s.running {
		running.Stop(10 * time.Second)
		delete(s.operators, name)
	}
	p.skipped = 5 * time.Minute // for so long a series counts as there
}
