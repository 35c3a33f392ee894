package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// missing are the names still waited for; the wait's messages read it while its watch writes it.
type missing struct {
	mutex sync.Mutex
	names []string
}

func (m *missing) remove(name string) (done bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == name })
	return len(m.names) == 0
}

func (m *missing) String() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return strings.Join(m.names, ", ")
}

// await watches a resource until the condition has held for every name.
func (d *demo) await(ctx context.Context, of schema.GroupVersionResource, names []string, holds func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	left := &missing{names: slices.Clone(names)}
	defer d.progress.waiting(func() string { return of.Resource + " " + left.String() })()
	_, err := watchtools.UntilWithSync(ctx, listWatch(d.dynamic.Resource(of)), &unstructured.Unstructured{}, nil,
		func(event watch.Event) (bool, error) {
			object, ok := event.Object.(*unstructured.Unstructured)
			return ok && event.Type != watch.Deleted && holds(object) && left.remove(object.GetName()), nil
		})
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: not as expected after %v", of.Resource, left, waitLimit)
	}
	return err
}

func listWatch(resource dynamic.ResourceInterface) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options)
		},
	}
}

// condition returns the status of a condition of the object's, and "" where it has none.
func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}
