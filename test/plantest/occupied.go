package plantest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

var gb200 = Product{Vendor: "nvidia", Name: "NVIDIA GB200", Family: v1alpha1.FamilyGPU, MiB: 189471, GBps: 8000, TFLOPS: map[v1alpha1.Precision]int64{v1alpha1.BF16: 2500, v1alpha1.FP8: 5000}}

// HalfOccupied are nodes of eight devices in five shapes, one of them in fabrics over 18 nodes, whose devices are held one
// by one with equal odds.
func HalfOccupied(n int) []fleet.Node {
	random := rand.New(rand.NewPCG(1, 2))
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		p := []Product{H100, Mi300x, L40s, H200, gb200}[i%5]
		nodes[i] = Host(fmt.Sprintf("n%05d", i), p.Name != L40s.Name, Times8(p)...)
		if p.Name == gb200.Name {
			nodes[i].Inventory.Status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: fmt.Sprint("f", i/5/18)}
		}
		nodes[i].Labels["rack"] = fmt.Sprint("r", i/32)
		nodes[i].Labels["zone"] = fmt.Sprint("z", i%3)
		nodes[i].Taken = map[v1alpha1.DeviceID]string{}
		for _, d := range nodes[i].Inventory.Status.Devices {
			if random.IntN(2) == 0 {
				nodes[i].Taken[d.ID] = "models/other"
			}
		}
	}
	return nodes
}
