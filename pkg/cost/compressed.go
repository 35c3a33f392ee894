package cost

import "github.com/rankwright/rankwright/pkg/model"

// Kernels that a layer of DeepSeek V4 has beside those of a layer with a latent: what mixes the streams of the residual before and after attention and
// the block; what makes runs, which projects, keeps the state, and compresses with it; and the indexer, which projects queries and weights, makes queries
// of 8 bits, scores, chooses, finds what it chose, and makes runs of its own. Sources: the kernels of vllm/models/deepseek_v4
// (mhc_pre and mhc_post, save_partial_states, fused_compress_quant_cache, fused_indexer_q_rope_quant, compute_global_topk_indices_and_lens).
const (
	streamKernels  = 4
	runKernels     = 3
	indexerKernels = 9
)

// compressedKernels returns how many kernels a layer of compressed attention has more, in the mean.
func compressedKernels(m *model.Model) float64 {
	a := &m.Architecture
	if a.Attention.Compressed == nil || a.Layers <= 0 {
		return 0
	}
	sum := 0.0
	for layer := range int(a.Layers) {
		if a.Attention.Compressed.Streams > 1 {
			sum += streamKernels
		}
		runs := m.CompressedCache(layer, "").Tokens
		if runs > 0 {
			sum += runKernels
		}
		if model.Overlaps(runs) {
			sum += indexerKernels
		}
	}
	return sum / float64(a.Layers)
}
