package nodeagent

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// specDiffers says whether the inventory is another one of its name or its spec changed: an administrator cordoned a
// device. The agent's own writes to the status do not change the generation.
func specDiffers(before, after any) bool {
	a, okA := before.(metav1.Object)
	b, okB := after.(metav1.Object)
	return okA && okB && (a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration())
}

// watchInventory calls changed whenever the node's inventory is created or deleted or its spec changes, until the context
// ends. An API server that is away is asked again and again.
//
// The Node itself is not watched: that would take the right to list all Nodes. When a Node is deleted, its inventory is
// collected with it, which is seen here; the agent then tries until there is a Node to publish for.
func watchInventory(ctx context.Context, c dynamic.Interface, node string, changed func()) error {
	informer := cache.NewSharedIndexInformerWithOptions(listWatch(c, inventories, node), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: "AcceleratorInventory " + node})
	if err := informer.SetTransform(identityOnly); err != nil {
		return err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		DeleteFunc: func(any) { changed() },
		UpdateFunc: func(before, after any) {
			if specDiffers(before, after) {
				changed()
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

// identityOnly leaves of an object what tells it and its generations apart, so that it need not be held twice.
func identityOnly(item any) (any, error) {
	whole, isObject := item.(*unstructured.Unstructured)
	if !isObject {
		return item, nil
	}
	kept := &unstructured.Unstructured{Object: object{"apiVersion": whole.GetAPIVersion(), "kind": whole.GetKind()}}
	kept.SetName(whole.GetName())
	kept.SetUID(whole.GetUID())
	kept.SetGeneration(whole.GetGeneration())
	kept.SetResourceVersion(whole.GetResourceVersion())
	return kept, nil
}
