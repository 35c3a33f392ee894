package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/scale"
)

// world is all that is there: the control plane, two seats for operators, and the players.
type world struct {
	Options
	plane *controlplane.ControlPlane
	// client is an administrator's, straight at the API server.
	client  client.WithWatch
	random  *rand.Rand
	clock   func() time.Time
	seats   [2]*seat
	gateway *gateway
	watcher *watcher
	players *players
	load    *load
	// backup is a folder with what etcd had, empty before there was a backup.
	backup  string
	backups int
	// rested are the pods that ran when everything was at rest the last time, with what their placements asked for then.
	rested map[types.UID]resting
	tenant int
}

// resting is a pod at rest.
type resting struct {
	name       types.NamespacedName
	placement  string
	generation int64
}

// products are what placements of the load get, and what probes get, which the load leaves alone.
var products = []struct{ shape, product string }{{"h100x8", "NVIDIA H100 80GB HBM3"}, {"l40sx4", "NVIDIA L40S"}}

// newWorld starts everything and returns what ends it.
func newWorld(ctx context.Context, o Options) (w *world, stop func(), err error) {
	w = &world{Options: o, random: rand.New(rand.NewPCG(o.Seed, 0)), clock: time.Now, rested: map[types.UID]resting{}}
	var ends []func()
	end := func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	root, err := repository.Root()
	if err != nil {
		return nil, nil, err
	}
	if w.plane, err = controlplane.Start(ctx, controlplane.Options{Dir: filepath.Join(o.Dir, "plane"), Log: io.Discard}); err != nil {
		return nil, nil, err
	}
	ends = append(ends, w.plane.Stop)
	if err := w.plane.InstallCRDs(ctx, filepath.Join(root, "config", "crd")); err != nil {
		return nil, nil, err
	}
	if err := w.connect(); err != nil {
		return nil, nil, err
	}
	if w.gateway, err = newGateway(); err != nil {
		return nil, nil, err
	}
	ends = append(ends, w.gateway.close)
	if err := errors.Join(w.namespaces(ctx), w.install(ctx), w.nodes(ctx)); err != nil {
		return nil, nil, err
	}
	rights, err := w.plane.ConfigForUser("system:serviceaccount:"+operation.Namespace+":rankwright-operator", "system:serviceaccounts")
	if err != nil {
		return nil, nil, err
	}
	for i, name := range []string{"operator-a", "operator-b"} {
		if w.seats[i], err = newSeat(o.Dir, o.operator, name, rights, o.Seed+uint64(i)); err != nil {
			return nil, nil, err
		}
		ends = append(ends, w.seats[i].proxy.close, func() { _ = w.seats[i].stop() })
	}
	w.gateway.lead(w.seats[0].webhook, w.seats[1].webhook)
	w.watcher, w.players = newWatcher(w.client), newPlayers(w.client, o.Seed)
	w.load = &load{client: w.client, random: rand.New(rand.NewPCG(o.Seed, 1)), names: o.Placements, want: map[string]wish{}}
	playing, cancel := context.WithCancel(ctx)
	ends = append(ends, cancel)
	for _, run := range []func(context.Context){w.watcher.run, w.players.run, w.load.run} {
		go run(playing)
	}
	return w, end, w.seats[0].start(false)
}

func (w *world) connect() error {
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	w.client, err = client.NewWithWatch(w.plane.Config(), client.Options{Scheme: scheme})
	return err
}

func (w *world) namespaces(ctx context.Context) error {
	for _, name := range []string{operation.Namespace, operation.AgentNamespace, home} {
		if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return fmt.Errorf("namespace: %w", err)
		}
	}
	return nil
}

// install applies rights, policies and the webhook, whose Service leads to the gateway: the API server calls it by the name that the certificates are for.
func (w *world) install(ctx context.Context) error {
	objects, err := controlplane.ReadConfig("rbac", "admission")
	if err != nil {
		return err
	}
	hooks, err := controlplane.ReadConfig("webhook")
	if err != nil {
		return err
	}
	for _, object := range hooks {
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "MutatingWebhookConfiguration":
			if err := callAt(object, int64(w.gateway.port)); err != nil {
				return err
			}
		}
	}
	if err := controlplane.Apply(ctx, w.plane.Config(), "", append(objects, hooks...)...); err != nil {
		return err
	}
	return w.plane.AwaitPolicies(ctx)
}

func callAt(configuration *unstructured.Unstructured, port int64) error {
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	for i := range hooks {
		hook, is := hooks[i].(map[string]any)
		if !is {
			return fmt.Errorf("webhooks of %s is no list of objects", configuration.GetName())
		}
		err = errors.Join(err, unstructured.SetNestedField(hook, port, "clientConfig", "service", "port"))
	}
	return errors.Join(err, unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"))
}

// nodes makes the nodes: all but two for the load, two for probes.
func (w *world) nodes(ctx context.Context) error {
	spec := synthetic.Spec{Pattern: synthetic.Islands}
	for i, count := range []int{w.Nodes, 2} {
		shape, err := synthetic.Lookup(products[i].shape)
		if err != nil {
			return fmt.Errorf("shape: %w", err)
		}
		spec.Nodes = append(spec.Nodes, synthetic.Count{Shape: shape, Nodes: count})
	}
	nodes, err := synthetic.Build(spec)
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	for i := range nodes {
		operation.Serve(&nodes[i].Inventory.Status, "rankwright.dev/nvidia-gpu")
		if err := scale.MakeNode(ctx, w.client, &nodes[i], nil); err != nil {
			return err
		}
		if err := scale.Beat(ctx, w.client, &nodes[i], w.clock().Add(24*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) logf(format string, values ...any) {
	_, _ = fmt.Fprintf(w.Log, format+"\n", values...)
}

// change reads an object, edits it and writes what was edited, again where somebody else was faster.
func (w *world) change(ctx context.Context, object client.Object, edit func()) error {
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	before, is := object.DeepCopyObject().(client.Object)
	if !is {
		return fmt.Errorf("a copy of %T is a %T", object, before)
	}
	edit()
	return w.client.Patch(ctx, object, client.MergeFrom(before))
}
