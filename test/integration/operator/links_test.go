package operator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
)

// connect puts the first devices of node n1 behind a switch of so many MB/s.
func (w world) connect(devices int, mbps int64) {
	w.Helper()
	w.changeInventory(func(i *v1alpha1.AcceleratorInventory) {
		domain := v1alpha1.LinkDomain{Name: "nvswitch", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, DeviceMBps: mbps}
		for k := range devices {
			domain.Members = append(domain.Members, operation.DeviceID(k))
		}
		i.Status.Links.Domains = []v1alpha1.LinkDomain{domain}
	})
}

// awaitLinks waits until mesh llm says that tensor groups and the world have this slowest link.
func (w world) awaitLinks(slowest v1alpha1.SlowestLink) {
	w.Helper()
	world, tensor := slowest, slowest
	world.Group, tensor.Group = "world", "tp"
	var diff string
	defer func() {
		if diff != "" {
			w.Logf("slowest links (-want +got):\n%s", diff)
		}
	}()
	w.Eventually("the mesh names its slowest links", func(context.Context) bool {
		diff = cmp.Diff([]v1alpha1.SlowestLink{world, tensor}, w.mesh().Status.SlowestLinks)
		return diff == ""
	})
}

func TestMeshNamesItsSlowestLinks(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 4)
	w.connect(3, 450_000)
	w.operate(operator.Options{Planner: operation.FirstFit})
	w.place(w.PlacementOf("llm", 2, 1))
	w.awaitPlan("llm", "llm-1")
	w.awaitLinks(v1alpha1.SlowestLink{Kind: "NVLink", MBps: 450_000, Ranks: []int32{0, 1}})
	w.connect(3, 225_000)
	w.awaitLinks(v1alpha1.SlowestLink{Kind: "NVLink", MBps: 225_000, Ranks: []int32{0, 1}})
	// One device of the second copy is not behind the switch.
	w.change(func(s *v1alpha1.ModelPlacementSpec) { *s.Replicas = 2 })
	w.awaitPlan("llm", "llm-2")
	w.awaitLinks(v1alpha1.SlowestLink{Kind: "PCIe", Replica: 1, Ranks: []int32{0, 1}})
}
