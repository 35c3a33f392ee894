package mesh

import "github.com/rankwright/rankwright/api/v1alpha1"

// maxListedRanks bounds the worlds whose groups are listed in a DeviceMesh.
const maxListedRanks = 512

// processGroups are the groups of one copy. Where an expert group is only a part of the ranks that differ along its
// dimensions, its size says so and the ranks are needed to tell which.
func processGroups(m *Mesh, engine v1alpha1.Engine, expert int, library libraries) ([]v1alpha1.ProcessGroups, error) {
	groups := []v1alpha1.ProcessGroups{listed("world", m.names, [][]int32{m.World()}, library)}
	for _, name := range []string{"tp", "pp", "dp", "cp"} {
		at := m.index(name)
		if at < 0 || (name == "cp" && m.sizes[at] == 1) {
			continue
		}
		ranks, err := m.Groups(name)
		if err != nil {
			return nil, err
		}
		groups = append(groups, listed(name, []string{name}, ranks, library))
	}
	if expert > 1 {
		ranks, over, err := m.ExpertGroups(engine, expert)
		if err != nil {
			return nil, err
		}
		groups = append(groups, listed("ep", over, ranks, library))
	}
	return groups, nil
}

func listed(name string, dimensions []string, ranks [][]int32, library libraries) v1alpha1.ProcessGroups {
	g := v1alpha1.ProcessGroups{
		Name: name, Dimensions: dimensions, Count: int32(len(ranks)), Size: int32(len(ranks[0])),
		Library: library.name, TorchBackend: library.torch,
	}
	if len(ranks)*len(ranks[0]) > maxListedRanks {
		return g
	}
	for _, r := range ranks {
		g.Ranks = append(g.Ranks, r)
	}
	return g
}
