// Package binding tests webhook and controller of binding against a real API server, with the real controllers of Jobs and
// StatefulSets and the real scheduler. The operator has the rights of config/rbac and no others.
package binding

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

const (
	gpu           = "rankwright.dev/nvidia-gpu"
	verifierImage = "example.com/node-agent:test"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{Scheduler: true, ControllerManager: true, LeaveNodes: true}, &cluster)
}

// world is the cluster as one test uses it.
type world struct {
	*operation.World
	// wrap stands before the operator's writes.
	wrap func(client.WithWatch) client.WithWatch
	// planner is the operator's; nil stands for operation.FirstFit.
	planner placement.Planner
	// registry has the metrics of the operator that was started last.
	registry *prometheus.Registry
}

func newWorld(t *testing.T, namespace string) *world {
	t.Helper()
	w := &world{World: operation.New(t, cluster, namespace)}
	w.Install(admissionv1.Fail)
	t.Cleanup(w.clear)
	w.AwaitServiceAccount()
	return w
}

// operate runs an operator until the test ends or it is stopped, and waits until its webhook is called where it has the machine's
// clock.
func (w *world) operate(now func() time.Time) (stop func()) {
	w.Helper()
	webhook := w.Webhook()
	webhook.Now = now
	if w.planner == nil {
		w.planner = operation.FirstFit
	}
	w.registry = prometheus.NewRegistry()
	stop = w.RunOperator(operator.Options{Planner: w.planner, VerifierImage: verifierImage, Wrap: w.wrap, Webhook: webhook, Registry: w.registry})
	if now == nil {
		w.AwaitWebhook()
	}
	return stop
}

// clear deletes what the test made.
func (w *world) clear() {
	ctx := context.WithoutCancel(w.Context())
	if w.Failed() {
		w.explain(ctx)
	}
	w.Clear()
	for _, kind := range []client.Object{&v1alpha1.AcceleratorInventory{}, &corev1.Node{}} {
		_ = w.DeleteAllOf(ctx, kind)
	}
	w.clearPods(ctx)
}

// clearPods removes the pods for good: a Job's pods stay until its controller has counted them, and would hold devices of nodes
// whose names the next test uses again.
func (w *world) clearPods(ctx context.Context) {
	const poll = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, poll, operation.Patience, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(w.Home)); err != nil {
			return false, err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			_ = w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))) // it may be gone by now
			_ = w.Delete(ctx, pod, client.GracePeriodSeconds(0))
		}
		return len(pods.Items) == 0, nil
	})
	if err != nil {
		w.Errorf("pods of %s are left: %v", w.Home, err)
	}
}

// explain tells of all placements, plans and pods, including what other tests made.
func (w *world) explain(ctx context.Context) {
	var placements v1alpha1.ModelPlacementList
	var plans v1alpha1.ShardingPlanList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&placements, &plans, &pods} {
		if err := w.List(ctx, list); err != nil {
			w.Log(err)
		}
	}
	for _, p := range placements.Items {
		w.Logf("placement %s/%s, deleted %v: %+v", p.Namespace, p.Name, p.DeletionTimestamp, p.Status)
	}
	for _, p := range plans.Items {
		w.Logf("plan %s/%s, deleted %v: %+v", p.Namespace, p.Name, p.DeletionTimestamp, p.Status)
	}
	for _, p := range pods.Items {
		w.Logf("pod %s/%s on %q, deleted %v: %+v", p.Namespace, p.Name, p.Spec.NodeName, p.DeletionTimestamp, p.Status.Conditions)
	}
}

// awaitEvent waits for an event about a pod.
func (w *world) awaitEvent(pod, reason string) {
	w.Helper()
	w.Eventually("pod "+pod+" has an event "+reason, func(ctx context.Context) bool {
		var all eventsv1.EventList
		w.Must(w.List(ctx, &all, client.InNamespace(w.Home)))
		for _, e := range all.Items {
			if e.Regarding.Name == pod && e.Reason == reason {
				return true
			}
		}
		return false
	})
}

// awaitComplaint waits for a warning about an object that says something.
func (w *world) awaitComplaint(kind, name, text string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s %s has a warning %q", kind, name, text), func(ctx context.Context) bool {
		var all eventsv1.EventList
		w.Must(w.List(ctx, &all, client.InNamespace(w.Home)))
		return slices.ContainsFunc(all.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Kind == kind && e.Regarding.Name == name && e.Type == corev1.EventTypeWarning && strings.Contains(e.Note, text)
		})
	})
}

// addNode makes a node that may be scheduled to, with an inventory of so many devices that are served.
func (w *world) addNode(name string, devices int) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: operation.At("10.0.0.1")}
	room := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("99"), gpu: *resource.NewQuantity(int64(devices), resource.DecimalSI)}
	node.Status.Capacity, node.Status.Allocatable = room, room
	inventory := operation.GPUs(devices)
	operation.Serve(inventory, gpu)
	w.AddNode(node, inventory)
}
