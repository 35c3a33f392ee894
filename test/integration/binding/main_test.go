// Package binding tests webhook and controller of binding against a real API server, with the real controllers of Jobs and
// StatefulSets and the real scheduler. The operator has the rights of config/rbac and no others.
package binding

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/binding"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	operatorNamespace = "rankwright-operator"
	patience          = time.Minute
	gpu               = "rankwright.dev/nvidia-gpu"
	verifierImage     = "example.com/node-agent:test"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{Scheduler: true, ControllerManager: true, LeaveNodes: true}, &cluster)
}

// world is the cluster as one test uses it, in a namespace of its own.
type world struct {
	*testing.T
	client.WithWatch
	namespace string
	port      int
	// wrap stands before the operator's writes.
	wrap func(client.WithWatch) client.WithWatch
}

func newWorld(t *testing.T, namespace string) *world {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, WithWatch: c, namespace: namespace, port: freePort(t)}
	for _, name := range []string{operatorNamespace, "rankwright-node-agent", namespace} {
		w.must(client.IgnoreAlreadyExists(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	w.install("Fail")
	t.Cleanup(w.clear)
	w.eventually("the namespace has its service account", func(ctx context.Context) bool {
		return w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return w
}

// install applies the operator's rights and its webhook, which is called on the loopback here and not by its Service.
func (w *world) install(failurePolicy string) {
	w.Helper()
	root, err := repository.Root()
	w.must(err)
	objects, err := controlplane.ReadManifests(filepath.Join(root, "config", "rbac", "operator.yaml"), filepath.Join(root, "config", "webhook"))
	w.must(err)
	for _, object := range objects {
		if object.GetKind() != "MutatingWebhookConfiguration" {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		w.must(err)
		hook, isMap := hooks[0].(map[string]any)
		if !isMap {
			w.Fatal("webhooks is no list of objects")
		}
		hook["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", w.port, binding.Path)}
		hook["failurePolicy"] = failurePolicy
		w.must(unstructured.SetNestedSlice(object.Object, hooks, "webhooks"))
	}
	w.must(controlplane.Apply(w.Context(), cluster.Config(), "", objects...))
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address, isTCP := listener.Addr().(*net.TCPAddr)
	if !isTCP {
		t.Fatal(listener.Addr())
	}
	return address.Port
}

// operate runs an operator until the test ends or it is stopped, and waits until its webhook is called.
func (w *world) operate(now func() time.Time) (stop func()) {
	w.Helper()
	config, err := cluster.ConfigForUser("system:serviceaccount:"+operatorNamespace+":rankwright-operator", "system:serviceaccounts")
	w.must(err)
	options := operator.Options{
		Namespace: operatorNamespace, AgentNamespace: "rankwright-node-agent", HealthAddress: "0", MetricsAddress: "0",
		Planner: firstFit, Registry: prometheus.NewRegistry(), VerifierImage: verifierImage, Wrap: w.wrap,
		Webhook: &operator.Webhook{Address: "127.0.0.1", Port: w.port, Hosts: []string{"127.0.0.1"}, Now: now, Period: 200 * time.Millisecond},
	}
	if testing.Verbose() {
		options.Log = testr.New(w.T)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	mgr, err := operator.New(ctx, config, options)
	w.must(err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with: %v", err)
		}
	}
	w.Cleanup(stop)
	if now == nil {
		w.awaitWebhook()
	}
	return stop
}

// awaitWebhook waits until the API server reaches the webhook, which then speaks of a placement that is not there.
func (w *world) awaitWebhook() {
	w.Helper()
	w.eventually("the webhook answers", func(context.Context) bool { return w.reaches() })
}

func (w *world) reaches() bool {
	probe := w.pod("probe", map[string]string{v1alpha1.LabelPlacement: "nobody"})
	err := w.Create(w.Context(), probe, client.DryRunAll)
	return err != nil && apierrors.IsForbidden(err)
}

// clear deletes what the test made.
func (w *world) clear() {
	ctx := context.WithoutCancel(w.Context())
	if w.Failed() {
		w.explain(ctx)
	}
	zero := client.GracePeriodSeconds(0)
	_ = w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}, &corev1.Pod{}} {
		_ = w.DeleteAllOf(ctx, kind, client.InNamespace(w.namespace), zero)
	}
	for _, kind := range []client.Object{&v1alpha1.AcceleratorInventory{}, &corev1.Node{}} {
		_ = w.DeleteAllOf(ctx, kind)
	}
	w.clearPods(ctx)
}

// clearPods removes the pods for good: those of a Job stay until its controller has counted them, and hold the devices of
// nodes that the next test has by the same names.
func (w *world) clearPods(ctx context.Context) {
	const poll = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(w.namespace)); err != nil {
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
		w.Errorf("pods of %s are left: %v", w.namespace, err)
	}
}

// explain tells of all placements, plans and pods, those of other tests too.
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

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func(context.Context) bool) {
	w.Helper()
	const poll = 50 * time.Millisecond
	err := wait.PollUntilContextTimeout(w.Context(), poll, patience, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		w.Fatalf("it did not come true that %s: %v", what, err)
	}
}

// awaitEvent waits for an event about a pod.
func (w *world) awaitEvent(pod, reason string) {
	w.Helper()
	w.eventually("pod "+pod+" has an event "+reason, func(ctx context.Context) bool {
		var all eventsv1.EventList
		w.must(w.List(ctx, &all, client.InNamespace(w.namespace)))
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
	w.eventually(fmt.Sprintf("%s %s has a warning %q", kind, name, text), func(ctx context.Context) bool {
		var all eventsv1.EventList
		w.must(w.List(ctx, &all, client.InNamespace(w.namespace)))
		return slices.ContainsFunc(all.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Kind == kind && e.Regarding.Name == name && e.Type == corev1.EventTypeWarning && strings.Contains(e.Note, text)
		})
	})
}

// addNode makes a node that may be scheduled to, with an inventory of so many devices that are served.
func (w *world) addNode(name string, devices int) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.Create(w.Context(), node))
	room := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("99"), gpu: *resource.NewQuantity(int64(devices), resource.DecimalSI)}
	changed := node.DeepCopy()
	changed.Status.Capacity, changed.Status.Allocatable = room, room
	changed.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	w.must(w.Status().Patch(w.Context(), changed, client.MergeFrom(node)))
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.Create(w.Context(), inventory))
	for i := range devices {
		inventory.Status.Devices = append(inventory.Status.Devices, v1alpha1.Device{
			ID: deviceID(i), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "Test GPU",
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 81920}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
			Service: &v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: gpu},
		})
	}
	inventory.Status.AgentVersion = "test"
	w.must(w.Status().Update(w.Context(), inventory))
}

func deviceID(i int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", i))
}
