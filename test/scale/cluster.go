package scale

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// Namespaces of a run.
const (
	home           = "scale"
	operatorHome   = "rankwright-operator"
	agentNamespace = "rankwright-node-agent"
)

// shapes are those of eight devices, which have equal shares of the nodes.
var shapes = []string{"h100x8", "h200x8", "mi300x8", "b200x8", "a100-80x8"}

// writers is how many requests are under way at once where a cluster is built.
const writers = 32

// build makes namespaces, nodes with inventories and Leases of their agents, and pods.
func (r *run) build(ctx context.Context, _ *Report) error {
	for _, name := range []string{home, operatorHome, agentNamespace} {
		err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("namespace: %w", err)
		}
	}
	nodes, err := r.nodes()
	if err != nil {
		return err
	}
	each := make([]int, len(nodes))
	for i := range r.Pods {
		each[i%len(nodes)]++
	}
	return r.parallel(ctx, "nodes", writers, len(nodes), func(ctx context.Context, i int) error { return r.node(ctx, &nodes[i], each[i]) })
}

// nodes are synthetic nodes, in equal shares of all shapes.
func (r *run) nodes() ([]fleet.Node, error) {
	spec := synthetic.Spec{Pattern: synthetic.Islands}
	for i, name := range shapes {
		s, err := synthetic.Lookup(name)
		if err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
		if n := (r.Nodes + i) / len(shapes); n > 0 {
			spec.Nodes = append(spec.Nodes, synthetic.Count{Shape: s, Nodes: n})
		}
	}
	nodes, err := synthetic.Build(spec)
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return nodes, nil
}

// node makes a node with its inventory, the Lease of its agent, and pods that hold its last devices.
func (r *run) node(ctx context.Context, of *fleet.Node, pods int) error {
	var held []v1alpha1.Allocation
	for i := range pods {
		pod, err := r.pod(ctx, of.Name, i)
		if err != nil {
			return err
		}
		devices := of.Inventory.Status.Devices
		held = append(held, v1alpha1.Allocation{Device: devices[len(devices)-1-i].ID, Namespace: pod.Namespace, Pod: pod.Name, Container: "main"})
	}
	if err := MakeNode(ctx, r.client, of, held); err != nil {
		return err
	}
	return Beat(ctx, r.client, of.Name, r.clock())
}

// pod makes a running pod on a node.
func (r *run) pod(ctx context.Context, node string, number int) (*corev1.Pod, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: fmt.Sprintf("%s-%d", node, number)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
	if err := r.client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("pod: %w", err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	if err := r.client.Status().Update(ctx, pod); err != nil {
		return nil, fmt.Errorf("pod status: %w", err)
	}
	return pod, nil
}

// parallel does something so many times, a number of them at once, and says how far it is every few seconds.
func (r *run) parallel(ctx context.Context, what string, atOnce, count int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	last := r.clock()
	for i := range count {
		if now := r.clock(); now.Sub(last) > 5*time.Second {
			r.logf("  %d of %d %s", i, count, what)
			last = now
		}
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
