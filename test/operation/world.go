// Package operation gives a test what it needs to run the operator against a real API server: a client whose failures end the
// test, conditions to wait for, nodes with devices, a planner that is easy to foresee, and the operator with its webhook.
package operation

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	// Namespace is the namespace of the operator.
	Namespace = "rankwright-operator"
	// AgentNamespace has the node agents' Leases.
	AgentNamespace = "rankwright-node-agent"
)

const (
	// Patience is how long a condition may take to come true on a busy machine.
	Patience = time.Minute
	poll     = 50 * time.Millisecond
)

// World is a control plane as one test uses it.
type World struct {
	*testing.T
	client.WithWatch
	// Cluster is the control plane, which other tests use too.
	Cluster *controlplane.ControlPlane
	// Home is the namespace of what the test makes.
	Home string
	// WebhookPort is where Webhook serves.
	WebhookPort int
	// Transport, if set, stands before every request with the operator's rights.
	Transport func(http.RoundTripper) http.RoundTripper
}

// New returns a control plane as a test uses it that has a namespace of its own, which it makes where it is missing.
func New(t *testing.T, cluster *controlplane.ControlPlane, home string) *World {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, WithWatch: c, Cluster: cluster, Home: home, WebhookPort: ports[0]}
	for _, name := range []string{Namespace, AgentNamespace, home} {
		w.Must(client.IgnoreAlreadyExists(w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	return w
}

// Must ends the test where there is an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Change reads an object, edits it and has what was edited merged into it, its status included: what controllers write to the object
// meanwhile stays.
func (w *World) Change(object client.Object, edit func()) {
	w.Helper()
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	before, isObject := object.DeepCopyObject().(client.Object)
	if !isObject {
		w.Fatalf("a copy of %T is a %T", object, before)
	}
	edit()
	status, isObject := object.DeepCopyObject().(client.Object)
	if !isObject {
		w.Fatalf("a copy of %T is a %T", object, status)
	}
	text, err := client.MergeFrom(before).Data(object)
	w.Must(err)
	changed := map[string]any{}
	w.Must(json.Unmarshal(text, &changed))
	w.Must(w.Patch(w.Context(), object, client.MergeFrom(before)))
	if _, has := changed["status"]; has {
		w.Must(w.Status().Patch(w.Context(), status, client.MergeFrom(before)))
	}
}

// Eventually waits until something holds, and ends the test where it does not come true.
func (w *World) Eventually(what string, holds func(context.Context) bool) {
	w.Helper()
	err := wait.PollUntilContextTimeout(w.Context(), poll, Patience, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		w.Fatalf("it did not come true that %s: %v", what, err)
	}
}

// AwaitServiceAccount waits for the service account of the test's namespace, without which the controller manager's controllers
// make no pods there.
func (w *World) AwaitServiceAccount() {
	w.Helper()
	w.Eventually("the namespace has its service account", func(ctx context.Context) bool {
		return w.Get(ctx, client.ObjectKey{Namespace: w.Home, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
}

// Clear deletes what the test made in its namespace, and the namespace, with which the controllers of Jobs and StatefulSets end.
func (w *World) Clear() {
	ctx, now := context.WithoutCancel(w.Context()), client.GracePeriodSeconds(0)
	_ = w.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Home}})
	for _, kind := range []client.Object{&v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{}, &corev1.Pod{}} {
		_ = w.DeleteAllOf(ctx, kind, client.InNamespace(w.Home), now)
	}
}
