package scale

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Followed is what was seen of a placement.
type Followed struct {
	// Now is the placement as it was seen last.
	Now *v1alpha1.ModelPlacement
	// Placed is when it was first seen with a mesh, Refused when it was first said that it has no plan, and why. Zero is never.
	Placed, Refused time.Time
}

// Follower follows the placements of Home.
type Follower struct {
	cluster *Cluster
	stop    func()

	mu      sync.Mutex
	known   map[string]*Followed
	changed chan struct{}
}

// Follow begins to follow placements. Stop ends it.
func (c *Cluster) Follow(ctx context.Context) (*Follower, error) {
	f := &Follower{cluster: c, known: map[string]*Followed{}, changed: make(chan struct{}, 1)}
	watched, err := cache.New(c.Config, cache.Options{
		Scheme: c.Client.Scheme(), DefaultNamespaces: map[string]cache.Config{Home: {}}, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("follow placements: %w", err)
	}
	informer, err := watched.GetInformer(ctx, &v1alpha1.ModelPlacement{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("follow placements: %w", err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: f.see, UpdateFunc: func(_, object any) { f.see(object) },
	}); err != nil {
		return nil, fmt.Errorf("follow placements: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { _ = watched.Start(ctx) })
	f.stop = func() {
		cancel()
		following.Wait()
	}
	if !watched.WaitForCacheSync(ctx) {
		f.stop()
		return nil, fmt.Errorf("follow placements: %w", ctx.Err())
	}
	return f, nil
}

// Stop ends following.
func (f *Follower) Stop() { f.stop() }

func (f *Follower) see(object any) {
	p, is := object.(*v1alpha1.ModelPlacement)
	if !is {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.known[p.Name]
	if seen == nil || seen.Now.UID != p.UID {
		seen = &Followed{}
		f.known[p.Name] = seen
	}
	seen.Now = p
	said, now := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced), f.cluster.clock()
	if said != nil && said.Status == "True" && p.Status.Mesh != "" && seen.Placed.IsZero() {
		seen.Placed = now
	}
	if said != nil && said.Status == "False" && seen.Refused.IsZero() {
		seen.Refused = now
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Await waits until something holds of so many placements, and returns what was seen of these.
func (f *Follower) Await(ctx context.Context, what string, want int, holds func(Followed) bool) ([]Followed, error) {
	last := f.cluster.clock()
	for {
		f.mu.Lock()
		var hold []Followed
		for _, p := range f.known {
			if holds(*p) {
				hold = append(hold, *p)
			}
		}
		f.mu.Unlock()
		if len(hold) >= want {
			return hold, nil
		}
		if now := f.cluster.clock(); now.Sub(last) > progressEvery {
			f.cluster.logf("  %d of %d %s", len(hold), want, what)
			last = now
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			return hold, fmt.Errorf("%d of %d %s: %w", len(hold), want, what, context.Cause(ctx))
		}
	}
}

// one is a placement of a name.
func (f *Follower) one(ctx context.Context, p client.Object, what string, holds func(Followed) bool) (Followed, error) {
	found, err := f.Await(ctx, p.GetName()+" "+what, 1, func(seen Followed) bool {
		return seen.Now.Name == p.GetName() && seen.Now.UID == p.GetUID() && holds(seen)
	})
	if err != nil {
		return Followed{}, err
	}
	return found[0], nil
}

func isPlaced(f Followed) bool  { return !f.Placed.IsZero() }
func isRefused(f Followed) bool { return !f.Refused.IsZero() }
