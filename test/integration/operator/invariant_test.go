package operator

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/invariant"
)

// watchedPlans watches every plan, from before the test's first one, and checks at each event that no device belongs to two
// active plans.
type watchedPlans struct {
	world
	watch    watch.Interface
	finished chan struct{}

	mu         sync.Mutex
	active     map[types.UID]v1alpha1.ShardingPlan
	events     int
	everActive int
	abandoned  int
	violations []string
	marked     chan struct{}
	// changed takes one event at a time, for awaitEvent.
	changed chan struct{}
}

const markerName = "invariant-marker"

func (w world) watchInvariant() *watchedPlans {
	w.Helper()
	var list v1alpha1.ShardingPlanList
	w.Must(w.List(w.Context(), &list))
	if len(list.Items) > 0 {
		w.Fatalf("%d plans exist before the test", len(list.Items))
	}
	events, err := w.Watch(context.WithoutCancel(w.Context()), &v1alpha1.ShardingPlanList{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	w.Must(err)
	i := &watchedPlans{world: w, watch: events, active: map[types.UID]v1alpha1.ShardingPlan{}, finished: make(chan struct{}), marked: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	go i.run()
	w.Cleanup(func() { events.Stop(); <-i.finished })
	return i
}

func (i *watchedPlans) run() {
	defer close(i.finished)
	for event := range i.watch.ResultChan() {
		i.see(event)
	}
}

func (i *watchedPlans) see(event watch.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	plan, isPlan := event.Object.(*v1alpha1.ShardingPlan)
	if !isPlan {
		i.violations = append(i.violations, fmt.Sprintf("the watch broke: %v", event.Object))
		return
	}
	if plan.Name == markerName {
		if event.Type == watch.Added {
			i.marked <- struct{}{}
		}
		return
	}
	i.events++
	select {
	case i.changed <- struct{}{}:
	default:
	}
	if event.Type == watch.Deleted || !plan.Active() {
		if event.Type == watch.Deleted && !plan.Active() {
			i.abandoned++
		}
		delete(i.active, plan.UID)
		return
	}
	if _, known := i.active[plan.UID]; !known {
		i.everActive++
	}
	i.active[plan.UID] = *plan
	i.violations = append(i.violations, invariant.Doubles(i.active)...)
}

// check waits until every event up to now was seen, and fails the test if the invariant ever did not hold, or if fewer
// plans than expected ever became active, so that there was nothing to check.
func (i *watchedPlans) check(least int) {
	i.Helper()
	marker := planOf("marker", 1, []string{"marker/x"})
	marker.Name = markerName
	i.Must(i.Create(i.Context(), marker))
	select {
	case <-i.marked:
	case <-i.finished:
		i.Fatal("the watch ended before the test")
	case <-i.Context().Done():
		i.Fatal("the marker was not seen")
	}
	i.Must(i.Delete(i.Context(), marker))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Logf("%d events; %d plans became active, %d were abandoned before", i.events, i.everActive, i.abandoned)
	for _, v := range i.violations {
		i.Error(v)
	}
	if i.everActive < least {
		i.Errorf("%d plans became active in %d events; the test means at least %d", i.everActive, i.events, least)
	}
}

func apiEach(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		if object, isObject := o.(client.Object); isObject {
			do(object)
		}
		return nil
	})
}
