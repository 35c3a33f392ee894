package nodeagent

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
)

// objectWatch tells when an object is created or deleted, or when what the agent cares about in it changes.
type objectWatch struct {
	client dynamic.Interface
	kind   schema.GroupVersionResource
	name   string
	// keep leaves of the object what differs needs, so that the rest is not held.
	keep func(*unstructured.Unstructured) *unstructured.Unstructured
	// differs compares two objects of the name, as kept.
	differs func(before, after *unstructured.Unstructured) bool
	changed func(after *unstructured.Unstructured)
	log     *slog.Logger
}

// watches are of the inventory, for its spec, and of the Node.
//
// RBAC knows no right to watch an object of one name alone, so the agent may read all Nodes. It may get any of them anyway,
// and inventories, which are named as their Nodes, tell more of a host. What it is for: a Node that is deleted and created
// anew has its labels and its inventory within seconds, not at the next period.
func (a *Agent) watches() []objectWatch {
	changed := func(*unstructured.Unstructured) { await.Signal(a.changed, struct{}{}) }
	name := a.options.NodeName
	return []objectWatch{
		{a.client, inventories, name, identityOnly, specDiffers, changed, a.log},
		{a.client, nodes, name, observedOfNode, nodeDiffers, a.nodeChanged, a.log},
	}
}

// run watches until the context ends. An API server that is away is asked again and again.
func (w objectWatch) run(ctx context.Context) error {
	informer := cache.NewSharedIndexInformerWithOptions(listWatch(w.client, w.kind, w.name), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: w.kind.Resource + " " + w.name})
	err := informer.SetTransform(func(item any) (any, error) {
		if whole, isObject := item.(*unstructured.Unstructured); isObject {
			return w.keep(whole), nil
		}
		return item, nil
	})
	if err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandlerWithContext(w.failed()); err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if after, ok := added.(*unstructured.Unstructured); ok {
				w.changed(after)
			}
		},
		DeleteFunc: func(any) { w.changed(&unstructured.Unstructured{}) },
		UpdateFunc: func(before, after any) {
			a, okA := before.(*unstructured.Unstructured)
			b, okB := after.(*unstructured.Unstructured)
			if okA && okB && w.differs(a, b) {
				w.changed(b)
			}
		},
	})
	if err != nil {
		return err
	}
	// The informer is left to end by itself: after a refused connection it waits out its back-off, of up to half a
	// minute, whatever the context says.
	go informer.RunWithContext(ctx)
	<-ctx.Done()
	return nil
}

// failed logs a missing right once and leaves other failures to the client library.
func (w objectWatch) failed() cache.WatchErrorHandlerWithContext {
	var once sync.Once
	return func(ctx context.Context, r *cache.Reflector, err error) {
		if !apierrors.IsForbidden(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			return
		}
		once.Do(func() {
			w.log.Warn("changes are seen with the rescan interval only: grant the verbs list and watch",
				"resource", w.kind.Resource, "error", err)
		})
	}
}

// specDiffers says whether the inventory is another one of its name or its spec changed: an administrator cordoned a
// device. The agent's own writes to the status do not change the generation.
func specDiffers(before, after *unstructured.Unstructured) bool {
	return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration()
}

// nodeDiffers says whether the Node is another one of its name, or anything of it that was kept changed.
func nodeDiffers(before, after *unstructured.Unstructured) bool {
	return before.GetUID() != after.GetUID() || !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(extendedResources(before), extendedResources(after))
}

// listWatch lists and watches the one object of a name.
func listWatch(c dynamic.Interface, kind schema.GroupVersionResource, name string) cache.ListerWatcher {
	resource := c.Resource(kind)
	one := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		return options
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, one(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, one(options))
		},
	}, c)
}

// identityOnly leaves of an object what tells it and its generations apart.
func identityOnly(whole *unstructured.Unstructured) *unstructured.Unstructured {
	kept := &unstructured.Unstructured{Object: object{"apiVersion": whole.GetAPIVersion(), "kind": whole.GetKind()}}
	kept.SetName(whole.GetName())
	kept.SetUID(whole.GetUID())
	kept.SetGeneration(whole.GetGeneration())
	kept.SetResourceVersion(whole.GetResourceVersion())
	return kept
}

// observedOfNode leaves of a Node also the labels of ours, the extended resources, and what has the driver let go of.
func observedOfNode(whole *unstructured.Unstructured) *unstructured.Unstructured {
	kept := identityOnly(whole)
	labels := whole.GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return !strings.HasPrefix(key, v1alpha1.Prefix) && releasingLabels[key] == nil
	})
	kept.SetLabels(labels)
	if why, ok := whole.GetAnnotations()[ReleaseAnnotation]; ok {
		kept.SetAnnotations(map[string]string{ReleaseAnnotation: why})
	}
	allocatable := object{}
	for name, number := range extendedResources(whole) {
		allocatable[name] = strconv.FormatInt(number, 10)
	}
	kept.Object["status"] = object{"allocatable": allocatable}
	return kept
}
