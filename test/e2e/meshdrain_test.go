//go:build linux

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// readyWatch is how many pods of a placement are ready.
type readyWatch struct {
	mu    sync.Mutex
	ready map[types.UID]bool
	least int
}

// watchReady watches how many pods of a placement are ready, until the end of the test.
func (s *site) watchReady(t *testing.T, placement string) *readyWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &readyWatch{ready: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(s.clients, 0, informers.WithNamespace(metav1.NamespaceDefault),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelPlacement + "=" + placement }))
	informer := factory.Core().V1().Pods().Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.saw,
		UpdateFunc: func(_, pod any) { w.saw(pod) },
	})
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		t.Fatal("pods cannot be watched")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.least = w.count()
	return w
}

func (w *readyWatch) saw(object any) {
	pod, is := object.(*corev1.Pod)
	if !is {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready[pod.UID] = pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	w.least = min(w.least, w.count())
}

func (w *readyWatch) count() int {
	count := 0
	for _, ready := range w.ready {
		if ready {
			count++
		}
	}
	return count
}

// kubectl drain of a node with two of four copies waits while they move to spare devices, one by one, and ends; the pods of the other nodes
// are untouched.
func TestDrainMovesCopiesOneByOne(t *testing.T) {
	const copies = 4
	s := on(t)
	s.spread(t)
	// Four of the six devices that there are, with a budget that holds drains.
	s.applyText(t, oneDeviceEach+probing, "NAME", "drained", "COPIES", "4", "FIELDS", "failurePolicy: {drain: {timeoutSeconds: 600}}", "COMMAND", "hold")
	s.awaitPlan(t, "drained", "drained-1")
	before := s.awaitCopies(t, copies, nil)
	on := map[string]int{}
	for _, pod := range before {
		on[pod.Spec.NodeName]++
	}
	node := before[0].Spec.NodeName
	if on[node] != perNode {
		t.Fatalf("%s has %d copies, want %d: %v", node, on[node], perNode, on)
	}
	watched := s.watchReady(t, "drained")
	t.Cleanup(func() {
		patch := []byte(`{"spec":{"unschedulable":false}}`)
		if _, err := s.clients.CoreV1().Nodes().Patch(context.Background(), node, mergePatch, patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		if t.Failed() {
			t.Log(s.ControlPlane.Kubectl(t, "describe", "modelplacement", "drained"))
		}
	}()
	began := time.Now()
	said := s.ControlPlane.Kubectl(t, "drain", node, "--pod-selector="+v1alpha1.LabelPlacement+"=drained", "--timeout=120s")
	step("a drain of a node with %d of %d copies was held and ended after %.1f s", on[node], copies, time.Since(began).Seconds())
	if !strings.Contains(said, "violate the pod's disruption budget") {
		t.Errorf("the drain did not wait:\n%s", said)
	}
	moved := map[types.UID]bool{}
	for _, pod := range before {
		if pod.Spec.NodeName == node {
			moved[pod.UID] = true
		}
	}
	for index, pod := range s.awaitCopies(t, copies, moved) {
		if !moved[before[index].UID] && pod.UID != before[index].UID {
			t.Errorf("pod %s of another node was made anew", pod.Name)
		}
		if pod.Spec.NodeName == node {
			t.Errorf("pod %s is on the drained node", pod.Name)
		}
	}
	watched.mu.Lock()
	defer watched.mu.Unlock()
	if watched.least < copies-1 {
		t.Errorf("%d of %d copies were ready at one time, want %d at every time", watched.least, copies, copies-1)
	}
}

// awaitCopies waits until the pods of placement drained are all ready, and none of them is an old one.
func (s *site) awaitCopies(t *testing.T, copies int, old map[types.UID]bool) []*corev1.Pod {
	t.Helper()
	pods := make([]*corev1.Pod, copies)
	for index := range pods {
		pods[index] = s.mustBe(t, podNamed(fmt.Sprint("drained-", index)), func(pod *corev1.Pod) (bool, error) {
			if pod == nil || old[pod.UID] || !pod.DeletionTimestamp.IsZero() {
				return false, nil
			}
			return running(pod)
		})
	}
	return pods
}
