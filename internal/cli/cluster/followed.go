package cluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/pkg/holding"
)

// followed is a kind that is watched in one place, or nowhere.
type followed struct {
	cache.Store

	kind
	of   *following
	at   int
	name string
	// within is the place, hidden what is not seen there.
	within string
	hidden *holding.Unseen
	lists  *cache.ListWatch
	end    context.CancelFunc

	// Under the lock of following: whether it was listed, what went wrong since it was watched last, and what gives a watch up so that another one begins.
	filled bool
	wrong  error
	giveUp func()
}

func (f *following) newFollowed(at int, name, within string, hidden *holding.Unseen) *followed {
	k := &followed{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), kind: kinds[name], of: f, at: at, name: name, within: within, hidden: hidden, filled: within == nowhere}
	k.lists = cache.NewFilteredListWatchFromClient(f.clients[k.group], k.resource, within, func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = k.selects.LabelSelector, k.selects.FieldSelector
	})
	return k
}

// retries are how a watch is begun again, while somebody looks at the page.
var retries = wait.Backoff{Duration: time.Second / 2, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 4 * time.Second}

// take follows a kind from now on, in the place of how it was followed before.
func (f *following) take(ctx context.Context, k *followed) {
	ctx, k.end = context.WithCancel(ctx)
	f.mu.Lock()
	was := f.kinds[k.at]
	f.kinds[k.at] = k
	f.judge()
	f.mu.Unlock()
	if was != nil {
		was.end()
		f.note(f.changed)
	}
	if k.within == nowhere {
		return
	}
	again := retries
	watched := &cache.ListWatch{ListWithContextFunc: k.asked, WatchFuncWithContext: k.watched}
	reflector := cache.NewReflectorWithOptions(watched, nil, k, cache.ReflectorOptions{Name: k.name, Backoff: &again})
	f.running.Go(func() { reflector.RunWithContext(ctx) })
}

// asked lists a kind for a reflector.
func (k *followed) asked(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := k.lists.ListWithContext(ctx, options)
	if err != nil {
		k.told(err, nil)
	}
	return list, err
}

// watched watches a kind for a reflector.
func (k *followed) watched(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	ctx, end := context.WithCancel(ctx)
	k.of.mu.Lock()
	k.giveUp = end
	k.of.mu.Unlock()
	w, err := k.lists.WatchWithContext(ctx, options)
	if err != nil {
		end()
		k.told(err, nil)
		return nil, err
	}
	k.told(nil, w.Stop)
	return &ending{w, end}, nil
}

// ending is a watch that ends its request with it.
type ending struct {
	watch.Interface

	end func()
}

// Stop ends the watch.
func (e *ending) Stop() {
	e.Interface.Stop()
	e.end()
}

// told notes whether a kind could be asked for. What is forbidden is found out in the next turn.
func (k *followed) told(err error, giveUp func()) {
	f := k.of
	f.mu.Lock()
	defer f.mu.Unlock()
	k.giveUp = giveUp
	switch {
	case apierrors.IsForbidden(err):
		f.turn = k.at
	case !errors.Is(err, context.Canceled):
		k.wrong = err
	}
	f.judge()
}

// Add, Update, Delete and Replace take a change over and say that there is one.
func (k *followed) Add(object any) error { return k.note(k.Store.Add(object)) }

// Update see Add.
func (k *followed) Update(object any) error { return k.note(k.Store.Update(object)) }

// Delete see Add.
func (k *followed) Delete(object any) error { return k.note(k.Store.Delete(object)) }

// Replace see Add.
func (k *followed) Replace(objects []any, version string) error {
	err := k.Store.Replace(objects, version)
	k.of.mu.Lock()
	k.filled = true
	k.of.mu.Unlock()
	k.of.note(k.of.changed)
	return err
}

func (k *followed) note(err error) error {
	if k.name == Leases {
		k.of.note(k.of.renewed)
	} else {
		k.of.note(k.of.changed)
	}
	return err
}

// note wakes who shows what there is.
func (f *following) note(what chan<- struct{}) {
	select {
	case what <- struct{}{}:
	default:
	}
}

// keepIn adds what is known of a kind to objects.
func (k *followed) keepIn(o *Objects) error {
	if k.hidden != nil {
		o.Unseen = append(o.Unseen, *k.hidden)
	}
	var objects []runtime.Object
	for _, object := range k.List() {
		if o, is := object.(runtime.Object); is {
			objects = append(objects, o)
		}
	}
	page := k.list()
	if err := meta.SetList(page, objects); err != nil {
		return err
	}
	return k.keep(o, page)
}
