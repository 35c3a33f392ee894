package plantest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
)

// DrawNode is a node as it may be at some moment: with devices of some products, free, taken, broken or cordoned, linked,
// in a fabric with others, or without any.
func DrawNode(t *rapid.T, name string) fleet.Node {
	var products []Product
	for range rapid.IntRange(0, 5).Draw(t, "devices") {
		products = append(products, rapid.SampledFrom([]Product{H100, H100, H200, Mi300x, T4}).Draw(t, "product"))
	}
	n := Host(name, rapid.Bool().Draw(t, "linked"), products...)
	status := &n.Inventory.Status
	claimed := rapid.Bool().Draw(t, "claimed")
	for i := range status.Devices {
		d := &status.Devices[i]
		if claimed {
			d.ClaimAttribute = &v1alpha1.ClaimAttribute{Name: "gpu.example.com/uuid"}
		}
		d.Memory.UsedByOthersMiB = rapid.SampledFrom([]int64{0, 0, 0, 9000, 70000}).Draw(t, "used")
		switch rapid.IntRange(0, 9).Draw(t, "state") {
		case 0:
			d.Health.State = v1alpha1.Unhealthy
		case 1:
			n.Inventory.Spec.CordonedDevices = append(n.Inventory.Spec.CordonedDevices, d.ID)
		case 2:
			status.Allocations = append(status.Allocations, v1alpha1.Allocation{Device: d.ID, Namespace: "x", Pod: "y"})
		case 3:
			n.Taken = map[v1alpha1.DeviceID]string{d.ID: rapid.SampledFrom([]string{"", "models/a", "models/b"}).Draw(t, "holder")}
		case 4:
			status.Devices = append(status.Devices, *d)
		}
	}
	if fabric := rapid.IntRange(0, 3).Draw(t, "fabric"); fabric > 0 && len(status.Links.Domains) > 0 {
		status.Links.Domains[0].Fabric = &v1alpha1.Fabric{ClusterUUID: "f", CliqueID: fmt.Sprint(fabric)}
		status.Links.Domains[0].DeviceMBps = rapid.SampledFrom([]int64{450000, 900000}).Draw(t, "rate")
	}
	if rapid.Bool().Draw(t, "nic") {
		status.NICs = []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: v1alpha1.NICInfiniBand, Gbps: 400, Up: true}}
	}
	n.Labels["rack"] = rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "rack")
	n.Unschedulable = rapid.IntRange(0, 9).Draw(t, "unschedulable") == 0
	return n
}

// Ask is a placement and its model.
type Ask struct {
	Placement *v1alpha1.ModelPlacement
	Model     *model.Model
}

func asking(m *model.Model, length, sequences int32, changes ...func(*Spec)) Ask {
	return Ask{Placement(length, sequences, changes...), m}
}

// Asks cover selectors, topology levels, copies, pipelines and what cannot be placed.
func Asks(t testing.TB) []Ask {
	rack := func(s *Spec) { s.Topology = &v1alpha1.TopologyRequirements{Required: Ptr("rack")} }
	hosts := func(s *Spec) {
		s.Topology = &v1alpha1.TopologyRequirements{Preferred: Ptr("kubernetes.io/hostname")}
	}
	chosen := func(s *Spec) {
		s.Devices = &v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"rack": "r1"}}}
	}
	claimed := func(s *Spec) { s.Enforcement = v1alpha1.EnforcementClaim }
	tensor := Parallelism(v1alpha1.Parallelism{Tensor: Ptr(int32(4))})
	return []Ask{
		asking(Llama(t, 8), 8192, 16), asking(Llama(t, 8), 8192, 4, Replicas(3)), asking(Llama(t, 8), 4096, 4, chosen),
		asking(Llama(t, 70), 4096, 4, Format("BF16")), asking(Llama(t, 70), 4096, 4, Format("BF16"), rack),
		asking(Llama(t, 70), 4096, 4, hosts), asking(Llama(t, 70), 2048, 2, tensor, Replicas(2)), asking(Llama(t, 405), 131072, 64),
		asking(Llama(t, 8), 8192, 16, claimed),
	}
}
