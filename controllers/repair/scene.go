package repair

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
)

// look reads what is known of a node, but for its repair: from the cache, or from the API server. The options spare it plans of other nodes,
// where the reader has an index.
func (r *Reconciler) look(ctx context.Context, reader client.Reader, name string, ofNode ...client.ListOption) (*v1alpha1.AcceleratorInventory, *Scene, error) {
	scene := &Scene{Node: name, Ranked: map[v1alpha1.DeviceID]bool{}, Held: map[v1alpha1.DeviceID]int{}}
	node, inventory := &corev1.Node{}, &v1alpha1.AcceleratorInventory{}
	there, err := objects.Read(ctx, reader, client.ObjectKey{Name: name}, inventory)
	if err != nil || !there || !inventory.DeletionTimestamp.IsZero() {
		return nil, scene, err
	}
	status := &inventory.Status
	scene.Status = status
	scene.Silent = r.Silent()[name] || meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionAllocationsCurrent)
	if !concerns(status) {
		return inventory, scene, nil
	}
	if there, err = objects.Read(ctx, reader, client.ObjectKey{Name: name}, node); err != nil {
		return nil, nil, err
	}
	if scene.Actor = otherActor(node); !there {
		scene.Actor = "whoever deleted the node"
	}
	if err := readRanks(ctx, reader, scene, ofNode); err != nil {
		return nil, nil, err
	}
	return inventory, scene, nil
}

// readRanks finds the devices that plans and pods have. A plan counts from when it was written until it is gone.
func readRanks(ctx context.Context, reader client.Reader, scene *Scene, ofNode []client.ListOption) error {
	var plans v1alpha1.ShardingPlanList
	if err := reader.List(ctx, &plans, ofNode...); err != nil {
		return fmt.Errorf("list plans of node %s: %w", scene.Node, err)
	}
	for i := range plans.Items {
		for _, row := range plans.Items[i].Spec.Nodes {
			for _, id := range row.Devices {
				if row.Node == scene.Node {
					scene.Ranked[id] = true
				}
			}
		}
	}
	for _, slot := range scene.Status.Slots {
		scene.Ranked[slot.Device] = true
	}
	for _, a := range scene.Status.Allocations {
		pod := &corev1.Pod{}
		there, err := objects.Read(ctx, reader, client.ObjectKey{Namespace: a.Namespace, Name: a.Pod}, pod)
		if err != nil {
			return err
		}
		if _, ofPlacement := pod.Labels[v1alpha1.LabelPlacement]; there && ofPlacement {
			scene.Ranked[a.Device] = true
		} else {
			scene.Held[a.Device]++
		}
	}
	return nil
}

// recall adds the node's repair to a scene, and how many more may begin.
func (r *Reconciler) recall(ctx context.Context, book page, scene *Scene) error {
	scene.Budget = r.Settings.MaxConcurrent - len(book.Data)
	var err error
	if scene.Record, err = book.of(scene.Node); err != nil || scene.Record == nil || scene.Record.Ended != nil {
		return err
	}
	scene.Object, err = r.read(ctx, scene.Record)
	return err
}
