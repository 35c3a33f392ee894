package mesh

import (
	"fmt"
	"slices"
	"strings"
)

// Views are the ways in which an engine divides the same ranks.
type Views struct {
	// Preset is the engine.
	Preset *Preset
	// Dense is the mesh of all layers but those of experts.
	Dense *Mesh
	// Expert is the mesh of the layers of experts, nil where the engine lays their groups over ranks of the dense one.
	Expert *Mesh

	expert, decode int
}

// kinds are the groups that are no dimensions.
var kinds = map[string]func(*Views) ([][]int32, error){
	worldName:  func(v *Views) ([][]int32, error) { return [][]int32{v.Dense.World()}, nil },
	"embd":     func(v *Views) ([][]int32, error) { return v.Dense.EmbeddingGroups() },
	"pos-embd": func(v *Views) ([][]int32, error) { return v.Dense.PositionEmbeddingGroups() },
	"ep":       func(v *Views) ([][]int32, error) { return v.expertGroups() },
	"dcp":      func(v *Views) ([][]int32, error) { return v.Dense.DecodeContextGroups(v.decode) },
}

// worldName is the name of the group of all ranks.
const worldName = "world"

// Groups lists the groups of a kind: a dimension of either mesh, a product of dimensions of one of them (`tp-dp`,
// `etp-ep`), `world`, `embd` and `pos-embd` (the ranks that hold the embeddings of words and positions), `ep` and `dcp`.
func (v *Views) Groups(kind string) ([][]int32, error) {
	if list, ok := kinds[kind]; ok {
		return list(v)
	}
	names := strings.Split(kind, "-")
	if v.Expert != nil && !slices.ContainsFunc(names, func(name string) bool { return v.Expert.index(name) < 0 }) &&
		slices.ContainsFunc(names, func(name string) bool { return v.Dense.index(name) < 0 || name == v.Preset.folding.expert }) {
		return v.Expert.Groups(names...)
	}
	return v.Dense.Groups(names...)
}

func (v *Views) expertGroups() ([][]int32, error) {
	if v.Expert != nil {
		return v.Expert.Groups(v.Preset.folding.expert)
	}
	if v.expert == 1 {
		return v.single(), nil
	}
	groups, _, err := v.Dense.ExpertGroups(v.Preset.Engine, v.expert)
	return groups, err
}

// single is a group for each rank.
func (v *Views) single() [][]int32 { return slices.Collect(slices.Chunk(v.Dense.World(), 1)) }

// Kinds are the kinds of groups that have more than one rank somewhere, and the world.
func (v *Views) Kinds() ([]string, error) {
	found := []string{worldName}
	for _, m := range []*Mesh{v.Dense, v.Expert} {
		if m == nil {
			continue
		}
		for i, name := range m.names {
			if m.sizes[i] > 1 && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	if v.expert > 1 && !slices.Contains(found, "ep") {
		found = append(found, "ep")
	}
	if v.decode > 1 {
		found = append(found, "dcp")
	}
	if v.Dense.size("pp") > 1 {
		found = append(found, "embd")
	}
	for _, kind := range found {
		if _, err := v.Groups(kind); err != nil {
			return nil, fmt.Errorf("groups %s: %w", kind, err)
		}
	}
	return found, nil
}

// check refuses degrees that reuse ranks and cannot.
func (v *Views) check() error {
	_, err := v.Kinds()
	if err != nil {
		return fmt.Errorf("%s: %w", v.Preset.Name, err)
	}
	return nil
}
