package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// BenchmarkRoom plans where no node has room for all pods that its devices could serve: copies of one pod, of which a node has room for one,
// as many as nodes; and a copy with a pod a device, of which every node has room for one too few, at three sizes.
func BenchmarkRoom(b *testing.B) {
	one := int32(1)
	for name, c := range map[string]struct {
		asks    int64
		request func(nodes int) shape.Request
	}{
		"copies": {40, func(nodes int) shape.Request {
			return shape.Request{Placement: plantest.Placement(8192, 16, plantest.Replicas(int32(nodes))), Model: plantest.Llama(b, 8)}
		}},
		"pods": {9, func(int) shape.Request {
			placement := plantest.Placement(8192, 16)
			placement.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: &one}
			return shape.Request{Placement: placement, Model: plantest.Llama(b, 405)}
		}},
	} {
		for _, nodes := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				cpus, taken := make([]int64, nodes), make([]int64, nodes)
				for i := range cpus {
					cpus[i] = 64
				}
				now, usage := crowd(cpus, taken)
				request := c.request(nodes)
				request.Room = now.Room("models/chat", fleet.RequestsOf(asking(c.asks)), usage)
				cluster := now.Cluster("", nil, nil)
				for b.Loop() {
					_, err := Within(b.Context(), cluster, request)
					if no := (*Unplaceable)(nil); err != nil && !errors.As(err, &no) {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
