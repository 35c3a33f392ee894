package shape

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

// neuron is a node with a device of AWS, or with one of its cores.
func neuron(partition string) *fleet.Cluster {
	d := v1alpha1.Device{
		ID: "one", Vendor: "aws", Product: "NeuronDevice (Inferentia2)", Architecture: "Inferentia2",
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 16384}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	if partition != "" {
		d.Partition = &v1alpha1.DevicePartition{Kind: partition}
	}
	inventory := &v1alpha1.AcceleratorInventory{}
	inventory.Status.Devices = []v1alpha1.Device{d}
	return fleet.NewCluster([]fleet.Node{{Name: "neuron", Inventory: inventory}})
}

// TestPaddedModel: on AWS's devices a tensor degree that is asked for need not divide the model, which then has as many heads as their cores share.
func TestPaddedModel(t *testing.T) {
	for name, c := range map[string]struct {
		on          *fleet.Cluster
		tensor      int32
		heads, keys int32
	}{
		"devices":       {neuron(""), 12, 72, 24},
		"cores":         {neuron("core"), 24, 72, 24},
		"none is asked": {neuron(""), 0, 64, 8},
	} {
		placement := &v1alpha1.ModelPlacement{Spec: v1alpha1.ModelPlacementSpec{Workload: plantest.Serving}}
		if c.tensor > 0 {
			placement.Spec.Parallelism = &v1alpha1.Parallelism{Tensor: &c.tensor}
		}
		of, err := New(c.on, Request{Placement: placement, Model: catalogued(t, "Llama-3.3-70B")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if at := of.Model.Architecture.Attention; at.Heads != c.heads || at.KVHeads != c.keys {
			t.Errorf("%s: %d heads and %d of keys, want %d and %d", name, at.Heads, at.KVHeads, c.heads, c.keys)
		}
	}
}
