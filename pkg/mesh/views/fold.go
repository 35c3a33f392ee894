package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// folding names the dimensions of a dense mesh that the layers of experts lay out anew, and the dimensions that replace them.
type folding struct{ tensor, context, data, expertTensor, expert, expertData string }

// megatron is Megatron's folding: its second RankGenerator has expert tensor, expert and expert data parallelism where the
// first one has tensor, context and data parallelism.
var megatron = folding{"tp", "cp", "dp", "etp", "ep", "edp"}

// titan is the folding of torchtitan: [pp, dp_replicate, efsdp, ep, etp] over [pp, dp_replicate, dp_shard, cp, tp].
var titan = folding{"tp", "cp", "dp_shard", "etp", "ep", "efsdp"}

// Fold returns the mesh in which layers of experts see the ranks of a mesh of tp, cp, dp and pp, as Megatron's second generator
// does: the ranks are laid out anew as etp (expert tensor), ep and edp (expert data) in the same order, and the pipeline stays what
// it is. edp takes what etp and ep leave of a stage. It refuses sizes that do not divide a stage, and sizes that would give the
// experts other pipeline groups than the other layers have, which happens where pp is not the slowest dimension. Source:
// Megatron-LM core/parallel_state.initialize_model_parallel.
func Fold(m *mesh.Mesh, expertTensor, expert int) (*mesh.Mesh, error) {
	return megatron.of(m, expertTensor, expert)
}

// of returns the mesh of the experts of a dense mesh.
func (f folding) of(m *mesh.Mesh, expertTensor, expert int) (*mesh.Mesh, error) {
	sizes, stage := sizesOf(m), 1
	for _, name := range []string{f.tensor, f.context, f.data} {
		stage *= max(1, sizes[name])
		delete(sizes, name)
	}
	if expertTensor < 1 || expert < 1 {
		return nil, fmt.Errorf("%s=%d and %s=%d: both must be at least 1", f.expertTensor, expertTensor, f.expert, expert)
	}
	if expertTensor > stage || expert > stage || stage%(expertTensor*expert) != 0 {
		return nil, fmt.Errorf("%s=%d x %s=%d does not divide the %d ranks of a stage (%s=%d x %s=%d x %s=%d)", f.expertTensor, expertTensor, f.expert, expert,
			stage, f.tensor, max(1, m.Size(f.tensor)), f.context, max(1, m.Size(f.context)), f.data, max(1, m.Size(f.data)))
	}
	sizes[f.expertTensor], sizes[f.expert], sizes[f.expertData] = expertTensor, expert, stage/(expertTensor*expert)
	folded, err := mesh.New(strings.Join(f.names(namesOf(m)), "-"), sizes)
	if err != nil {
		return nil, fmt.Errorf("experts: %w", err)
	}
	return folded, f.checkPipelines(m, folded)
}

// names lists the dimensions of the folded mesh: each in the place of the dimension that it replaces, experts before their data.
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

// checkPipelines refuses a folded mesh whose stages or copies differ from the dense mesh's: a dimension that both have must have
// the same stride.
func (f folding) checkPipelines(dense, folded *mesh.Mesh) error {
	for _, d := range dense.Dimensions() {
		if folded.Size(d.Name) == 0 || d.Name == f.expert || d.Size == 1 {
			continue
		}
		was, _ := dense.Rank(map[string]int{d.Name: 1}) // the dimension has more than one
		is, err := folded.Rank(map[string]int{d.Name: 1})
		if err != nil {
			return err
		}
		if is != was {
			return fmt.Errorf("%s groups of the experts would not be those of the other layers (strides %d and %d in the orders %s and %s): put %s last in the order, or choose %s so that %s=%d",
				d.Name, is, was, folded.Order(), dense.Order(), d.Name, f.expert, f.expertData, max(1, dense.Size(f.data)))
		}
	}
	return nil
}
