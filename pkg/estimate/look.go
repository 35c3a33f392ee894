package estimate

import (
	"errors"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/shape"
)

// look is a deployment as the planner sees it: a placement that has devices of one kind for itself.
type look struct {
	tier   *shape.Tier
	flavor *shape.Flavor
	memory memory.Device
}

// look asks the planner about a workload on so many devices of the deployment's product.
func (p *place) look(of *v1alpha1.ModelPlacementSpec, limits shape.Limits, devices int) (*look, error) {
	of.Engine, of.Quantization, of.KVCacheType = p.Engine.Name, v1alpha1.Quantization(p.Weights), v1alpha1.KVCacheType(p.KV)
	request := shape.Request{Placement: &v1alpha1.ModelPlacement{Spec: *of}, Model: p.Model, Limits: limits, Site: p.Site}
	problem, err := shape.New(fleet.NewCluster([]fleet.Node{nodeOf(&p.Product)}), request)
	if err != nil {
		return nil, err
	}
	wires := &fleet.Wires{Link: p.Product.LinkMBps > 0, Network: int64(p.device.Network)}
	return &look{problem.Tier(shape.Setting{Format: problem.Ladder[0]}), problem.Imagined(0, wires, p.island, devices), problem.Memory(0)}, nil
}

// nodeOf returns a node with one free device of a product.
func nodeOf(p *accelerator.Product) fleet.Node {
	inventory := &v1alpha1.AcceleratorInventory{}
	inventory.Status.Devices = []v1alpha1.Device{{
		ID: "one", Vendor: p.Vendor, Family: p.Family, Product: p.Name, Architecture: p.Architecture,
		Memory: &v1alpha1.DeviceMemory{TotalMiB: p.UsableMiB()}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, Performance: &p.Performance,
	}}
	return fleet.Node{Name: "imagined", Inventory: inventory}
}

// at looks at the shape of some degrees with so many data and context ranks, of which inside share an island. The candidate has a footprint whether
// it fits or not.
func (l *look) at(d Degrees, data, context, inside int) (*shape.Candidate, error) {
	degrees := shape.Degrees{Tensor: d.Tensor, Data: data, Expert: d.Expert, Context: context, Decode: 1, Inside: inside}
	c := l.tier.On(l.flavor, degrees, d.Pipeline, slices.Repeat([]int64{l.flavor.Offer}, d.Pipeline))
	if c.Verdict == shape.NotDivided {
		return nil, errors.New(c.Why())
	}
	if c.Ends == nil { // it does not fit, and is shown as the engine would divide it
		end := 0
		for _, n := range l.tier.Problem.Engine.SplitFor(l.tier.Problem.Workload.Training, c.Footprint.Layers, d.Pipeline) {
			end += n
			c.Ends = append(c.Ends, end)
		}
	}
	return &c, nil
}

// degree is the value of a degree in a placement.
func degree(n int) *int32 {
	d := int32(n)
	return &d
}

// parallelism returns the degrees as a placement asks for them.
func (d Degrees) parallelism(data, context int) *v1alpha1.Parallelism {
	return &v1alpha1.Parallelism{Tensor: degree(d.Tensor), Pipeline: degree(d.Pipeline), Data: degree(data), Expert: degree(d.Expert), Context: degree(context)}
}
