package views

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// EmbeddingGroups lists the ranks that hold the table of word embeddings, one group for each pipeline: the first stage and
// the last, which has the head. Ranks of the stages between are in none. It refuses meshes without the dimension pp. Source:
// Megatron-LM default_embedding_ranks.
func EmbeddingGroups(m *mesh.Mesh) ([][]int32, error) {
	return fromPipelines(m, func(stages []int32) []int32 {
		if len(stages) == 1 {
			return stages
		}
		return []int32{stages[0], stages[len(stages)-1]}
	})
}

// PositionEmbeddingGroups lists the ranks that hold the embeddings of positions: every rank of the first stage, each alone.
// It refuses meshes without the dimension pp. Source: Megatron-LM default_position_embedding_ranks.
func PositionEmbeddingGroups(m *mesh.Mesh) ([][]int32, error) {
	return fromPipelines(m, func(stages []int32) []int32 { return stages[:1] })
}

func fromPipelines(m *mesh.Mesh, choose func([]int32) []int32) ([][]int32, error) {
	pipelines, err := m.Groups("pp")
	if err != nil {
		return nil, fmt.Errorf("embedding groups: %w", err)
	}
	for i := range pipelines {
		pipelines[i] = choose(pipelines[i])
	}
	return pipelines, nil
}
