package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
)

// Reconciler keeps status.slots of the inventories.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of inventories.
	Events events.EventRecorder
}

// staleDelay is when to look again after an inventory that was newer than the one from the cache.
const staleDelay = 200 * time.Millisecond

// planNodeField indexes plans with slots by their nodes.
const planNodeField = "slots.node"

// PodNodeField indexes the pods of placements by the node that they are on, for other controllers too: Setup makes the index.
const PodNodeField = "spec.nodeName"

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(ctx context.Context, mgr manager.Manager) error {
	for _, index := range []struct {
		object client.Object
		field  string
		nodes  client.IndexerFunc
	}{{&v1alpha1.ShardingPlan{}, planNodeField, nodesOfPlan}, {&corev1.Pod{}, PodNodeField, nodeOfPod}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.object, index.field, index.nodes); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("slots").
		For(&v1alpha1.AcceleratorInventory{}).
		Watches(&v1alpha1.ShardingPlan{}, handler.EnqueueRequestsFromMapFunc(requestsBy(nodesOfPlan))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestsBy(nodeOfPod)), builder.WithPredicates(relation.PodEnded)).
		WithOptions(objects.Parallel()).
		Complete(objects.Patient(r, objects.Retry()))
}

// nodesOfPlan are the nodes of a plan that has slots.
func nodesOfPlan(object client.Object) []string {
	plan, isPlan := object.(*v1alpha1.ShardingPlan)
	if !isPlan || !keeps(plan) {
		return nil
	}
	return relation.NodesOf(plan)
}

func nodeOfPod(object client.Object) []string {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

func requestsBy(nodes client.IndexerFunc) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, node := range nodes(object) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: node}})
		}
		return requests
	}
}

// PlacementsOf returns the placements whose plans have slots on the node of an inventory, for watches of what Reconciler writes.
func PlacementsOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, inventory client.Object) []reconcile.Request {
		var plans v1alpha1.ShardingPlanList
		if err := reader.List(ctx, &plans, client.MatchingFields{planNodeField: inventory.GetName()}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list plans of node", "node", inventory.GetName())
		}
		var requests []reconcile.Request
		for i := range plans.Items {
			requests = append(requests, relation.PlacementOf(ctx, &plans.Items[i])...)
		}
		return requests
	}
}

// Changed lets through what Reconciler writes of an inventory, and not what the node's agent does.
var Changed = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasInventory := e.ObjectOld.(*v1alpha1.AcceleratorInventory)
		after, isInventory := e.ObjectNew.(*v1alpha1.AcceleratorInventory)
		return wasInventory && isInventory && (before.UID != after.UID || !slices.Equal(before.Status.Slots, after.Status.Slots))
	},
}

// Reconcile brings the slots of one node up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	inventory := &v1alpha1.AcceleratorInventory{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, inventory)
	if err != nil || !found || !inventory.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	planned, err := r.planned(ctx, inventory.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{PodNodeField: inventory.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("list pods of node %s: %w", inventory.Name, err)
	}
	want := wanted(inventory, planned, pods.Items)
	if slices.Equal(want, slices.SortedFunc(slices.Values(inventory.Status.Slots), byName)) {
		return ctrl.Result{}, nil
	}
	return r.write(ctx, inventory, want)
}

// planned returns the slots of all plans in force on a node.
func (r *Reconciler) planned(ctx context.Context, node string) ([]v1alpha1.Slot, error) {
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, client.MatchingFields{planNodeField: node}); err != nil {
		return nil, fmt.Errorf("list plans of node %s: %w", node, err)
	}
	var planned []v1alpha1.Slot
	for i := range plans.Items {
		if !inForce(&plans.Items[i]) {
			continue
		}
		slots, err := ofPlan(&plans.Items[i], node)
		if err != nil {
			// Its placement says so, since it gets no mesh either.
			ctrl.LoggerFrom(ctx).Error(err, "number the slots", "plan", client.ObjectKeyFromObject(&plans.Items[i]))
			continue
		}
		planned = append(planned, slots...)
	}
	return planned, nil
}

// write replaces the operator's slots. Slots that another manager holds are left alone and reported, and the rest is
// written.
func (r *Reconciler) write(ctx context.Context, inventory *v1alpha1.AcceleratorInventory, want []v1alpha1.Slot) (ctrl.Result, error) {
	err := r.apply(ctx, inventory, want)
	if foreign := inConflict(err, want); len(foreign) > 0 {
		r.Events.Eventf(inventory, nil, corev1.EventTypeWarning, "SlotConflict", "KeepDevice",
			"another manager than %s holds status.slots of %s: remove it there, or the device is not kept for its plan",
			v1alpha1.OperatorFieldManager, strings.Join(foreign, ", "))
		err = r.apply(ctx, inventory, slices.DeleteFunc(slices.Clone(want), func(s v1alpha1.Slot) bool {
			return slices.Contains(foreign, string(s.Device))
		}))
	}
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	default:
		return ctrl.Result{}, fmt.Errorf("apply slots of inventory %s: %w", inventory.Name, err)
	}
}

// apply writes the slots into the inventory as it was read: the UID keeps them from another one of its name, and the
// resourceVersion from dropping the slot of a device that a pod got since.
func (r *Reconciler) apply(ctx context.Context, inventory *v1alpha1.AcceleratorInventory, want []v1alpha1.Slot) error {
	patch := apply.AcceleratorInventory(inventory.Name).WithUID(inventory.UID).WithResourceVersion(inventory.ResourceVersion)
	if len(want) > 0 {
		status := apply.AcceleratorInventoryStatus()
		for _, slot := range want {
			status.WithSlots(apply.Slot().WithDevice(slot.Device).WithResource(slot.Resource))
		}
		patch.WithStatus(status)
	}
	return r.Client.Status().Apply(ctx, patch, client.FieldOwner(v1alpha1.OperatorFieldManager))
}

// inConflict returns the devices of which another manager holds the slot. The API server names the field as
// `.status.slots[device="nvidia-0000:17:00.0"].resource`.
func inConflict(err error, want []v1alpha1.Slot) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var devices []string
	for _, slot := range want {
		key := fmt.Sprintf(`.status.slots[device=%q]`, slot.Device)
		if slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
			return c.Type == metav1.CauseTypeFieldManagerConflict && strings.HasPrefix(c.Field, key)
		}) {
			devices = append(devices, string(slot.Device))
		}
	}
	return devices
}
