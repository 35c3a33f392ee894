// Package peers measures what others do that decide where workloads run, beside the operator: Kueue admits workloads with its topology-aware
// scheduling, and kube-scheduler binds pods, as many as the operator brings placements into force, on the same nodes and API server, one after another.
package peers

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/scale"
)

// Options say how much is placed.
type Options struct {
	// Nodes have eight devices each.
	Nodes int
	// Count is how many placements, workloads and pods there are, each of 1, 2 or 4 devices in turn.
	Count int
	// Log takes a line for each step.
	Log io.Writer
	// Patience is how long one of them may take.
	Patience time.Duration
}

// devices are what the first three of each ask for.
var devices = []int64{1, 2, 4}

// resourceName is what pods ask for. All nodes of the cluster have eight of it.
const resourceName corev1.ResourceName = "nvidia.com/gpu"

// field is the cluster that they have in common.
type field struct {
	*scale.Cluster
	Options
	plane    *controlplane.ControlPlane
	watching client.WithWatch
}

// contestant places a number of things and returns when each was placed, in order.
type contestant struct {
	name string
	run  func(*field, context.Context) ([]time.Time, error)
}

var contestants = []contestant{
	{"Rankwright: placements with plan and mesh", (*field).operator},
	{"Kueue v0.17.0, topology-aware: workloads admitted", (*field).kueue},
	{"kube-scheduler: pods bound", (*field).scheduler},
}

// Measure measures all of them, one after the other, and prints their rates.
func Measure(ctx context.Context, plane *controlplane.ControlPlane, o Options, out io.Writer) error {
	cluster, err := scale.New(plane.Config(), o.Nodes, o.Log)
	if err != nil {
		return err
	}
	f := &field{Cluster: cluster, Options: o, plane: plane}
	if f.watching, err = client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Client.Scheme()}); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := cluster.Install(ctx); err != nil {
		return err
	}
	if err := cluster.Build(ctx, 0); err != nil {
		return err
	}
	if err := f.untaint(ctx); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "%d OF EACH, %d NODES\tA SECOND\tSECONDS\tBESIDE RANKWRIGHT\n", o.Count, o.Nodes)
	var first float64
	for _, c := range contestants {
		_, _ = fmt.Fprintln(o.Log, c.name)
		took, err := f.time(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rate := float64(o.Count) / took.Seconds()
		if first == 0 {
			first = rate
		}
		_, _ = fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.2f\n", c.name, rate, took.Seconds(), rate/first)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// untaint takes the taint off nodes that the API server gives to new ones until a controller sees that they are ready, which none does here.
func (f *field) untaint(ctx context.Context) error {
	const writers = 32
	return f.Parallel(ctx, "nodes without taint", writers, len(f.Cluster.Nodes), func(ctx context.Context, i int) error {
		var node corev1.Node
		if err := f.Client.Get(ctx, client.ObjectKey{Name: f.Cluster.Nodes[i].Name}, &node); err != nil {
			return fmt.Errorf("node: %w", err)
		}
		before := client.MergeFrom(node.DeepCopy())
		node.Spec.Taints = nil
		if err := f.Client.Patch(ctx, &node, before); err != nil {
			return fmt.Errorf("node: %w", err)
		}
		return nil
	})
}

// time is how long it took from the first request until the last was placed.
func (f *field) time(ctx context.Context, c contestant) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Patience)
	defer cancel()
	moments, err := c.run(f, ctx)
	if err != nil {
		return 0, err
	}
	begun, last := moments[0], moments[len(moments)-1]
	return last.Sub(begun), nil
}

// all makes an object and, when that is done, as many as there are to be at once, and follows their kind until each of them is done: who has
// just started is not measured. It returns when it began with those, and when each was done.
func (f *field) all(ctx context.Context, list client.ObjectList, object func(int) client.Object, done func(client.Object) bool) ([]time.Time, error) {
	if _, err := f.several(ctx, 1, list, func(int) client.Object { return object(f.Count) }, done); err != nil {
		return nil, err
	}
	return f.several(ctx, f.Count, list, object, done)
}

func (f *field) several(
	ctx context.Context, count int, list client.ObjectList, object func(int) client.Object, done func(client.Object) bool,
) ([]time.Time, error) {
	changes, err := f.watching.Watch(ctx, list, client.InNamespace(scale.Home))
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	defer func() { changes.Stop() }()
	begun := time.Now()
	made := channelOf(func() error {
		const writers = 32
		return f.Parallel(ctx, "made", writers, count, func(ctx context.Context, i int) error { return f.Client.Create(ctx, object(i)) })
	})
	moments, seen := []time.Time{begun}, map[string]bool{}
	for i := range count {
		seen[object(i).GetName()] = false
	}
	for len(moments) <= count {
		select {
		case event, open := <-changes.ResultChan():
			if !open { // one that begins anew begins with all that there is
				if changes, err = f.watching.Watch(ctx, list, client.InNamespace(scale.Home)); err != nil {
					return nil, fmt.Errorf("watch: %w", err)
				}
				continue
			}
			now, is := event.Object.(client.Object)
			if !is || event.Type == watch.Deleted {
				continue
			}
			if was, ours := seen[now.GetName()]; ours && !was && done(now) {
				seen[now.GetName()] = true
				moments = append(moments, time.Now())
			}
		case err := <-made:
			if err != nil {
				return nil, err
			}
			made = nil
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d done: %w", len(moments)-1, count, ctx.Err())
		}
	}
	return moments, nil
}

func channelOf(do func() error) chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	return ended
}

// pod asks for as many devices as the placement of its number.
func pod(number int) *corev1.Pod {
	n := *resource.NewQuantity(devices[number%len(devices)], resource.DecimalSI)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: scale.Home, Name: fmt.Sprintf("pod%05d", number)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{resourceName: n}, Limits: corev1.ResourceList{resourceName: n},
			},
		}}},
	}
}

// delete deletes all objects of a kind.
func (f *field) delete(ctx context.Context, kinds ...client.Object) error {
	for _, kind := range slices.Backward(kinds) {
		if err := f.Client.DeleteAllOf(ctx, kind, client.InNamespace(scale.Home), client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return nil
}
