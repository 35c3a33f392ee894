package fleet

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// holders are the devices of a node that plans may not use, each with the placement ("namespace/name") whose plan holds
// it. The holder is empty where something else holds the device too, or only a pod does.
type holders map[v1alpha1.DeviceID]string

// add notes a holder; a device with two holders gets none.
func (h holders) add(id v1alpha1.DeviceID, holder string) {
	if old, held := h[id]; held && old != holder {
		holder = ""
	}
	h[id] = holder
}

// leaving is what gives its devices up to a new plan: the plans that it replaces and their pods, and the pods that the operator bound for the
// same placement, whatever became of their plans: each is taken over by the new plan where it has the same place there, and evicted where it
// does not. Who creates a pod writes its labels, so that no label makes a pod one of these.
type leaving struct {
	placement types.UID
	plans     map[types.UID]bool
}

func leavingFor(placement types.UID, replaces []v1alpha1.ShardingPlan) *leaving {
	of := &leaving{placement, make(map[types.UID]bool, len(replaces))}
	for i := range replaces {
		of.plans[replaces[i].UID] = true
	}
	return of
}

// pod says whether a pod of a plan, or of none that is there, leaves.
func (l *leaving) pod(pod *corev1.Pod, of *v1alpha1.ShardingPlan) bool {
	return of != nil && l.plans[of.UID] || l.placement != "" && pod.Annotations[v1alpha1.AnnotationPlacementUID] == string(l.placement)
}

// takenOn returns the devices of a node that a new plan may not use. What leaves for that plan does not count.
func (s *Snapshot) takenOn(node string, leaves *leaving) holders {
	on, taken := s.claims[node], holders{}
	for _, held := range on.plans {
		if p := &s.Plans[held.plan]; !leaves.plans[p.UID] {
			for _, id := range held.devices {
				taken.add(id, holderOf(p))
			}
		}
	}
	inventory := s.Host(node).Inventory
	if inventory == nil {
		return taken
	}
	s.takeByPods(taken, on.pods, inventory, leaves)
	takeRelatives(taken, inventory.Status.Devices)
	return taken
}

// takeByPods adds the devices that the kubelet reports for pods, and for pods that it has not reported yet the devices of
// their plan, or those to which the operator bound them.
func (s *Snapshot) takeByPods(taken holders, pods []int32, inventory *v1alpha1.AcceleratorInventory, leaves *leaving) {
	planOf, gone := map[types.NamespacedName]*v1alpha1.ShardingPlan{}, map[types.NamespacedName]bool{}
	for _, at := range pods {
		pod := s.Pods[at]
		p := s.planOf(pod)
		planOf[keyOf(pod)], gone[keyOf(pod)] = p, leaves.pod(pod, p)
	}
	for _, a := range inventory.Status.Allocations {
		of := types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}
		if gone[of] {
			continue
		}
		holder := ""
		// A pod on a device of its own plan holds nothing beyond the plan.
		if p := planOf[of]; p != nil && taken[a.Device] == holderOf(p) || s.podsUnknown {
			holder = taken[a.Device]
		}
		taken.add(a.Device, holder)
	}
	for _, at := range pods {
		if pod := s.Pods[at]; !gone[keyOf(pod)] && !reported(inventory, pod) {
			takeBound(taken, pod, planOf[keyOf(pod)], inventory.Status.Devices)
		}
	}
}

// takeBound adds as many devices as the operator bound a pod to that are not its plan's: those devices, and for each that somebody else has
// another one that is free, since the kubelet may have chosen it. A pod that the operator did not bind takes nothing until the kubelet
// reports it.
func takeBound(taken holders, pod *corev1.Pod, p *v1alpha1.ShardingPlan, devices []v1alpha1.Device) {
	var planned []v1alpha1.DeviceID
	if p != nil {
		planned = devicesOn(pod.Spec.NodeName, p)
	}
	for _, id := range BoundTo(pod) {
		if slices.Contains(planned, id) {
			continue
		}
		if _, held := taken[id]; held {
			at := slices.IndexFunc(devices, func(d v1alpha1.Device) bool {
				_, held := taken[d.ID]
				return !held
			})
			if at < 0 {
				return
			}
			id = devices[at].ID
		}
		taken.add(id, "")
	}
}

// BoundTo returns the devices that the operator bound a pod to; nil where it did not bind it. Labels are written by whoever creates pods, and the
// annotations by the operator alone, which an admission policy sees to.
func BoundTo(pod *corev1.Pod) []v1alpha1.DeviceID {
	if pod.Annotations[v1alpha1.AnnotationPlacementUID] == "" {
		return nil
	}
	var ids []v1alpha1.DeviceID
	for id := range strings.SplitSeq(pod.Annotations[v1alpha1.AnnotationDevices], ",") {
		ids = append(ids, v1alpha1.DeviceID(id))
	}
	return ids
}

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// planOf returns the plan that a pod names, or where that is gone an active one of the same placement that has the devices which the
// pod was bound to: the pod keeps its place in it. It is nil where there is neither.
func (s *Snapshot) planOf(pod *corev1.Pod) *v1alpha1.ShardingPlan {
	if at, ok := s.planAt[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelPlan]}]; ok {
		return &s.Plans[at]
	}
	uid := pod.Annotations[v1alpha1.AnnotationPlacementUID]
	for _, held := range s.claims[pod.Spec.NodeName].plans {
		p := &s.Plans[held.plan]
		if uid == "" || p.Namespace != pod.Namespace || p.Spec.Placement.UID != uid || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionActive) {
			continue
		}
		if !slices.ContainsFunc(BoundTo(pod), func(id v1alpha1.DeviceID) bool { return !slices.Contains(held.devices, id) }) {
			return p
		}
	}
	return nil
}

func holderOf(p *v1alpha1.ShardingPlan) string { return p.Namespace + "/" + p.Spec.Placement.Name }

// reported says whether the kubelet has told which devices a pod holds.
func reported(inventory *v1alpha1.AcceleratorInventory, pod *corev1.Pod) bool {
	return slices.ContainsFunc(inventory.Status.Allocations, func(a v1alpha1.Allocation) bool {
		return a.Namespace == pod.Namespace && a.Pod == pod.Name
	})
}

// takeRelatives takes the partitions of each taken device, and the device of each taken partition. Plans outlive a change
// of the partitioning, so either may be in a plan while the other is in the inventory.
func takeRelatives(taken holders, devices []v1alpha1.Device) {
	related := holders{}
	for i := range devices {
		device := &devices[i]
		for id, holder := range taken {
			if device.Partition != nil && device.Partition.Parent == id || strings.HasPrefix(string(id), string(device.ID)+"-") {
				related.add(device.ID, holder)
			}
		}
	}
	for id, holder := range related {
		taken.add(id, holder)
	}
}

// devicesOn returns the devices of a plan on a node.
func devicesOn(node string, p *v1alpha1.ShardingPlan) []v1alpha1.DeviceID {
	var ids []v1alpha1.DeviceID
	for i := range p.Spec.Nodes {
		if row := &p.Spec.Nodes[i]; row.Node == node {
			ids = append(ids, row.Devices...)
		}
	}
	return ids
}
