package nodeagent

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
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
)

// watch calls changed, until the context ends, when the object of a kind that is named as the node is created or deleted, or when
// what keep leaves of it changes: the rest is not held. An API server that is away is asked again and again.
//
// RBAC knows no right to watch an object of one name alone, so the agent may read all Nodes. It may get any of them anyway,
// and inventories, which are named as their Nodes, tell more of a host. What it is for: a Node that is deleted and created
// anew has its labels and its inventory within seconds, not at the next period.
func (a *Agent) watch(ctx context.Context, kind schema.GroupVersionResource, keep func(*unstructured.Unstructured) *unstructured.Unstructured,
	changed func(after *unstructured.Unstructured),
) error {
	name := a.options.NodeName
	informer := cache.NewSharedIndexInformerWithOptions(listWatch(a.client, kind, name), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: kind.Resource + " " + name})
	err := informer.SetTransform(func(item any) (any, error) {
		if whole, isObject := item.(*unstructured.Unstructured); isObject {
			return keep(whole), nil
		}
		return item, nil
	})
	if err != nil {
		return err
	}
	if err := informer.SetWatchErrorHandlerWithContext(watchFailed(a.log, kind)); err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if after, ok := added.(*unstructured.Unstructured); ok {
				changed(after)
			}
		},
		DeleteFunc: func(any) { changed(&unstructured.Unstructured{}) },
		UpdateFunc: func(before, after any) {
			was, okBefore := before.(*unstructured.Unstructured)
			is, okAfter := after.(*unstructured.Unstructured)
			if okBefore && okAfter && differ(was, is) {
				changed(is)
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

// watchFailed logs a missing right once and leaves other failures to the client library.
func watchFailed(log *slog.Logger, kind schema.GroupVersionResource) cache.WatchErrorHandlerWithContext {
	var once sync.Once
	return func(ctx context.Context, r *cache.Reflector, err error) {
		if !apierrors.IsForbidden(err) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			return
		}
		once.Do(func() {
			log.Warn("changes are seen with the rescan interval only: grant the verbs list and watch",
				"resource", kind.Resource, "error", err)
		})
	}
}

// differ says whether two objects, as kept, say something else, their resource versions apart.
func differ(before, after *unstructured.Unstructured) bool {
	after = after.DeepCopy()
	after.SetResourceVersion(before.GetResourceVersion())
	return !equality.Semantic.DeepEqual(before.Object, after.Object)
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

// observedOfInventory leaves of an inventory which it is, the generation of its spec, which is another one when an administrator
// cordons a device, and the operator's slots and repairs. The agent's own writes to the status do not change it.
func observedOfInventory(whole *unstructured.Unstructured) *unstructured.Unstructured {
	kept := identityOnly(whole)
	for _, part := range []string{"slots", "repairs"} {
		if rows, has, _ := unstructured.NestedSlice(whole.Object, "status", part); has {
			// What is set is a list below a map, so that there is nothing to refuse.
			_ = unstructured.SetNestedSlice(kept.Object, rows, "status", part)
		}
	}
	return kept
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

// observedOfNode leaves of a Node which it is, the labels of ours, the extended resources, and what has the driver let go of.
func observedOfNode(whole *unstructured.Unstructured) *unstructured.Unstructured {
	kept := identityOnly(whole)
	kept.SetGeneration(0)
	labels := whole.GetLabels()
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return !strings.HasPrefix(key, v1alpha1.Prefix) && releasingLabels[key] == nil
	})
	kept.SetLabels(labels)
	if why, ok := whole.GetAnnotations()[ReleaseAnnotation]; ok {
		kept.SetAnnotations(map[string]string{ReleaseAnnotation: why})
	}
	allocatable, _, _ := unstructured.NestedStringMap(whole.Object, "status", "allocatable")
	extended := object{}
	for name, number := range extendedResources(allocatable) {
		extended[name] = number
	}
	kept.Object["status"] = object{"allocatable": extended}
	return kept
}
