package operator

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// planOf makes a plan of one tensor group over devices written as node/device.
func planOf(placement string, revision int64, devices []string) *v1alpha1.ShardingPlan {
	return &v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: fmt.Sprintf("%s-%d", placement, revision),
			Labels: map[string]string{v1alpha1.LabelPlacement: placement},
		},
		Spec: *specOf(placement, revision, devices),
	}
}

func specOf(placement string, revision int64, devices []string) *v1alpha1.ShardingPlanSpec {
	spec := operation.TensorPlan(placement, revision, len(devices))
	for i, device := range devices {
		node, id, _ := strings.Cut(device, "/")
		spec.Nodes = append(spec.Nodes, v1alpha1.PlanRow{Node: node, TensorRank: int32(i), Devices: []v1alpha1.DeviceID{v1alpha1.DeviceID(id)}})
	}
	return spec
}

// devicesOf returns the devices of a plan as node/device.
func devicesOf(plan *v1alpha1.ShardingPlan) []string {
	var devices []string
	for _, row := range plan.Spec.Nodes {
		for _, id := range row.Devices {
			devices = append(devices, row.Node+"/"+string(id))
		}
	}
	return devices
}
