package fleet

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// BenchmarkIndexRead follows a cluster of nodes of eight devices, half of which plans hold, of which one node changes
// between two plans.
func BenchmarkIndexRead(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		inventories, nodes := make([]v1alpha1.AcceleratorInventory, n), make([]corev1.Node, n)
		var plans []v1alpha1.ShardingPlan
		for i := range n {
			name := fmt.Sprintf("n%05d", i)
			nodes[i] = corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1", Labels: map[string]string{corev1.LabelHostname: name}}}
			inventories[i] = v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}}
			var held []v1alpha1.DeviceID
			for j := range 8 {
				id := v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%02x:00.0", j))
				inventories[i].Status.Devices = append(inventories[i].Status.Devices, v1alpha1.Device{
					ID: id, Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA L40S", Memory: &v1alpha1.DeviceMemory{TotalMiB: 46068},
					Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
				})
				if j < 4 {
					held = append(held, id)
				}
			}
			made := planOn(name, held...)
			made.Name, made.UID = name+"-1", types.UID(name)
			plans = append(plans, made)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var x Follower
			all := State{Plans: plans, Inventories: inventories, Nodes: nodes}
			now := all.informed()
			x.FollowInformed(now)
			b.ReportAllocs()
			for i := 2; b.Loop(); i++ {
				changed := inventories[0]
				changed.ResourceVersion = fmt.Sprint(i)
				now.Inventories[0] = &changed
				x.FollowInformed(now).Cluster("", plans[:1], nil)
			}
		})
	}
}
