// Package examples tests that the manifests of examples/ are accepted by a real API server, and that the pods that they make
// find what they refer to: real controllers make the pods of Jobs and StatefulSets, the operator plans on synthetic nodes,
// writes the files and binds the pods, and the scripts of their containers run in a shell, with stand-ins for the engines that
// print how they were started.
package examples

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

var cluster *controlplane.ControlPlane

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplane.MainWith(m, controlplane.Options{ControllerManager: true, LeaveNodes: true}, &cluster)
}

// world is the cluster as one test uses it.
type world struct{ *operation.World }

func newWorld(t *testing.T, namespace string) *world {
	t.Helper()
	w := &world{operation.New(t, cluster, namespace)}
	w.Must(controlplane.Apply(t.Context(), cluster.Config(), "", w.read(filepath.Join("test", "integration", "examples", "testdata"))...))
	w.AwaitServiceAccount()
	return w
}

// read returns the objects of manifests, by their path in the repository.
func (w *world) read(path string) []*unstructured.Unstructured {
	w.Helper()
	root, err := repository.Root()
	w.Must(err)
	objects, err := controlplane.ReadManifests(filepath.Join(root, path))
	w.Must(err)
	return objects
}

// operate runs an operator with the product's planner and rights until the test ends, and waits until its webhook is called.
func (w *world) operate() {
	w.Helper()
	w.Install(admissionv1.Fail)
	w.RunOperator(operator.Options{VerifierImage: "example.com/node-agent:test", Webhook: w.Webhook()})
	w.AwaitWebhook()
}

// addNodes makes nodes of a shape whose devices Rankwright serves.
func (w *world) addNodes(shape string, count int, resource string) {
	w.Helper()
	nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: w.shape(shape), Nodes: count}}, Pattern: synthetic.Patterns()[0]})
	w.Must(err)
	for i := range nodes {
		w.addNode(&nodes[i], resource)
	}
}

func (w *world) shape(name string) *synthetic.Shape {
	w.Helper()
	shape, err := synthetic.Lookup(name)
	w.Must(err)
	return shape
}

func (w *world) addNode(n *fleet.Node, resource string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Status: operation.At(n.Address)}
	w.Cleanup(func() {
		for _, object := range []client.Object{&v1alpha1.AcceleratorInventory{}, &corev1.Node{}} {
			object.SetName(n.Name)
			w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(w.Context()), object)))
		}
	})
	operation.Serve(&n.Inventory.Status, resource)
	w.AddNode(node, &n.Inventory.Status)
}
