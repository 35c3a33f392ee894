package mesh

import "fmt"

// EmbeddingGroups lists the ranks that hold the table of word embeddings, one group for each pipeline: the first stage and
// the last, which has the head. Ranks of the stages between are in none. Source: Megatron-LM default_embedding_ranks.
func (m *Mesh) EmbeddingGroups() ([][]int32, error) {
	return m.fromPipelines(func(stages []int32) []int32 {
		if len(stages) == 1 {
			return stages
		}
		return []int32{stages[0], stages[len(stages)-1]}
	})
}

// PositionEmbeddingGroups lists the ranks that hold the embeddings of positions: those of the first stage, each alone.
// Source: Megatron-LM default_position_embedding_ranks.
func (m *Mesh) PositionEmbeddingGroups() ([][]int32, error) {
	return m.fromPipelines(func(stages []int32) []int32 { return stages[:1] })
}

func (m *Mesh) fromPipelines(choose func([]int32) []int32) ([][]int32, error) {
	pipelines, err := m.Groups("pp")
	if err != nil {
		return nil, fmt.Errorf("embedding groups: %w", err)
	}
	for i := range pipelines {
		pipelines[i] = choose(pipelines[i])
	}
	return pipelines, nil
}
