package cluster

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Follow watches kinds and shows what they are: at first, and after each change, but not before a period is over. It ends with the context, which is no
// error, or with an error of show.
func (c *Cluster) Follow(ctx context.Context, streams term.Streams, period time.Duration, names []string, show func(*Objects) error) error {
	changed := make(chan struct{}, 1)
	var unseen []holding.Unseen
	followed := make([]*followed, len(names))
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, name := range names {
		within, hidden, err := c.probe(ctx, name)
		if err != nil {
			return err
		}
		if hidden != nil {
			unseen = append(unseen, *hidden)
		}
		if within != nowhere {
			followed[i] = c.follow(name, within, changed)
			running.Go(func() { followed[i].reflector.RunWithContext(ctx) })
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		o, complete, err := objectsOf(followed, unseen)
		if err != nil {
			return err
		}
		if !complete {
			continue
		}
		o.Now = c.clock.Now()
		o.Silent = silent(o.leases, o.Now)
		if err := show(o); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-streams.Later()(period):
		}
	}
}

// nowhere is no namespace.
const nowhere = "-"

// probe finds out in which namespace a kind may be listed; empty stands for all.
func (c *Cluster) probe(ctx context.Context, name string) (within string, hidden *holding.Unseen, err error) {
	k := kinds[name]
	for _, within = range k.places(c, name) {
		one := k.selects
		one.Limit = 1
		err = c.request(&k, within, &one).Do(ctx).Error()
		switch {
		case err == nil && within == k.places(c, name)[0]:
			return within, nil, nil
		case err == nil:
			return within, &holding.Unseen{Kind: k.resource, Namespace: within}, nil
		case !apierrors.IsForbidden(err):
			return nowhere, nil, c.explained(name, err)
		}
	}
	return nowhere, &holding.Unseen{Kind: k.resource}, nil
}

// followed is a kind that is watched.
type followed struct {
	cache.Store

	kind      kind
	reflector *cache.Reflector
	changed   chan<- struct{}
	mu        sync.Mutex
	filled    bool
}

func (c *Cluster) follow(name, namespace string, changed chan<- struct{}) *followed {
	k := kinds[name]
	f := &followed{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), kind: k, changed: changed}
	lists := cache.NewFilteredListWatchFromClient(c.clients[k.group], k.resource, namespace, func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = k.selects.LabelSelector, k.selects.FieldSelector
	})
	f.reflector = cache.NewReflectorWithOptions(lists, nil, f, cache.ReflectorOptions{Name: name})
	return f
}

// Add, Update, Delete and Replace take a change over and say that there is one.
func (f *followed) Add(object any) error { return f.note(f.Store.Add(object)) }

// Update see Add.
func (f *followed) Update(object any) error { return f.note(f.Store.Update(object)) }

// Delete see Add.
func (f *followed) Delete(object any) error { return f.note(f.Store.Delete(object)) }

// Replace see Add.
func (f *followed) Replace(objects []any, version string) error {
	err := f.Store.Replace(objects, version)
	f.mu.Lock()
	f.filled = true
	f.mu.Unlock()
	return f.note(err)
}

func (f *followed) note(err error) error {
	select {
	case f.changed <- struct{}{}:
	default:
	}
	return err
}

func (f *followed) isFilled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.filled
}

// objectsOf are what is known now of all kinds, and whether each was listed.
func objectsOf(list []*followed, unseen []holding.Unseen) (o *Objects, complete bool, err error) {
	o = &Objects{}
	o.Unseen = unseen
	for _, f := range list {
		if f == nil {
			continue
		}
		if !f.isFilled() {
			return nil, false, nil
		}
		var objects []runtime.Object
		for _, object := range f.List() {
			if o, is := object.(runtime.Object); is {
				objects = append(objects, o)
			}
		}
		page := f.kind.list()
		if err := meta.SetList(page, objects); err != nil {
			return nil, false, err
		}
		if err := f.kind.keep(o, page); err != nil {
			return nil, false, err
		}
	}
	return o, true, nil
}
