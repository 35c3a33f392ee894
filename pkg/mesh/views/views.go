package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// Views are the ways in which an engine divides the same ranks.
type Views struct {
	// Preset is the engine.
	Preset *Preset
	// Dense is the mesh of all layers but the layers of experts.
	Dense *mesh.Mesh
	// Expert is the mesh of the layers of experts; nil where the engine lays their groups over ranks of the dense mesh.
	Expert *mesh.Mesh

	expert, decode int
}

// kinds are the groups that are no dimensions.
var kinds = map[string]func(*Views) ([][]int32, error){
	worldName:  func(v *Views) ([][]int32, error) { return [][]int32{v.Dense.World()}, nil },
	"embd":     func(v *Views) ([][]int32, error) { return EmbeddingGroups(v.Dense) },
	"pos-embd": func(v *Views) ([][]int32, error) { return PositionEmbeddingGroups(v.Dense) },
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
	if v.Expert != nil && !slices.ContainsFunc(names, func(name string) bool { return v.Expert.Size(name) == 0 }) &&
		slices.ContainsFunc(names, func(name string) bool { return v.Dense.Size(name) == 0 || name == v.Preset.folding.expert }) {
		return v.Expert.Groups(names...)
	}
	return v.Dense.Groups(names...)
}

func (v *Views) expertGroups() ([][]int32, error) {
	if v.Expert != nil {
		return v.Expert.Groups(v.Preset.folding.expert)
	}
	if v.expert == 1 {
		return slices.Collect(slices.Chunk(v.Dense.World(), 1)), nil
	}
	groups, _, err := v.Dense.ExpertGroups(v.Preset.Engine, v.expert)
	return groups, err
}

// Kinds returns the kinds of groups that have more than one rank somewhere, and the world.
func (v *Views) Kinds() ([]string, error) {
	found := []string{worldName}
	for _, m := range []*mesh.Mesh{v.Dense, v.Expert} {
		if m == nil {
			continue
		}
		for _, d := range m.Dimensions() {
			if d.Size > 1 && !slices.Contains(found, d.Name) {
				found = append(found, d.Name)
			}
		}
	}
	if v.expert > 1 && !slices.Contains(found, "ep") {
		found = append(found, "ep")
	}
	if v.decode > 1 {
		found = append(found, "dcp")
	}
	if v.Dense.Size("pp") > 1 {
		found = append(found, "embd")
	}
	for _, kind := range found {
		if _, err := v.Groups(kind); err != nil {
			return nil, fmt.Errorf("groups %s: %w", kind, err)
		}
	}
	return found, nil
}
