package repair

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
)

const (
	// fieldManager owns status.repairs. It is not the operator's other field manager: an apply drops what its manager owns and does not
	// repeat, and the operator applies slots.
	fieldManager = v1alpha1.OperatorFieldManager + "-repairs"
	// planNodeField indexes plans by the nodes that they use.
	planNodeField = "repair.node"
	// poll is how often the object of a repair is looked at: it may be of any kind, so that nothing watches it.
	poll = 5 * time.Second
	// again is how often a node in repair is looked at though nothing happened.
	again = time.Minute
	// conflictDelay is when to look again after somebody else wrote.
	conflictDelay = 200 * time.Millisecond
)

// Reconciler brings the repairs of a node further, one node at a time.
type Reconciler struct {
	Settings *Settings
	// Client reads from the cache and writes.
	Client client.Client
	// Reader asks the API server.
	Reader client.Reader
	// Account reads, makes and deletes the objects of repairs with the rights of their service account; nil where there is no template.
	Account client.Client
	Book    *Book
	Rules   *Rules
	// Silent returns the nodes whose agents have not been heard of for too long.
	Silent func() map[string]bool
	// Events takes the events of inventories.
	Events  events.EventRecorder
	Metrics *Metrics
	Now     func() time.Time

	// freed has the nodes that wait looked at again.
	freed chan event.GenericEvent

	mu sync.Mutex
	// ruled are the nodes that may have DeviceTaintRules.
	ruled map[string]bool
}

// mayHaveRules says whether a node may have DeviceTaintRules.
func (r *Reconciler) mayHaveRules(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ruled[node]
}

// setRuled remembers that a node may have DeviceTaintRules, or has none.
func (r *Reconciler) setRuled(node string, may bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ruled == nil {
		r.ruled = map[string]bool{}
	}
	if r.ruled[node] = may; !may {
		delete(r.ruled, node)
	}
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ShardingPlan{}, planNodeField, relation.NodesOf); err != nil {
		return err
	}
	r.freed = make(chan event.GenericEvent, 1)
	// Nodes that are gone have no inventory that would bring them here.
	first := manager.RunnableFunc(func(ctx context.Context) error { r.free(); return nil })
	if err := mgr.Add(first); err != nil {
		return err
	}
	onPlan := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, plan client.Object) []reconcile.Request {
		return requests(relation.NodesOf(plan))
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("repair").
		For(&v1alpha1.AcceleratorInventory{}).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}).
		Watches(&v1alpha1.ShardingPlan{}, onPlan).
		WatchesRawSource(source.Channel(r.freed, handler.EnqueueRequestsFromMapFunc(r.waiting))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: objects.Retry()}).
		Complete(objects.Patient(r, objects.Retry()))
}

// free has the nodes that wait looked at, unless that is about to happen.
func (r *Reconciler) free() {
	select {
	case r.freed <- event.GenericEvent{Object: &v1alpha1.AcceleratorInventory{}}:
	default:
	}
}

// waiting returns the nodes with a repair that waits or is under way.
func (r *Reconciler) waiting(ctx context.Context, _ client.Object) []reconcile.Request {
	log := ctrl.LoggerFrom(ctx)
	var inventories v1alpha1.AcceleratorInventoryList
	if err := r.Client.List(ctx, &inventories, client.UnsafeDisableDeepCopy); err != nil {
		log.Error(err, "list inventories")
	}
	var nodes []string
	for i := range inventories.Items {
		if len(inventories.Items[i].Status.Repairs) > 0 {
			nodes = append(nodes, inventories.Items[i].Name)
		}
	}
	rules, err := r.Rules.list(ctx, client.HasLabels{labelNode})
	if err != nil {
		log.Error(err, "look for taints of repairs")
	}
	for i := range rules {
		node := rules[i].GetAnnotations()[AnnotationNode]
		r.setRuled(node, true)
		nodes = append(nodes, node)
	}
	page, err := r.Book.read(ctx)
	if err != nil {
		log.Error(err, "look for repairs under way")
		return requests(nodes)
	}
	for node := range page.Data {
		nodes = append(nodes, node)
	}
	return requests(nodes)
}

func requests(nodes []string) []reconcile.Request {
	var made []reconcile.Request
	for _, node := range nodes {
		made = append(made, reconcile.Request{NamespacedName: types.NamespacedName{Name: node}})
	}
	return made
}

