package estimate

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Degrees are how one instance of a model is spread over devices. A degree of 0 counts as 1.
type Degrees struct {
	// Tensor ranks share out heads and widths, Pipeline stages share out the layers.
	Tensor   int `json:"tensor"`
	Pipeline int `json:"pipeline"`
	// AttentionData groups of tensor ranks serve sequences of their own and share the experts. Expert is how many of a
	// stage's ranks whole experts are spread over.
	AttentionData int `json:"attentionData"`
	Expert        int `json:"expert"`
}

// Devices returns the number of devices of an instance.
func (d Degrees) Devices() int { return d.Tensor * d.Pipeline * d.AttentionData }

// group returns the number of ranks that share a layer.
func (d Degrees) group() int { return d.Tensor * d.AttentionData }

// maxDegree bounds a degree.
const maxDegree = 1 << 12

// normal replaces degrees of 0 by 1 and refuses degrees that are out of range.
func (d Degrees) normal() (Degrees, error) {
	for _, f := range [...]struct {
		name  string
		value *int
	}{{"tp", &d.Tensor}, {"pp", &d.Pipeline}, {"dp", &d.AttentionData}, {"ep", &d.Expert}} {
		if *f.value < 0 || *f.value > maxDegree {
			return d, fmt.Errorf("%s %d: set it to a degree from 1 to %d", f.name, *f.value, maxDegree)
		}
		*f.value = max(1, *f.value)
	}
	if d.Devices() > maxDegree {
		return d, fmt.Errorf("tp × pp × dp is %d: lower it to at most %d devices", d.Devices(), maxDegree)
	}
	return d, nil
}

// legal refuses degrees that the engine cannot run, and returns them with the experts split as they must be: a mixture whose
// experts the ranks would cut is spread by whole experts. Training is nil for serving, and data and context its data and context ranks.
func (p *place) legal(training *v1alpha1.TrainingWorkload, data, context int) error {
	m, d := p.Model, &p.Degrees
	padded := m.Architecture
	if training == nil {
		padded = *engine.Padded(&m.Architecture, d.Tensor*p.Engine.Cores(p.on()))
	}
	if m.Architecture.MoE == nil && d.AttentionData > 1 {
		return fmt.Errorf("dp %d: %s has no experts to share among groups: use replicas %d instead", d.AttentionData, m.Name, d.AttentionData)
	}
	c := &engine.Case{
		Model: m.Name, Architecture: &padded, Training: training, Tensor: d.Tensor, Stages: d.Pipeline, Data: data, Context: context, Expert: d.Expert,
		Side: m.BlockSide(p.Weights), CutsBlocks: m.CutsBlocks(p.Weights, d.Tensor),
	}
	refused := p.Engine.Refuses(c)
	if refused == nil {
		return nil
	}
	if refused.Degree == engine.DegreeExpert && d.Expert == 1 && training == nil {
		if c.Expert = d.group(); p.Engine.Refuses(c) == nil {
			d.Expert = c.Expert
			p.warnings = append(p.warnings, fmt.Sprintf("%s: experts are spread whole, ep %d", refused.Reason(), d.Expert))
			return nil
		}
	}
	return fmt.Errorf("%s %d: %s", flags[refused.Degree], refused.Value, refused.Reason())
}

// flags are the names of the degrees on the command line.
var flags = map[string]string{
	engine.DegreeTensor: "tp", engine.DegreePipeline: "pp", engine.DegreeData: "dp", engine.DegreeExpert: "ep", engine.DegreeContext: "cp",
	engine.FieldSequenceParallel: "sequence-parallel", engine.FieldVirtualStages: "virtual-stages", engine.FieldCompute: "fp8",
}
