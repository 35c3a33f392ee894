//go:build linux

package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

const mergePatch = types.MergePatchType

// podWatch is what became of the pods of a placement.
type podWatch struct {
	mu sync.Mutex
	// gated are the pods that had the gate when they were created; nodes is where they were scheduled.
	gated map[types.UID]bool
	nodes map[types.UID]string
	// early are the pods that were scheduled with the gate.
	early map[types.UID]bool
	runs  map[types.UID]bool
	// created, bound and started are when the last pod was first seen so.
	created, bound, started time.Time
}

// watchPods watches the pods of a placement until the end of the test: what is polled may have lost its gate already.
func (s *site) watchPods(t *testing.T, placement string) *podWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &podWatch{gated: map[types.UID]bool{}, nodes: map[types.UID]string{}, early: map[types.UID]bool{}, runs: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(s.clients, 0, informers.WithNamespace(metav1.NamespaceDefault),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelPlacement + "=" + placement }))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { w.saw(pod, true) },
		UpdateFunc: func(_, pod any) { w.saw(pod, false) },
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("pods cannot be watched")
	}
	return w
}

func (w *podWatch) saw(object any, created bool) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if created {
		w.gated[pod.UID] = binding.Gated(pod) && pod.Spec.NodeName == ""
		w.created = time.Now()
	}
	if _, known := w.nodes[pod.UID]; !known && pod.Spec.NodeName != "" {
		w.bound = time.Now()
	}
	if in(pod, corev1.PodRunning) && !w.runs[pod.UID] {
		w.runs[pod.UID], w.started = true, time.Now()
	}
	if pod.Spec.NodeName != "" {
		w.nodes[pod.UID] = pod.Spec.NodeName
		w.early[pod.UID] = w.early[pod.UID] || binding.Gated(pod)
	}
}

// since says how long after a time the last pod was created, scheduled and seen running.
func (w *podWatch) since(began time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("created after %.1f s, scheduled after %.1f s, running after %.1f s",
		w.created.Sub(began).Seconds(), w.bound.Sub(began).Seconds(), w.started.Sub(began).Seconds())
}

// boundTo fails the test where a pod was created without the gate, or went to another node than the planned one.
func (w *podWatch) boundTo(t *testing.T, pod *corev1.Pod, node string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gated[pod.UID] || w.early[pod.UID] {
		t.Errorf("pod %s: created with the gate %t, scheduled with it %t", pod.Name, w.gated[pod.UID], w.early[pod.UID])
	}
	if w.nodes[pod.UID] != node {
		t.Errorf("pod %s went to %s, and its plan says %s", pod.Name, w.nodes[pod.UID], node)
	}
}

// withdraw deletes objects with what they own, and waits until no pod of them is left.
func (s *site) withdraw(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.clients.Discovery()))
	policy := metav1.DeletePropagationForeground
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Error(err)
			continue
		}
		of := s.objects.Resource(mapping.Resource).Namespace(metav1.NamespaceDefault)
		if err := of.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	list, err := s.clients.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPlacement})
	if err != nil {
		t.Error(err)
		return
	}
	for i := range list.Items {
		s.remove(t, metav1.NamespaceDefault, list.Items[i].Name)
	}
}
