package mesh

import (
	"fmt"
	"slices"
	"strings"
)

// folding names the dimensions of a dense mesh that the layers of experts lay out anew, and those that they get.
type folding struct{ tensor, context, data, expertTensor, expert, expertData string }

// megatron is Megatron's folding: its second RankGenerator has expert tensor, expert and expert data parallelism where the
// first one has tensor, context and data parallelism.
var megatron = folding{"tp", "cp", "dp", "etp", "ep", "edp"}

// titan is torchtitan's: [pp, dp_replicate, efsdp, ep, etp] over [pp, dp_replicate, dp_shard, cp, tp].
var titan = folding{"tp", "cp", "dp_shard", "etp", "ep", "efsdp"}

// Fold is how layers of experts see the ranks of a mesh of tp, cp, dp and pp, as Megatron's second generator does: they are
// laid out anew as etp (expert tensor), ep and edp (expert data) in the same order, and the pipeline stays what it is. edp
// takes what the other two leave of a stage. It refuses sizes that do not divide a stage, and those that would give the
// experts other pipeline groups than the other layers, which happens where pp is not the slowest dimension. Source:
// Megatron-LM core/parallel_state.initialize_model_parallel.
func (m *Mesh) Fold(expertTensor, expert int) (*Mesh, error) {
	return m.fold(megatron, expertTensor, expert)
}

func (m *Mesh) fold(f folding, expertTensor, expert int) (*Mesh, error) {
	stage := 1
	for _, name := range []string{f.tensor, f.context, f.data} {
		stage *= m.size(name)
	}
	if expertTensor < 1 || expert < 1 {
		return nil, fmt.Errorf("%s=%d and %s=%d: both must be at least 1", f.expertTensor, expertTensor, f.expert, expert)
	}
	if expertTensor > stage || expert > stage || stage%(expertTensor*expert) != 0 {
		return nil, fmt.Errorf("%s=%d x %s=%d does not divide the %d ranks of a stage (%s=%d x %s=%d x %s=%d)", f.expertTensor, expertTensor, f.expert, expert,
			stage, f.tensor, m.size(f.tensor), f.context, m.size(f.context), f.data, m.size(f.data))
	}
	names, sizes := f.names(m.names), m.sizesOf()
	for _, name := range []string{f.tensor, f.context, f.data} {
		delete(sizes, name)
	}
	sizes[f.expertTensor], sizes[f.expert], sizes[f.expertData] = expertTensor, expert, stage/(expertTensor*expert)
	folded, err := New(strings.Join(names, "-"), sizes)
	if err != nil {
		return nil, fmt.Errorf("experts: %w", err)
	}
	return folded, m.checkPipelines(f, folded)
}

// names are those of the folded mesh: each in the place of the dimension that it replaces, experts before their data.
func (f folding) names(dense []string) []string {
	var names []string
	for _, name := range dense {
		switch name {
		case f.tensor:
			names = append(names, f.expertTensor)
		case f.data:
			if !slices.Contains(dense, f.expert) {
				names = append(names, f.expert)
			}
			names = append(names, f.expertData)
		case f.context:
		default:
			names = append(names, name)
		}
	}
	for i, name := range []string{f.expertTensor, f.expert, f.expertData} {
		if !slices.Contains(names, name) {
			names = slices.Insert(names, i, name)
		}
	}
	return names
}

// checkPipelines refuses a folded mesh whose stages or copies are not those of the mesh: a dimension that both have must
// be at the same stride.
func (m *Mesh) checkPipelines(f folding, folded *Mesh) error {
	for i, name := range m.names {
		at := folded.index(name)
		if at < 0 || name == f.expert || m.sizes[i] == 1 || m.strides[i] == folded.strides[at] {
			continue
		}
		return fmt.Errorf("%s groups of the experts would not be those of the other layers (strides %d and %d in the orders %s and %s): put %s last in the order, or choose %s so that %s=%d",
			name, folded.strides[at], m.strides[i], folded.Order(), m.Order(), name, f.expert, f.expertData, m.size(f.data))
	}
	return nil
}

// size is the size of a dimension, 1 where the order lacks it.
func (m *Mesh) size(name string) int {
	if i := m.index(name); i >= 0 {
		return m.sizes[i]
	}
	return 1
}
