// Package examples tests that the manifests of examples/ are accepted by a real API server, and that the pods that they make
// find what they refer to: real controllers make the pods of Jobs and StatefulSets, the operator plans on synthetic nodes,
// writes the files and binds the pods, and the scripts of their containers run in a shell, with stand-ins for the engines that
// print how they were started.
package examples

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/binding"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	operatorNamespace = "rankwright-operator"
	agentNamespace    = "rankwright-node-agent"
	patience          = time.Minute
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{ControllerManager: true, LeaveNodes: true}, &cluster)
}

// world is the cluster as one test uses it, in a namespace of its own.
type world struct {
	*testing.T
	client.WithWatch
	namespace string
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
	w := &world{T: t, WithWatch: c, namespace: namespace}
	for _, name := range []string{operatorNamespace, agentNamespace, namespace} {
		w.must(client.IgnoreAlreadyExists(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	w.must(controlplane.Apply(t.Context(), cluster.Config(), "", w.read(filepath.Join("test", "integration", "examples", "testdata"))...))
	w.eventually("the namespace has its service account", func(ctx context.Context) bool {
		return w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return w
}

// read returns the objects of manifests, by their path in the repository.
func (w *world) read(path string) []*unstructured.Unstructured {
	w.Helper()
	root, err := repository.Root()
	w.must(err)
	objects, err := controlplane.ReadManifests(filepath.Join(root, path))
	w.must(err)
	return objects
}

// operate runs an operator with the product's planner and rights until the test ends, and waits until its webhook is called.
func (w *world) operate() {
	w.Helper()
	port := w.freePort()
	w.must(controlplane.Apply(w.Context(), cluster.Config(), "", w.read("config/rbac/operator.yaml")...))
	w.must(controlplane.Apply(w.Context(), cluster.Config(), "", w.calledAt(port, w.read("config/webhook"))...))
	config, err := cluster.ConfigForUser("system:serviceaccount:"+operatorNamespace+":rankwright-operator", "system:serviceaccounts")
	w.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	mgr, err := operator.New(ctx, config, operator.Options{
		Namespace: operatorNamespace, AgentNamespace: agentNamespace, HealthAddress: "0", MetricsAddress: "0", Registry: prometheus.NewRegistry(),
		VerifierImage: "example.com/node-agent:test",
		Webhook:       &operator.Webhook{Address: "127.0.0.1", Port: port, Hosts: []string{"127.0.0.1"}, Period: 200 * time.Millisecond},
	})
	w.must(err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with: %v", err)
		}
	})
	stray := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stray", Labels: map[string]string{v1alpha1.LabelPlacement: "nobody"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "model", Image: "model"}}},
	}
	w.eventually("the webhook answers", func(ctx context.Context) bool {
		return apierrors.IsForbidden(w.Create(ctx, stray.DeepCopy(), client.DryRunAll))
	})
}

// calledAt lets the API server call the webhook on the loopback, and not by its Service.
func (w *world) calledAt(port int, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	w.Helper()
	for _, object := range objects {
		hooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
		w.must(err)
		if !found {
			continue
		}
		hook, isMap := hooks[0].(map[string]any)
		if !isMap {
			w.Fatal("webhooks is no list of objects")
		}
		hook["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, binding.Path)}
		w.must(unstructured.SetNestedSlice(object.Object, hooks, "webhooks"))
	}
	return objects
}

func (w *world) freePort() int {
	w.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	w.must(err)
	defer func() { _ = listener.Close() }()
	address, isTCP := listener.Addr().(*net.TCPAddr)
	if !isTCP {
		w.Fatal(listener.Addr())
	}
	return address.Port
}

// addNodes makes nodes of a shape whose devices Rankwright serves.
func (w *world) addNodes(shape string, count int, resource string) {
	w.Helper()
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: w.shape(shape), Nodes: count}}, Pattern: synthetic.Patterns()[0]})
	w.must(err)
	for i := range nodes {
		w.addNode(&nodes[i], resource)
	}
}

func (w *world) shape(name string) *synthetic.Shape {
	w.Helper()
	shape, err := synthetic.Lookup(name)
	w.must(err)
	return shape
}

func (w *world) addNode(n *plan.Node, resource string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	w.Cleanup(func() {
		for _, object := range []client.Object{inventory, node} {
			w.must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), object)))
		}
	})
	w.must(w.Create(w.Context(), node))
	addressed := node.DeepCopy()
	addressed.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}}
	w.must(w.Status().Patch(w.Context(), addressed, client.MergeFrom(node)))
	w.must(w.Create(w.Context(), inventory))
	inventory.Status = n.Inventory.Status
	for i := range inventory.Status.Devices {
		inventory.Status.Devices[i].Service = &v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: resource}
	}
	w.must(w.Status().Update(w.Context(), inventory))
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

// clear deletes what the test made; the controllers of Jobs and StatefulSets end with their namespace.
func (w *world) clear() {
	ctx := context.WithoutCancel(w.Context())
	now := client.GracePeriodSeconds(0)
	_ = w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}, &corev1.Pod{}} {
		_ = w.DeleteAllOf(ctx, kind, client.InNamespace(w.namespace), now)
	}
}