// Reconcile brings the repairs of one node one step further.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	node := request.Name
	inventory, scene, err := r.look(ctx, r.Client, node, client.MatchingFields{planNodeField: node})
	if err != nil || inventory != nil && !concerns(&inventory.Status) && !r.Book.has(node) && !r.mayHaveRules(node) {
		return ctrl.Result{}, err
	}
	book, err := r.Book.read(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.recall(ctx, book, scene); err != nil {
		return ctrl.Result{}, err
	}
	decision := Decide(r.Settings, scene, r.Now())
	if begins := scene.Record == nil && decision.Record != nil; begins || decision.Step == Make {
		// What begins now rests on what is true now, not on a copy of it.
		record, object, budget := scene.Record, scene.Object, scene.Budget
		if inventory, scene, err = r.look(ctx, r.Reader, node); err != nil {
			return ctrl.Result{}, err
		}
		scene.Record, scene.Object, scene.Budget = record, object, budget
		decision = Decide(r.Settings, scene, r.Now())
	}
	err = r.act(ctx, inventory, scene, book, &decision)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	return ctrl.Result{RequeueAfter: r.next(&decision)}, err
}

// concerns says whether a node has devices with a fault, or such as had one.
func concerns(s *v1alpha1.AcceleratorInventoryStatus) bool {
	return len(s.Repairs) > 0 || slices.ContainsFunc(s.Devices, func(d v1alpha1.Device) bool { return d.Health.State == v1alpha1.Unhealthy })
}

// next is when to look again.
func (r *Reconciler) next(d *Decision) time.Duration {
	after := time.Duration(0)
	switch {
	case d.Record != nil && d.Record.Ended == nil:
		after = poll
	case d.Record != nil || len(d.Repairs) > 0:
		after = again
	}
	if !d.Wake.IsZero() {
		until := max(d.Wake.Sub(r.Now()), conflictDelay)
		if after == 0 || until < after {
			after = until
		}
	}
	return after
}

// act does what was decided. A record is there before what it records, and as long as that: an operator that ends in between
// leaves what the next one goes on with.
func (r *Reconciler) act(ctx context.Context, inventory *v1alpha1.AcceleratorInventory, scene *Scene, book page, d *Decision) error {
	if d.Record != nil && !reflect.DeepEqual(d.Record, scene.Record) {
		if err := r.Book.write(ctx, book, scene.Node, d.Record); err != nil {
			return err
		}
	}
	// Taints go before what they rest on, so that none is forgotten.
	if err := r.taint(ctx, scene, d.Repairs); err != nil {
		return err
	}
	if inventory != nil {
		if err := r.say(ctx, inventory, d.Repairs); err != nil {
			return err
		}
	}
	switch d.Step {
	case Make:
		if err := r.make(ctx, scene, d.Record); err != nil {
			r.Events.Eventf(inventory, nil, corev1.EventTypeWarning, "RepairRefused", "Repair", "%v", err)
			return err
		}
		return nil
	case Delete:
		return r.delete(ctx, d.Record)
	}
	if d.Record == nil && scene.Record != nil {
		if err := r.Book.write(ctx, book, scene.Node, nil); err != nil {
			return err
		}
		r.free()
	}
	return nil
}

// taint keeps the taints of a node's devices that other drivers publish.
func (r *Reconciler) taint(ctx context.Context, scene *Scene, repairs []v1alpha1.Repair) error {
	if len(repairs) == 0 && !r.mayHaveRules(scene.Node) {
		return nil
	}
	r.setRuled(scene.Node, true)
	ruled, err := r.Rules.keep(ctx, scene.Node, scene.Status, repairs)
	if err == nil {
		r.setRuled(scene.Node, ruled)
	}
	return err
}

// say writes status.repairs, and an event for each device whose state changed.
func (r *Reconciler) say(ctx context.Context, inventory *v1alpha1.AcceleratorInventory, repairs []v1alpha1.Repair) error {
	if equality.Semantic.DeepEqual(inventory.Status.Repairs, repairs) {
		return nil
	}
	patch := apply.AcceleratorInventory(inventory.Name).WithUID(inventory.UID)
	if len(repairs) > 0 {
		patch.WithStatus(apply.AcceleratorInventoryStatus())
		if err := applied.Configure(&v1alpha1.AcceleratorInventoryStatus{Repairs: repairs}, patch.Status); err != nil {
			return err
		}
	}
	if err := r.Client.Status().Apply(ctx, patch, client.FieldOwner(fieldManager)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("apply status.repairs of inventory %s: %w", inventory.Name, err)
	}
	r.tell(inventory, repairs)
	return nil
}
