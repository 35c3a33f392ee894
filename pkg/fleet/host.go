package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Host is what is known of a node, from its Node, its inventory, or both.
type Host struct {
	NodeFacts
	// Exists says that there is a Node.
	Exists bool
	// Inventory is nil where there is none.
	Inventory *v1alpha1.AcceleratorInventory

	// Silent says that the agent of the node has not been heard of for too long.
	Silent bool

	// nodeVersion is the resourceVersion of the Node that the facts are from.
	nodeVersion string
	// facts returns what a plan sees of the host, except who holds devices, once it is asked for.
	facts func() *facts
}

// NewHost returns the host of a Node and an inventory of the same name; either may be nil. Silent says that the node's
// agent has not been heard of for too long.
func NewHost(node *corev1.Node, inventory *v1alpha1.AcceleratorInventory, silent bool) *Host {
	h := &Host{Inventory: inventory, Silent: silent}
	if inventory != nil {
		h.Name = inventory.Name
	}
	if node != nil {
		h.NodeFacts, h.Exists, h.nodeVersion = FactsOf(node), true, node.ResourceVersion
		h.Closed = h.Closed || silent
	}
	h.facts = sync.OnceValue(h.see)
	return h
}

// Same reports whether a plan would see no difference between two states of a host.
func (h *Host) Same(other *Host) bool {
	return h == other || h.nodeVersion != "" && h.Name == other.Name && h.nodeVersion == other.nodeVersion && h.Silent == other.Silent && h.Exists == other.Exists && same(h.Inventory, other.Inventory) ||
		h.facts().digest == other.facts().digest
}

// next returns the host as it is now: the same object where nothing of it was written since.
func (h *Host) next(node *corev1.Node, inventory *v1alpha1.AcceleratorInventory, silent bool) *Host {
	if h != nil && h.is(node, inventory, silent) {
		return h
	}
	switch {
	case inventory == nil:
	case h != nil && same(h.Inventory, inventory):
		inventory = h.Inventory
	default:
		// A pointer into the caller's list would keep all of it in memory. What the copy points to is shared and never
		// written.
		own := *inventory
		inventory = &own
	}
	return NewHost(node, inventory, silent)
}

// is says whether the host was made from the same versions of these objects.
func (h *Host) is(node *corev1.Node, inventory *v1alpha1.AcceleratorInventory, silent bool) bool {
	nodeVersion := ""
	if node != nil {
		nodeVersion = node.ResourceVersion
	}
	return h.Exists == (node != nil) && h.nodeVersion == nodeVersion && nodeVersion != "" && h.Silent == silent && same(h.Inventory, inventory)
}

// same says whether two inventories are one object in the same version.
func same(a, b *v1alpha1.AcceleratorInventory) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion && (a == b || a.ResourceVersion != "")
}

// plannable says whether there is anything to plan on: a node without an inventory has no devices, and an inventory
// without a Node has nowhere to run.
func (h *Host) plannable() bool { return h.Exists && h.Inventory != nil }

// facts are what a plan sees of a host, in a form that is compared.
type facts struct {
	// form covers everything but memory that others use, which usedMiB has by device, in the inventory's order. digest covers both.
	form, digest [sha256.Size]byte
	usedMiB      []int64
	// classes are those of the devices, each once.
	classes []Class
}

