// Package cordon keeps the cordoned devices of a node while its inventory is gone: an inventory is deleted with its Node,
// and what an administrator said about a device holds for the device, not for the object.
package cordon

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

const (
	// Name is the name of the ConfigMap that has a record for each node with cordoned devices.
	Name = "rankwright-cordons"
	// fieldManager owns cordons that were restored. It is not the operator's other field manager: an apply drops what its manager
	// owns and does not repeat, and the operator applies other fields of the spec.
	fieldManager = v1alpha1.OperatorFieldManager + "-cordons"
)

// Keeper records the cordoned devices of every inventory, and restores them to a new inventory of the same node that has
// none. Cordons that are lifted while the inventory is there are forgotten; the cordons of a node that never comes
// back stay.
type Keeper struct {
	// Inventories reads from a cache.
	Inventories client.Reader
	// Reader and Writer ask the API server.
	Reader client.Reader
	Writer client.Writer
	// Namespace is the namespace of the ConfigMap.
	Namespace string

	// records is the ConfigMap as last read or written; nil before the first read. Only the leader writes it.
	records *corev1.ConfigMap
}

// Setup adds the keeper to a manager.
func (k *Keeper) Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("cordon").
		For(&v1alpha1.AcceleratorInventory{}, builder.WithPredicates(specMayDiffer())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: objects.Retry()}).
		Complete(objects.Patient(k, objects.Retry()))
}

// specMayDiffer leaves out what the agents write. An inventory that was deleted and created anew may be seen as one update.
func specMayDiffer() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile keeps, forgets or restores the cordons of a node.
func (k *Keeper) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	inventory := &v1alpha1.AcceleratorInventory{}
	if err := k.Inventories.Get(ctx, request.NamespacedName, inventory); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if k.records == nil {
		if err := k.read(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	if judge(k.record(ctx, inventory.Name), inventory) == nothing {
		return reconcile.Result{}, nil
	}
	// What is done rests on what is recorded and cordoned now, not on a copy of it.
	if err := errors.Join(k.read(ctx), client.IgnoreNotFound(k.Reader.Get(ctx, request.NamespacedName, inventory))); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, k.act(ctx, inventory)
}

func (k *Keeper) act(ctx context.Context, inventory *v1alpha1.AcceleratorInventory) error {
	switch recorded := k.record(ctx, inventory.Name); judge(recorded, inventory) {
	case keep:
		return k.write(ctx, inventory.Name, recordOf(inventory))
	case forget:
		return k.write(ctx, inventory.Name, nil)
	case restore:
		return k.restore(ctx, inventory, recorded)
	default:
		return nil
	}
}

// record returns the record of a node; nil where there is none or it cannot be parsed: the next cordon writes it anew.
func (k *Keeper) record(ctx context.Context, node string) *record {
	text, recorded := k.records.Data[node]
	if !recorded {
		return nil
	}
	r, err := decode(text)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "ignored", "configMap", Name, "node", node)
		return nil
	}
	return r
}

func (k *Keeper) read(ctx context.Context) error {
	records := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: Name}}
	if err := client.IgnoreNotFound(k.Reader.Get(ctx, client.ObjectKeyFromObject(records), records)); err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", k.Namespace, Name, err)
	}
	k.records = records
	return nil
}

// write records a node's cordons, or removes the record.
func (k *Keeper) write(ctx context.Context, node string, r *record) error {
	records := k.records.DeepCopy()
	if records.Data == nil {
		records.Data = map[string]string{}
	}
	delete(records.Data, node)
	if r != nil {
		records.Data[node] = r.encode()
	}
	var err error
	if records.ResourceVersion == "" {
		err = k.Writer.Create(ctx, records)
	} else {
		err = k.Writer.Update(ctx, records)
	}
	if err != nil {
		k.records = nil
		return fmt.Errorf("write ConfigMap %s/%s: %w", k.Namespace, Name, err)
	}
	k.records = records
	return nil
}

// restore gives an inventory the recorded cordons, and records at once that this inventory has them: cordons that an administrator
// lifts before the inventory's next event would be restored again. The UID goes along with the apply, which without it would create
// an inventory that was deleted meanwhile.
func (k *Keeper) restore(ctx context.Context, inventory *v1alpha1.AcceleratorInventory, recorded *record) error {
	cordoned := apply.AcceleratorInventory(inventory.Name).WithUID(inventory.UID).
		WithSpec(apply.AcceleratorInventorySpec().WithCordonedDevices(recorded.Devices...))
	if err := k.Writer.Apply(ctx, cordoned, client.FieldOwner(fieldManager)); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // another inventory of the node brings an event of its own
		}
		return fmt.Errorf("cordon devices of AcceleratorInventory %s again: %w", inventory.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("cordoned devices again: the node was created anew", "node", inventory.Name, "devices", recorded.Devices)
	inventory.Spec.CordonedDevices = recorded.Devices
	return k.write(ctx, inventory.Name, recordOf(inventory))
}
