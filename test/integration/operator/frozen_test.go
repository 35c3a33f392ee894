package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// freezer holds back the events of one kind from an operator, so that its informer shows the state of when that began. What is read from the API
// server is as it is.
type freezer struct {
	kind string

	mu    sync.Mutex
	thawn chan struct{} // closed while events flow
}

func newFreezer(kind string) *freezer {
	f := &freezer{kind: kind, thawn: make(chan struct{})}
	close(f.thawn)
	return f
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thawn = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.thawn)
}

func (f *freezer) flowing() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.thawn
}

// wrap puts the freezer before the watches of its kind.
func (f *freezer) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/"+f.kind) {
			response.Body = &frozenBody{ReadCloser: response.Body, freezer: f, ctx: request.Context()}
		}
		return response, err
	})
}

// frozenBody gives what it reads only while events flow.
type frozenBody struct {
	io.ReadCloser
	freezer *freezer
	ctx     context.Context
}

func (b *frozenBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	select {
	case <-b.freezer.flowing():
		return n, err
	case <-b.ctx.Done():
		return 0, errors.Join(err, b.ctx.Err())
	}
}

// forward watches that nothing which is said of placement llm goes back, and that no number of a plan is given twice.
type forward struct {
	mu       sync.Mutex
	plans    map[int64]types.UID
	observed map[string]int64
	wrong    []string
}

func (w world) watchForward() *forward {
	w.Helper()
	f := &forward{plans: map[int64]types.UID{}, observed: map[string]int64{}}
	for _, list := range []client.ObjectList{&v1alpha1.ShardingPlanList{}, &v1alpha1.ModelPlacementList{}, &v1alpha1.DeviceMeshList{}} {
		events, err := w.Watch(context.WithoutCancel(w.Context()), list, client.InNamespace(testNamespace))
		w.Must(err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for event := range events.ResultChan() {
				f.see(event.Object)
			}
		}()
		w.Cleanup(func() { events.Stop(); <-ended })
	}
	return f
}

func (f *forward) see(object any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch o := object.(type) {
	case *v1alpha1.ShardingPlan:
		if o.Spec.Placement.Name == "llm" && o.Active() {
			if was := f.plans[o.Spec.Revision]; was != "" && was != o.UID {
				f.wrong = append(f.wrong, fmt.Sprintf("revision %d is of two plans", o.Spec.Revision))
			}
			f.plans[o.Spec.Revision] = o.UID
		}
	case *v1alpha1.ModelPlacement:
		if o.Name == "llm" {
			f.rises("status.observedGeneration", o.Status.ObservedGeneration)
			f.rises("status.revision", o.Status.Revision)
			for _, c := range o.Status.Conditions {
				f.rises(c.Type, c.ObservedGeneration)
			}
			if o.Status.Plan != "" {
				f.rises("status.plan", number(o.Status.Plan))
			}
		}
	case *v1alpha1.DeviceMesh:
		if o.Name == "llm" {
			f.rises("mesh", number(o.Spec.Plan))
		}
	}
}

func (f *forward) rises(what string, to int64) {
	if to < f.observed[what] {
		f.wrong = append(f.wrong, fmt.Sprintf("%s went from %d back to %d", what, f.observed[what], to))
	}
	f.observed[what] = to
}

// number is the number of a plan of placement llm.
func number(plan string) int64 {
	var n int64
	_, _ = fmt.Sscanf(plan, "llm-%d", &n)
	return n
}

func (f *forward) check(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.wrong {
		t.Error(text)
	}
	if len(f.plans) < 3 {
		t.Errorf("%d plans were made; the test means more", len(f.plans))
	}
}

// active returns the plans in force of placement llm.
func (w world) active() []v1alpha1.ShardingPlan {
	w.Helper()
	return ledger.InForce(slices.DeleteFunc(w.plans(), func(p v1alpha1.ShardingPlan) bool { return p.Spec.Placement.Name != "llm" }))
}

// TestNothingGoesBackWhateverInformerLags holds one informer back at a time while a placement is scaled, loses its plan, is suspended and
// resumed, and while its nodes change; then the informer catches up.
func TestNothingGoesBackWhateverInformerLags(t *testing.T) {
	for _, kind := range []string{
		"modelplacements", "shardingplans", "devicemeshes", "acceleratorinventories", "nodes", "pods", "configmaps", "priorityclasses", "controllerrevisions",
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, wholeCluster)
			watched, forward, held := w.watchInvariant(), w.watchForward(), newFreezer(kind)
			w.Transport = held.wrap
			w.addNode("n1", 4)
			w.addNode("n2", 4)
			w.operate(operator.Options{Planner: operation.FirstFit})
			w.place(w.PlacementOf("llm", 1, 1))
			w.awaitPlan("llm", "llm-1")
			w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 2 })
			w.awaitPlan("llm", "llm-2")
			held.freeze()

			blind := kind == "modelplacements" // specs are not seen
			w.edit(!blind, 3, false)
			w.lookAgain(kind)
			w.Must(w.Delete(t.Context(), &w.active()[0]))
			if kind != "shardingplans" {
				w.Eventually("a plan is made again", func(context.Context) bool { return len(w.active()) == 1 })
			}
			w.lookAgain(kind)
			w.edit(!blind, 3, true)
			w.lookAgain(kind)
			w.edit(!blind, 2, false)
			w.lookAgain(kind)
			w.edit(!blind, 1, false)

			held.thaw()
			w.Eventually("everybody knows the last plan", func(context.Context) bool {
				p, active := w.placement("llm"), w.active()
				return len(active) == 1 && placed(p).Reason == v1alpha1.ReasonPlaced && p.Status.Plan == active[0].Name &&
					p.Status.PlannedReplicas == 1 && w.mesh().Spec.Plan == active[0].Name
			})
			forward.check(t)
			watched.check(3)
		})
	}
}

// edit asks for so many copies of placement llm or suspends it, and waits until a plan in force has them, where that can be seen.
func (w world) edit(seen bool, copies int32, suspend bool) {
	w.Helper()
	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas, s.Suspend = copies, suspend })
	if !seen {
		return
	}
	w.Eventually(fmt.Sprintf("%d copies are in force, or suspended: %t", copies, suspend), func(context.Context) bool {
		active := w.active()
		if suspend {
			return len(active) == 0
		}
		return len(active) == 1 && active[0].Spec.Copies() == copies
	})
}

// lookAgain has all placements looked at while a kind is held back, and returns when they were, where that can be seen. A plan is not made from
// an inventory that changed and whose informer lags.
func (w world) lookAgain(held string) {
	w.Helper()
	if held != "acceleratorinventories" {
		w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
			metav1.SetMetaDataAnnotation(&i.ObjectMeta, "looked-at", i.ResourceVersion)
		})
	}
	if held != "modelplacements" {
		w.settle()
	}
}
