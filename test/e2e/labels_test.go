//go:build linux

package e2e

import (
	"context"
	"maps"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// labelWatch is every state that our labels of a Node were in.
type labelWatch struct {
	mu     sync.Mutex
	states []map[string]string
	stop   context.CancelFunc
}

// watchLabels watches a Node's labels until stop: what is polled may flap unseen.
func (s *site) watchLabels(t *testing.T, node string) *labelWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &labelWatch{stop: cancel}
	informer := cache.NewSharedIndexInformer(named(s.objects.Resource(nodes), node), &unstructured.Unstructured{}, 0, cache.Indexers{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.saw,
		UpdateFunc: func(_, now any) { w.saw(now) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the Node cannot be watched")
	}
	return w
}

func (w *labelWatch) saw(object any) {
	node, isObject := object.(metav1.Object)
	if !isObject {
		return
	}
	labels := ours(node.GetLabels())
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.states) == 0 || !maps.Equal(w.states[len(w.states)-1], labels) {
		w.states = append(w.states, labels)
	}
}

// unchanged fails the test where the labels ever differed from the beginning.
func (w *labelWatch) unchanged(t *testing.T) {
	t.Helper()
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.states) != 1 || len(w.states[0]) == 0 {
		t.Errorf("labels of the Node were in %d states, not in one: %v", len(w.states), w.states)
	}
}
