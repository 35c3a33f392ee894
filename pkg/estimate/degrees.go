package estimate

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Degrees are how one instance of a model is spread over devices. A degree of 0 counts as 1.
type Degrees struct {
	// Tensor ranks share out heads and widths, Pipeline stages the layers.
	Tensor   int `json:"tensor"`
	Pipeline int `json:"pipeline"`
	// AttentionData groups of tensor ranks serve sequences of their own and share the experts; Expert of a stage's ranks
	// have whole experts.
	AttentionData int `json:"attentionData"`
	Expert        int `json:"expert"`
}

// Devices is the number of devices of an instance.
func (d Degrees) Devices() int { return d.Tensor * d.Pipeline * d.AttentionData }

// group is the number of ranks that share a layer.
func (d Degrees) group() int { return d.Tensor * d.AttentionData }

// maxDegree bounds a degree.
const maxDegree = 1 << 12

// normal fills in degrees of 1 and refuses those that are out of range.
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

// legal says which rule of the engines the degrees break, and returns them with the experts split as they must be: a
// mixture in blocks that tensor ranks would cut is spread by whole experts.
func (d Degrees) legal(m *model.Model, weights v1alpha1.Precision) (Degrees, []string, error) {
	a := &m.Architecture
	if d.Pipeline > int(a.Layers) {
		return d, nil, fmt.Errorf("pp %d: %s has %d layers: lower it to at most that", d.Pipeline, m.Name, a.Layers)
	}
	if err := d.heads(m); err != nil {
		return d, nil, err
	}
	if a.MoE == nil {
		return d, nil, d.dense(m, weights)
	}
	return d.mixture(m, weights)
}

// heads checks that tensor ranks get whole heads.
func (d Degrees) heads(m *model.Model) error {
	at := &m.Architecture.Attention
	heads, kv := int(at.Heads), int(at.KVHeads)
	if heads%d.Tensor != 0 {
		return fmt.Errorf("tp %d: the %d heads of %s cannot be shared out evenly: use a divisor of %d", d.Tensor, heads, m.Name, heads)
	}
	if at.MLA == nil && at.Compressed == nil && kv%d.Tensor != 0 && d.Tensor%kv != 0 {
		return fmt.Errorf("tp %d: the %d key and value heads of %s can be neither shared out nor repeated evenly: use a divisor or a multiple of %d",
			d.Tensor, kv, m.Name, kv)
	}
	return nil
}

// dense checks what a model without experts cannot do.
func (d Degrees) dense(m *model.Model, weights v1alpha1.Precision) error {
	switch {
	case d.Expert > 1:
		return fmt.Errorf("ep %d: %s has no experts: leave it at 1", d.Expert, m.Name)
	case d.AttentionData > 1:
		return fmt.Errorf("dp %d: %s has no experts to share among groups: use replicas %d instead", d.AttentionData, m.Name, d.AttentionData)
	}
	if width := int(m.Architecture.MLP.IntermediateSize); blockwise(m, weights) && cuts(width, d.Tensor) {
		return fmt.Errorf("tp %d: the width %d of %s's blocks in FP8 would be cut inside a block of %d: use a degree that divides %d", d.Tensor, width, m.Name,
			blockSize, width/blockSize)
	}
	return nil
}

// mixture checks how experts are spread.
func (d Degrees) mixture(m *model.Model, weights v1alpha1.Precision) (Degrees, []string, error) {
	moe := m.Architecture.MoE
	group, experts, width := d.group(), int(moe.Experts), int(moe.IntermediateSize)
	if group%d.Expert != 0 {
		return d, nil, fmt.Errorf("ep %d: the %d ranks of a stage (tp × dp) cannot be grouped by it: use a divisor of %d", d.Expert, group, group)
	}
	if experts%d.Expert != 0 {
		return d, nil, fmt.Errorf("ep %d: the %d experts of %s cannot be shared out evenly: use a divisor of %d", d.Expert, experts, m.Name, experts)
	}
	if !blockwise(m, weights) || !cuts(width, group/d.Expert) {
		return d, nil, nil
	}
	if d.Expert > 1 {
		return d, nil, fmt.Errorf("ep %d: %d ranks share the width %d of an expert, which cuts blocks of %d: use ep %d", d.Expert, group/d.Expert, width, blockSize, group)
	}
	d.Expert = group
	if experts%group != 0 {
		return d, nil, fmt.Errorf("tp %d: its ranks cut the blocks of an expert's width %d, and the %d experts cannot be shared out evenly instead: lower tp", d.Tensor, width, experts)
	}
	return d, []string{fmt.Sprintf("%d ranks would cut the width %d of an expert inside a block of %d: experts are spread whole, ep %d", group, width, blockSize, group)}, nil
}

// blockSize is the width of a block with a scale of its own in FP8 checkpoints (weight_block_size [128, 128]).
const blockSize = 128

// blockwise says whether the weights are FP8 with a scale for each block, which a checkpoint of the catalogue says.
func blockwise(m *model.Model, weights v1alpha1.Precision) bool {
	return weights == v1alpha1.FP8 && m.Native == v1alpha1.FP8 && m.CheckpointScales() > 0
}

// cuts says whether so many ranks cut blocks of a width apart. A width of its own multiples is only cut by the ranks.
func cuts(width, ranks int) bool {
	return width%blockSize == 0 && (width%ranks != 0 || width/ranks%blockSize != 0)
}
