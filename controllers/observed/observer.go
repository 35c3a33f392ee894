// Package observed says in a placement's status what its pods deliver, by the metrics of their engines, beside what is estimated for the load that they
// have, and whether the one is within the ranges of the other.
package observed

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/site"
)

// fieldManager writes this observer's part of the status of placements.
const fieldManager = "rankwright-observer"

// mostPods is how many pods of a placement are asked in a round; a placement with more is not observed, since a part would look like a slow whole.
const mostPods = 64

// So many placements are looked at at once, and each for so long at most.
const (
	atOnce   = 16
	patience = 30 * time.Second
)

// Observer reads the metrics of engines.
type Observer struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Get reads what is at an address of a pod.
	Get func(ctx context.Context, address string) ([]byte, error)
	// Site returns what was measured at the site, which may be nil.
	Site func(context.Context) (*site.Compiled, error)
	// Events takes the events of placements.
	Events events.EventRecorder
	// Now is the clock, Every how often it is looked.
	Now   func() time.Time
	Every time.Duration
	Log   logr.Logger

	seen map[types.UID]scraped
}

// scraped is what a pod said and when.
type scraped struct {
	site.Scrape
	at time.Time
}

// Start works until the context ends. Only the leader observes.
func (o *Observer) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, o.round, o.Every)
	return nil
}

// round looks at every placement once. What fails for one is told of it alone, and tried again in the next round.
func (o *Observer) round(ctx context.Context) {
	var list v1alpha1.ModelPlacementList
	if err := o.Client.List(ctx, &list); err != nil {
		o.Log.Error(err, "list placements")
		return
	}
	next := map[types.UID]scraped{}
	var mu sync.Mutex
	o.each(ctx, list.Items, func(ctx context.Context, p *v1alpha1.ModelPlacement) error {
		own := map[types.UID]scraped{}
		err := o.look(ctx, p, own)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(next, own)
		return err
	})
	o.seen = next
}

// each looks at placements, some at a time and each for a while at most, so that pods that do not answer, or an error of this program that shows with them,
// keep no other placement from being observed.
func (o *Observer) each(ctx context.Context, placements []v1alpha1.ModelPlacement, look func(context.Context, *v1alpha1.ModelPlacement) error) {
	var looks errgroup.Group
	looks.SetLimit(atOnce)
	for i := range placements {
		p := &placements[i]
		looks.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := objects.Guarded(ctx, func() error { return look(ctx, p) }); err != nil {
				o.Log.Info("a placement is not observed", "namespace", p.Namespace, "name", p.Name, "reason", err.Error())
			}
			return nil
		})
	}
	_ = looks.Wait() // what fails is told of its own placement
}

// look observes one placement, and writes what is new.
func (o *Observer) look(ctx context.Context, p *v1alpha1.ModelPlacement, next map[types.UID]scraped) error {
	if p.Status.Plan == "" || p.Status.Selector == "" || !p.DeletionTimestamp.IsZero() {
		return nil
	}
	plan := &v1alpha1.ShardingPlan{}
	if found, err := objects.Read(ctx, o.Client, types.NamespacedName{Namespace: p.Namespace, Name: p.Status.Plan}, plan); err != nil || !found {
		return err
	}
	if len(plan.Spec.OtherShapes) > 0 || plan.Spec.Training != nil {
		return nil
	}
	pods, err := o.first(ctx, p)
	if err != nil || len(pods) == 0 {
		return err
	}
	measured, err := o.measure(ctx, pods, next)
	if err != nil || measured == nil {
		return err
	}
	return o.write(ctx, p, plan, measured)
}

// first returns the first pod of each copy, which serves, as far as it is ready and says at which port.
func (o *Observer) first(ctx context.Context, p *v1alpha1.ModelPlacement) ([]corev1.Pod, error) {
	selector, err := labels.Parse(p.Status.Selector)
	if err != nil {
		return nil, fmt.Errorf("status.selector: %w", err)
	}
	var pods corev1.PodList
	if err := o.Client.List(ctx, &pods, client.InNamespace(p.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	ready := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return addressOf(&pod) == "" })
	if len(ready) > mostPods {
		return nil, fmt.Errorf("%d pods serve, and at most %d are asked", len(ready), mostPods)
	}
	return ready, nil
}

// addressOf is where a ready pod has its metrics: at the port of its containers that is named metrics, or else http; "" where it has none.
func addressOf(pod *corev1.Pod) string {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if !ready || pod.Status.PodIP == "" || !pod.DeletionTimestamp.IsZero() {
		return ""
	}
	for _, name := range []string{"metrics", "http"} {
		for i := range pod.Spec.Containers {
			for _, port := range pod.Spec.Containers[i].Ports {
				if port.Name == name && (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) {
					return "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort))) + "/metrics"
				}
			}
		}
	}
	return ""
}

// measure asks the pods, and returns what they delivered together since the last round; nil where a pod is asked for the first time, or none answered
// a request. The metrics are of several engines where pods serve several models; a placement is one of them.
func (o *Observer) measure(ctx context.Context, pods []corev1.Pod, next map[types.UID]scraped) (*v1alpha1.Measurement, error) {
	before, after := site.Scrape{}, site.Scrape{}
	now, whole := o.Now(), true
	var since time.Time
	for i := range pods {
		content, err := o.Get(ctx, addressOf(&pods[i]))
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
		said, err := site.ParseMetrics(content)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
		next[pods[i].UID] = scraped{said, now}
		last, known := o.seen[pods[i].UID]
		whole = whole && known
		before.Add(last.Scrape)
		after.Add(said)
		if known && (since.IsZero() || last.at.Before(since)) {
			since = last.at
		}
	}
	if !whole {
		return nil, nil
	}
	list := site.Between(before, after, now.Sub(since), now)
	if len(list) != 1 {
		return nil, nil
	}
	if list[0].Requests < fewest { // the next round looks further back
		for i := range pods {
			next[pods[i].UID] = o.seen[pods[i].UID]
		}
	}
	list[0].Replicas = int32(len(pods)) // copies that are not ready get no requests
	return &list[0], nil
}

// write says what was measured, and whether it is as estimated.
func (o *Observer) write(ctx context.Context, p *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan, m *v1alpha1.Measurement) error {
	if err := o.complete(ctx, plan, m); err != nil {
		return err
	}
	compiled, err := o.Site(ctx)
	if err != nil {
		return err
	}
	said, condition := judged(m, compiled)
	condition = applied.PlacementCondition(p, condition, o.Now())
	before := ownPart(&p.Status)
	part := v1alpha1.ModelPlacementStatus{Observed: said}
	part.Conditions = append(part.Conditions, condition)
	if equality.Semantic.DeepEqual(before, part) {
		return nil
	}
	if err := applied.PlacementStatus(ctx, o.Client, p, &part, fieldManager); err != nil {
		return err
	}
	o.tell(p, &before, &condition)
	return nil
}
