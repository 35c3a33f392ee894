package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// nodeNow is a Node as it was just read.
type nodeNow struct {
	metav1.PartialObjectMetadata `json:",inline"`

	Status struct {
		Allocatable map[string]string  `json:"allocatable"`
		Conditions  []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (p *publisher) readNode(ctx context.Context) (*nodeNow, error) {
	read, err := p.client.Resource(nodes).Get(ctx, p.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %s is not registered yet, so nothing can be published; "+
			"if it never is, set --node-name to the Node's metadata.name: %w", p.node, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read Node %s: %w", p.node, err)
	}
	node := &nodeNow{}
	return node, fromObject(read, node)
}

// ensureInventory returns the node's inventory, created or given to the present Node where it is not yet its own.
func (p *publisher) ensureInventory(ctx context.Context, node *metav1.PartialObjectMetadata) (*v1alpha1.AcceleratorInventory, error) {
	inventory, err := p.readInventory(ctx)
	if err == nil && ownedBy(inventory, node) {
		return inventory, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	owned := inventoryManifest(object{"name": p.node, "ownerReferences": nodeOwner(node)})
	if _, err := apply(ctx, p.client.Resource(inventories), owned); err != nil {
		return nil, fmt.Errorf("apply AcceleratorInventory %s: %w", p.node, err)
	}
	return p.readInventory(ctx)
}

func (p *publisher) readInventory(ctx context.Context) (*v1alpha1.AcceleratorInventory, error) {
	read, err := p.client.Resource(inventories).Get(ctx, p.node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read AcceleratorInventory %s: %w", p.node, err)
	}
	inventory := &v1alpha1.AcceleratorInventory{}
	return inventory, fromObject(read, inventory)
}

// ownedBy says whether the Node as it is, and no former one of its name, owns the object.
func ownedBy(object, node metav1.Object) bool {
	owned := false
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind != "Node" {
			continue
		}
		if owner.UID != node.GetUID() {
			return false
		}
		owned = true
	}
	return owned
}

// writeStatus applies the status where the inventory's differs. Fields that others hold are left to them, and returned.
func (p *publisher) writeStatus(ctx context.Context, inventory *v1alpha1.AcceleratorInventory,
	status v1alpha1.AcceleratorInventoryStatus,
) (contested map[string]string, written bool, err error) {
	if equality.Semantic.DeepEqual(inventory.Status, status) {
		return nil, false, nil
	}
	wanted, err := statusManifest(inventory.Name, status)
	if err != nil {
		return nil, false, err
	}
	contested = map[string]string{}
	var applied *unstructured.Unstructured
	for range conflictRounds {
		applied, err = apply(ctx, p.client.Resource(inventories), wanted, "status")
		refused := conflicts(err)
		if len(refused) == 0 {
			break
		}
		maps.Copy(contested, refused)
		if pruneErr := removeFields(wanted.Object, slices.Sorted(maps.Keys(refused))); pruneErr != nil {
			err = errors.Join(err, pruneErr)
			break
		}
	}
	if err != nil {
		return contested, false, fmt.Errorf("apply status of AcceleratorInventory %s: %w", p.node, err)
	}
	return contested, applied.GetResourceVersion() != inventory.ResourceVersion, nil
}

// statusManifest is what the agent says of an inventory's status: not the slots and repairs, which are the operator's. The summary is there even where it is all zeros, so
// that a node without devices shows 0 of them.
func statusManifest(name string, status v1alpha1.AcceleratorInventoryStatus) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, fmt.Errorf("convert status of AcceleratorInventory %s: %w", name, err)
	}
	delete(fields, "slots")
	delete(fields, "repairs")
	if fields["summary"] == nil {
		fields["summary"] = object{"devices": int64(0), "healthy": int64(0)}
	}
	manifest := inventoryManifest(object{"name": name})
	manifest.Object["status"] = fields
	return manifest, nil
}
