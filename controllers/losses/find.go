package losses

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Scene is what is known of where a plan runs.
type Scene struct {
	// Rows are the devices of the plan.
	Rows []v1alpha1.PlanRow
	// Host returns what is known of a node.
	Host func(node string) *fleet.Host
	// Pods are the pods of the plan's placement that have not ended.
	Pods []corev1.Pod
	// Strangers are pods that run on a node of the plan and belong to no placement.
	Strangers map[types.NamespacedName]bool
	// LeavesCordoned says that the placement moves off nodes that are cordoned.
	LeavesCordoned bool
}

// Find returns what a plan has lost, in order of its rows, without times. What cannot be seen is not lost: a missing inventory,
// one that no agent wrote yet, a backend that could not look, health Unknown and a silent agent are no evidence. A cordoned device is
// not lost either: it takes no new work and keeps what it has. So does a cordoned node, unless the placement leaves such nodes.
func Find(s *Scene) []v1alpha1.Loss {
	var found []v1alpha1.Loss
	looked := map[string]bool{}
	for i := range s.Rows {
		node := s.Rows[i].Node
		if looked[node] {
			continue
		}
		looked[node] = true
		if loss, lost := s.node(node); lost {
			found = append(found, loss)
		} else {
			found = append(found, s.devices(node)...)
		}
	}
	return found
}

// Uses says whether the plan has a device of a node.
func (s *Scene) Uses(node string, id v1alpha1.DeviceID) bool {
	return slices.ContainsFunc(s.Rows, func(row v1alpha1.PlanRow) bool { return row.Node == node && slices.Contains(row.Devices, id) })
}

// node returns the first loss of the table that a node as a whole has.
func (s *Scene) node(name string) (v1alpha1.Loss, bool) {
	host := s.Host(name)
	for i := range kinds {
		if kinds[i].node == nil {
			continue
		}
		if message, lost := kinds[i].node(s, host); lost {
			return v1alpha1.Loss{Reason: kinds[i].reason, Node: name, Replicas: s.replicas(name, nil), Message: message}, true
		}
	}
	return v1alpha1.Loss{}, false
}

// devices returns the devices of the plan that are lost on a node which is there.
func (s *Scene) devices(node string) []v1alpha1.Loss {
	host := s.Host(node)
	if host.Inventory == nil || !observed(&host.Inventory.Status) {
		return nil
	}
	var found []v1alpha1.Loss
	for i := range s.Rows {
		for _, id := range s.Rows[i].Devices {
			if s.Rows[i].Node != node {
				break
			}
			for k := range kinds {
				if kinds[k].device == nil {
					continue
				}
				if message, lost := kinds[k].device(s, host, id); lost {
					found = append(found, v1alpha1.Loss{Reason: kinds[k].reason, Node: node, Device: id, Replicas: []int32{s.Rows[i].Replica}, Message: message})
					break
				}
			}
		}
	}
	return found
}

// replicas returns the copies that have ranks on a node.
func (s *Scene) replicas(node string, copies []int32) []int32 {
	for i := range s.Rows {
		if s.Rows[i].Node == node {
			copies = append(copies, s.Rows[i].Replica)
		}
	}
	slices.Sort(copies)
	return slices.Compact(copies)
}

// drained says whether a cordoned node has fewer pods of the placement than there are copies with ranks on it.
func (s *Scene) drained(h *fleet.Host) (string, bool) {
	if !h.Cordoned {
		return "", false
	}
	there, wanted := 0, len(s.replicas(h.Name, nil))
	for i := range s.Pods {
		if s.Pods[i].Spec.NodeName == h.Name && s.Pods[i].DeletionTimestamp.IsZero() {
			there++
		}
	}
	return fmt.Sprintf("the node is cordoned and has %d of the placement's pods, for %d copies", there, wanted), there < wanted
}

// occupied says whether a stranger holds a device, and the placement's own pods hold fewer devices of the node than they are to have:
// where a pod was given another device instead, its rank runs.
func (s *Scene) occupied(h *fleet.Host, id v1alpha1.DeviceID) (string, bool) {
	status := &h.Inventory.Status
	if h.Silent || meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionAllocationsCurrent) {
		return "", false
	}
	own, stranger, wanted := map[v1alpha1.DeviceID]bool{}, false, 0
	for _, a := range status.Allocations {
		pod := types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}
		stranger = stranger || a.Device == id && s.Strangers[pod]
		if slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return p.Namespace == a.Namespace && p.Name == a.Pod }) {
			own[a.Device] = true
		}
	}
	for i := range s.Rows {
		if s.Rows[i].Node == h.Name {
			wanted += len(s.Rows[i].Devices)
		}
	}
	return "a pod of no placement holds it", stranger && len(own) < wanted
}

// observed says whether an agent wrote the status: the object is there a moment before its status.
func observed(status *v1alpha1.AcceleratorInventoryStatus) bool {
	return status.AgentVersion != "" || len(status.Devices) > 0 || len(status.Backends) > 0 || len(status.Conditions) > 0
}

// couldLook says whether every detection backend could look, so that a device that is not listed is not there.
func couldLook(status *v1alpha1.AcceleratorInventoryStatus) bool {
	return !slices.ContainsFunc(status.Backends, func(b v1alpha1.BackendStatus) bool { return b.State == v1alpha1.BackendFailed })
}