// see computes the facts. What an inventory says that no plan depends on, such as its conditions and when a device became what it is, is left out.
func (h *Host) see() *facts {
	seen := struct {
		NodeFacts
		Exists bool
		UID    types.UID
		Spec   v1alpha1.AcceleratorInventorySpec
		Status v1alpha1.AcceleratorInventoryStatus
	}{NodeFacts: h.NodeFacts, Exists: h.Exists}
	made := &facts{}
	if i := h.Inventory; i != nil {
		made.classes = ClassesOf(i)
		of := &i.Status
		seen.UID, seen.Spec = i.UID, i.Spec
		seen.Status = v1alpha1.AcceleratorInventoryStatus{
			Slots: of.Slots, Repairs: of.Repairs, Devices: slices.Clone(of.Devices), Links: of.Links, NICs: of.NICs, Storage: of.Storage, Host: of.Host,
			Allocations: of.Allocations,
		}
		for j := range seen.Status.Devices {
			d := &seen.Status.Devices[j]
			d.Health.Since = nil
			used := int64(0)
			if d.Memory != nil {
				memory := *d.Memory
				used, memory.UsedByOthersMiB, d.Memory = memory.UsedByOthersMiB, 0, &memory
			}
			made.usedMiB = append(made.usedMiB, used)
		}
	}
	// Maps are encoded in order of their keys; nothing in it fails to encode.
	text, _ := json.Marshal(seen)
	made.form = sha256.Sum256(text)
	text = append([]byte{}, made.form[:]...)
	for _, used := range made.usedMiB {
		text = binary.BigEndian.AppendUint64(text, uint64(used))
	}
	made.digest = sha256.Sum256(text)
	return made
}

// NodeFacts is what planning takes from a Node.
type NodeFacts struct {
	// Name is the node's name. Address is its internal address, else its host name; it may be empty.
	Name, Address string
	Labels        map[string]string
	// Taints keep pods that do not tolerate them from being scheduled to the node, in order and without their times. Those by which the
	// control plane says why the node is closed are left out.
	Taints []corev1.Taint
	// Cordoned says that the node is marked unschedulable.
	Cordoned bool
	// NotReady says that the kubelet reports that the node is not ready, or stopped reporting.
	NotReady bool
	// OutOfService says that somebody gave the node the taint node.kubernetes.io/out-of-service.
	OutOfService bool
	// Evicting are the node's NoExecute taints that are neither of the above, without their times.
	Evicting []corev1.Taint
	// Allocatable is what the node can give to pods; empty where it does not say.
	Allocatable Amounts
	// Closed says that the node takes no new work: it is cordoned, not ready, out of service or being deleted, or its agent is silent.
	Closed bool
}

// FactsOf returns what a Node says of itself.
func FactsOf(node *corev1.Node) NodeFacts {
	facts := NodeFacts{
		Name: node.Name, Address: address(node), Labels: node.Labels, Taints: taintsOf(node), Cordoned: node.Spec.Unschedulable, NotReady: notReady(node),
		Allocatable: AmountsOf(node.Status.Allocatable),
	}
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.Key == corev1.TaintNodeOutOfService:
			facts.OutOfService = true
		case taint.Effect == corev1.TaintEffectNoExecute && taint.Key != corev1.TaintNodeNotReady && taint.Key != corev1.TaintNodeUnreachable:
			taint.TimeAdded = nil
			facts.Evicting = append(facts.Evicting, taint)
		}
	}
	facts.Closed = facts.Cordoned || facts.NotReady || facts.OutOfService || !node.DeletionTimestamp.IsZero()
	return facts
}

// taintsOf returns the taints of a node that new pods must tolerate.
func taintsOf(node *corev1.Node) []corev1.Taint {
	var taints []corev1.Taint
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.Effect == corev1.TaintEffectPreferNoSchedule:
		case taint.Key == corev1.TaintNodeNotReady, taint.Key == corev1.TaintNodeUnreachable, taint.Key == corev1.TaintNodeUnschedulable:
		default:
			taint.TimeAdded = nil
			taints = append(taints, taint)
		}
	}
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
	return taints
}

// notReady says whether a node's kubelet reports that it is not ready, or stopped reporting. A node without the
// condition has no kubelet that would say so.
func notReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return false
}

// address returns the internal address of a node, else its host name, else nothing.
func address(node *corev1.Node) string {
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeHostName} {
		for _, a := range node.Status.Addresses {
			if a.Type == kind {
				return a.Address
			}
		}
	}
	return ""
}
