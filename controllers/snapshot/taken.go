package snapshot

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Taken is the devices that may not be planned, by node.
type Taken map[string]map[v1alpha1.DeviceID]bool

func (t Taken) add(node string, ids ...v1alpha1.DeviceID) {
	if t[node] == nil {
		t[node] = map[v1alpha1.DeviceID]bool{}
	}
	for _, id := range ids {
		t[node][id] = true
	}
}

// Taken returns what a new plan may not use. The plans that it replaces hold nothing against it, and neither do their
// pods, which go with them.
func (s *Snapshot) Taken(replaces []v1alpha1.ShardingPlan) Taken {
	taken := Taken{}
	replaced := make(map[types.UID]bool, len(replaces))
	for i := range replaces {
		replaced[replaces[i].UID] = true
	}
	for i := range s.Plans {
		if replaced[s.Plans[i].UID] {
			continue
		}
		for _, row := range s.Plans[i].Spec.Nodes {
			taken.add(row.Node, row.Devices...)
		}
	}
	s.takeByPods(taken, replaced)
	for node, inventory := range s.Inventories {
		takeRelatives(taken, node, inventory.Status.Devices)
	}
	return taken
}

// takeByPods adds what the kubelets report, and for pods of which they have not reported yet what their plan says.
func (s *Snapshot) takeByPods(taken Taken, replaced map[types.UID]bool) {
	plans := make(map[types.NamespacedName]*v1alpha1.ShardingPlan, len(s.Plans))
	for i := range s.Plans {
		plans[types.NamespacedName{Namespace: s.Plans[i].Namespace, Name: s.Plans[i].Name}] = &s.Plans[i]
	}
	goes := map[types.NamespacedName]bool{}
	for i := range s.Pods {
		pod := &s.Pods[i]
		plan := plans[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1alpha1.LabelPlan]}]
		if plan != nil && replaced[plan.UID] {
			goes[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = true
		}
		if (plan == nil || !uses(plan, pod.Spec.NodeName)) && !s.reported(pod) {
			s.takeWhole(taken, pod.Spec.NodeName)
		}
	}
	for node, inventory := range s.Inventories {
		for _, a := range inventory.Status.Allocations {
			if !goes[types.NamespacedName{Namespace: a.Namespace, Name: a.Pod}] {
				taken.add(node, a.Device)
			}
		}
	}
}

// reported says whether the kubelet told which devices a pod holds.
func (s *Snapshot) reported(pod *corev1.Pod) bool {
	inventory := s.Inventories[pod.Spec.NodeName]
	if inventory == nil {
		return false
	}
	for _, a := range inventory.Status.Allocations {
		if a.Namespace == pod.Namespace && a.Pod == pod.Name {
			return true
		}
	}
	return false
}

// takeWhole takes every device of a node: a pod runs there that may hold any of them.
func (s *Snapshot) takeWhole(taken Taken, node string) {
	inventory := s.Inventories[node]
	if inventory == nil {
		return
	}
	for i := range inventory.Status.Devices {
		taken.add(node, inventory.Status.Devices[i].ID)
	}
}

// takeRelatives takes the partitions of a taken device and the device of a taken partition. Plans outlive a change of
// the partitioning, so either may be in a plan while the other is in the inventory.
func takeRelatives(taken Taken, node string, devices []v1alpha1.Device) {
	for i := range devices {
		device := &devices[i]
		for id := range taken[node] {
			if device.Partition != nil && device.Partition.Parent == id || strings.HasPrefix(string(id), string(device.ID)+"-") {
				taken.add(node, device.ID)
				break
			}
		}
	}
}

func uses(plan *v1alpha1.ShardingPlan, node string) bool {
	for i := range plan.Spec.Nodes {
		if plan.Spec.Nodes[i].Node == node {
			return true
		}
	}
	return false
}
