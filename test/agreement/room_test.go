package agreement

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestNodesHaveRoomForThePodsOfLaunchers: three stages of two devices on nodes of four and of two are three pods, since launchers start equal ones. The
// larger node needs room for two of them.
func TestNodesHaveRoomForThePodsOfLaunchers(t *testing.T) {
	two, three := int32(2), int32(3)
	for asks, planned := range map[int64]bool{32: true, 33: false} {
		var now fleet.State
		for i, devices := range []int{4, 2} {
			host := plantest.Host(fmt.Sprintf("node-%d", i), true, plantest.Many(devices, plantest.H100)...)
			host.Inventory.Name = host.Name
			now.Inventories = append(now.Inventories, *host.Inventory)
			now.Nodes = append(now.Nodes, corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: host.Name},
				Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourcePods: resource.MustParse("110")}},
			})
		}
		snapshot, pod := fleet.NewSnapshot(now), &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(asks, resource.DecimalSI)}},
		}}}}
		request := shape.Request{
			Placement: plantest.Placement(2048, 4, plantest.Parallelism(v1alpha1.Parallelism{Tensor: &two, Pipeline: &three})), Model: plantest.Llama(t, 8),
			Room: snapshot.Room("models/chat", fleet.RequestsOf(pod), &fleet.Usage{}), Pods: launch.OnNodes(nil),
		}
		made, err := plan.Within(context.Background(), snapshot.Cluster("", nil, nil), request)
		if refused := (*plan.Unplaceable)(nil); (err == nil) != planned || err != nil && !errors.As(err, &refused) {
			t.Errorf("pods of %d CPU on nodes of 64: %v, %v", asks, made, err)
		}
		if made == nil {
			continue
		}
		if pods := launch.OnNodes(nil)(made); len(pods["node-0"]) != 2 || len(pods["node-1"]) != 1 {
			t.Errorf("pods %v", pods)
		}
	}
}
