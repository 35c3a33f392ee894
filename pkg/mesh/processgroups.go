package mesh

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// maxListedRanks bounds the worlds whose groups are listed in a DeviceMesh.
const maxListedRanks = 512

// processGroups are the groups of one copy. Where an expert group is only a part of the ranks that differ along its
// dimensions, its size says so and the ranks are needed to tell which.
func processGroups(m *Mesh, engine v1alpha1.Engine, s *v1alpha1.Strategy, library Library) ([]v1alpha1.ProcessGroups, error) {
	groups := []v1alpha1.ProcessGroups{listed("world", m.names, [][]int32{m.World()}, library)}
	optional := map[string]int32{"cp": s.Context, "dcp": s.DecodeContext, "ep": s.Expert}
	for _, name := range []string{"tp", "pp", "dp", "cp", "dcp", "ep"} {
		size, is := optional[name]
		if is && size < 2 {
			continue
		}
		ranks, over, err := m.ruled(engine, name, int(size), []string{name})
		if err != nil {
			return nil, err
		}
		groups = append(groups, listed(name, over, ranks, library))
	}
	return groups, nil
}

// ruled lists the groups of a kind by the rule that they follow, and the dimensions along which their members differ. Where groups are
// parts of what their dimensions span, the engine's rule says which.
func (m *Mesh) ruled(engine v1alpha1.Engine, kind string, size int, dimensions []string) (groups [][]int32, over []string, err error) {
	switch kind {
	case "ep":
		return m.ExpertGroups(engine, size)
	case "dcp":
		groups, err = m.DecodeContextGroups(size)
		return groups, []string{"tp"}, err
	default:
		groups, err = m.Groups(dimensions...)
		return groups, dimensions, err
	}
}

func listed(name string, dimensions []string, ranks [][]int32, library Library) v1alpha1.ProcessGroups {
	g := v1alpha1.ProcessGroups{
		Name: name, Dimensions: dimensions, Count: int32(len(ranks)), Size: int32(len(ranks[0])),
		Library: library.Name, TorchBackend: library.TorchBackend,
	}
	if len(ranks)*len(ranks[0]) > maxListedRanks {
		return g
	}
	for _, r := range ranks {
		g.Ranks = append(g.Ranks, r)
	}
	return g
}

// DecodeContextGroups lists the groups of tensor ranks that share out the tokens of the cache: neighbours, as many as the
// size says. It refuses a size that does not divide the tensor ranks. Source: vLLM's initialize_model_parallel.
func (m *Mesh) DecodeContextGroups(size int) ([][]int32, error) {
	wide, err := m.Groups("tp")
	if err != nil {
		return nil, err
	}
	if size < 1 || len(wide[0])%size != 0 {
		return nil, fmt.Errorf("decode context size %d does not divide the %d tensor ranks: use a divisor", size, len(wide[0]))
	}
	groups := make([][]int32, 0, m.world/size)
	for _, group := range wide {
		groups = slices.AppendSeq(groups, slices.Chunk(group, size))
	}
	return groups, nil
}
