package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/holding"
)

// pageSize is how many objects are asked for at once.
const pageSize = 500

// Read lists kinds, each once, all at the same time and in pages. What the user may not list is noted, and listed in the one namespace where that is
// allowed.
func (c *Cluster) Read(ctx context.Context, streams term.Streams, names ...string) (*Objects, error) {
	read := make([]listed, len(names))
	told := &progress{Progress: streams.Progress()}
	reads, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		reads.Go(func() (err error) {
			read[i], err = c.seen(ctx, name, told)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	o := &Objects{}
	for i, name := range names {
		for _, page := range read[i].pages {
			if err := kinds[name].keep(o, page); err != nil {
				return nil, err
			}
		}
		if read[i].unseen != nil {
			o.Unseen = append(o.Unseen, *read[i].unseen)
		}
	}
	o.Now = c.clock.Now()
	o.Silent, _ = silent(o.leases, o.Now)
	o.Utilization = Utilization(o.leases)
	streams.Log().Info("read from the cluster", "server", c.host, "kinds", len(names), "objects", told.objects)
	return o, nil
}

// listed is what was read of a kind.
type listed struct {
	pages  []runtime.Object
	unseen *holding.Unseen
}

// seen lists a kind as far as the user may.
func (c *Cluster) seen(ctx context.Context, name string, told *progress) (listed, error) {
	k := kinds[name]
	var seen listed
	for _, namespace := range k.places(c, name) {
		pages, err := c.pages(ctx, &k, namespace, told)
		if k.optional && apierrors.IsNotFound(err) {
			return listed{}, nil
		}
		if !apierrors.IsForbidden(err) {
			if seen.pages = pages; seen.unseen != nil {
				seen.unseen.Namespace = namespace
			}
			return seen, c.explained(name, err)
		}
		seen.unseen = &holding.Unseen{Kind: k.resource}
	}
	return seen, nil
}

// places are the namespaces in which a kind is looked for, one after the other; empty stands for all.
func (k *kind) places(c *Cluster, name string) []string {
	switch {
	case name == Leases:
		return []string{c.agents}
	case name == Warnings:
		return []string{c.Namespace}
	case k.namespaced:
		return []string{"", c.Namespace}
	default:
		return []string{""}
	}
}

// request begins to list a kind.
func (c *Cluster) request(k *kind, namespace string, options *metav1.ListOptions) *rest.Request {
	return c.clients[k.group].Get().Resource(k.resource).NamespaceIfScoped(namespace, namespace != "").VersionedParams(options, metav1.ParameterCodec)
}

// Pod reads a pod.
func (c *Cluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	found := &corev1.Pod{}
	err := c.clients[corev1.SchemeGroupVersion].Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no pod %s in namespace %s: name the namespace with -n", name, namespace)
	case err != nil:
		return nil, fmt.Errorf("read pod %s of namespace %s: %w", name, namespace, err)
	}
	return found, nil
}

// ConfigMap reads a ConfigMap.
func (c *Cluster) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{}
	err := c.clients[corev1.SchemeGroupVersion].Get().Namespace(namespace).Resource("configmaps").Name(name).Do(ctx).Into(found)
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s of namespace %s: %w", name, namespace, err)
	}
	return found, nil
}

// explained adds to an error what it is about and what would help.
func (c *Cluster) explained(name string, err error) error {
	var network *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &network):
		return fmt.Errorf("reach the cluster at %s: %w: name another one with --context or --kubeconfig", c.host, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster at %s does not know the user of the context: %w", c.host, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster at %s has no %s: install Rankwright there, or name another cluster with --context", c.host, name)
	default:
		return fmt.Errorf("list %s: %w", name, err)
	}
}

// pages lists a kind page by page, and at once where the pages became too old meanwhile.
func (c *Cluster) pages(ctx context.Context, k *kind, namespace string, told *progress) ([]runtime.Object, error) {
	var pages []runtime.Object
	options := k.selects
	options.Limit = pageSize
	for {
		page := k.list()
		err := c.request(k, namespace, &options).Do(ctx).Into(page)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			pages, options.Limit, options.Continue = nil, 0, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
		told.tell(meta.LenList(page))
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return pages, nil
		}
	}
}

// progress tells how many objects were read, where that takes long.
type progress struct {
	*term.Progress
	mu      sync.Mutex
	objects int
}

func (p *progress) tell(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects += more
	p.Tell("%s read from the cluster", words.Counted(p.objects, "object"))
}

// silent are the nodes whose agents have not renewed their Leases in time, by the API server's clock, and how long it is until the next may be one: 0 where all
// are, or none has a Lease.
func silent(leases []coordinationv1.Lease, now time.Time) (nodes map[string]bool, until time.Duration) {
	nodes = map[string]bool{}
	for i := range leases {
		l := &leases[i].Spec
		if l.RenewTime == nil || l.LeaseDurationSeconds == nil {
			continue
		}
		left := l.RenewTime.Add(time.Duration(*l.LeaseDurationSeconds) * time.Second).Sub(now)
		switch {
		case left <= 0:
			nodes[leases[i].Name] = true
		case until == 0 || left < until:
			until = left
		}
	}
	return nodes, until
}

// Utilization is what the agents say on their Leases of how busy their devices are, by node.
func Utilization(leases []coordinationv1.Lease) map[string]string {
	said := map[string]string{}
	for i := range leases {
		if text := leases[i].Annotations[v1alpha1.AnnotationUtilization]; text != "" {
			said[leases[i].Name] = text
		}
	}
	return said
}

// Live are the kinds of which it is told who holds what.
func Live(more ...string) []string {
	return slices.Concat([]string{holding.Inventories, holding.Nodes, holding.Placements, holding.Plans, holding.Meshes, Leases}, more)
}
