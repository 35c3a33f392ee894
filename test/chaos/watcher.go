package chaos

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/invariant"
)

// watcher looks at every event of every plan. Where its watch ends, since the API server did, it begins anew with a list.
type watcher struct {
	client client.WithWatch

	mu     sync.Mutex
	active map[types.UID]v1alpha1.ShardingPlan
	ever   map[types.UID]bool
	found  []string
	// changed takes one event at a time.
	changed chan struct{}
}

func newWatcher(c client.WithWatch) *watcher {
	return &watcher{client: c, active: map[types.UID]v1alpha1.ShardingPlan{}, ever: map[types.UID]bool{}, changed: make(chan struct{}, 1)}
}

// run watches until the context ends.
func (w *watcher) run(ctx context.Context) {
	const again = 100 * time.Millisecond
	for ctx.Err() == nil {
		w.once(ctx)
		pause(ctx, again)
	}
}

func (w *watcher) once(ctx context.Context) {
	var all v1alpha1.ShardingPlanList
	if w.client.List(ctx, &all) != nil {
		return
	}
	w.mu.Lock()
	w.active = map[types.UID]v1alpha1.ShardingPlan{}
	w.mu.Unlock()
	for i := range all.Items {
		w.see(watch.Added, &all.Items[i])
	}
	events, err := w.client.Watch(ctx, &v1alpha1.ShardingPlanList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: all.ResourceVersion}})
	if err != nil {
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		plan, is := event.Object.(*v1alpha1.ShardingPlan)
		if !is {
			return
		}
		w.see(event.Type, plan)
	}
}

func (w *watcher) see(what watch.EventType, plan *v1alpha1.ShardingPlan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
	if what == watch.Deleted || !plan.Active() {
		delete(w.active, plan.UID)
		return
	}
	w.active[plan.UID], w.ever[plan.UID] = *plan, true
	for _, double := range invariant.Doubles(w.active) {
		if !slices.Contains(w.found, double) {
			w.found = append(w.found, double)
		}
	}
}

// take returns what was found since the last time.
func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.found
	w.found = nil
	return found
}

// plans is how many plans ever became active.
func (w *watcher) plans() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ever)
}

// awaitChange returns when a plan changes, and at the latest after a time.
func (w *watcher) awaitChange(ctx context.Context, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	select {
	case <-w.changed:
	default:
	}
	select {
	case <-w.changed:
	case <-ctx.Done():
	}
}
