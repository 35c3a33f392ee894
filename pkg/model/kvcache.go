package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// KVBytesPerToken returns the cache bytes of one token over all layers, keys and values, as if every layer with attention
// looked at the whole context. Multi-head latent attention caches the latent and the rotary part once for all heads, and
// its indexer a key. A compressed layer caches its share of a vector, a recurrent layer nothing.
func (m *Model) KVBytesPerToken(p v1alpha1.Precision) int64 {
	return m.overLayers("", func(layer int) int64 {
		if !attends(&m.Architecture, layer) {
			return 0
		}
		return stored(widthPerToken(&m.Architecture, layer), p)
	})
}

// widthPerToken returns the number of values that a token adds to the cache of a layer that looks at the whole context.
func widthPerToken(a *v1alpha1.Architecture, layer int) int64 {
	r := ratio(a, layer)
	if r <= 0 {
		return kvWidth(a, layer, 1)
	}
	width := int64(a.Attention.HeadDim)
	if r == overlapping {
		width = add(width, int64(a.Attention.Compressed.Indexer.HeadDim))
	}
	return ceil(width, r)
}

// layerKVBytes returns the bytes that one sequence of some tokens keeps in a layer: its cache, capped by the window where
// the layer has one, and its state of fixed size; 0 where there is no such layer.
func (m *Model) layerKVBytes(layer int, tokens int64, p v1alpha1.Precision) int64 {
	return m.LayerKVBytesPerRank(layer, tokens, 1, p)
}

// LayerKVBytesPerRank returns the bytes of LayerKVBytes that each tensor rank stores. Heads are shared out, and
// replicated where there are fewer than ranks; a latent is on every rank.
func (m *Model) LayerKVBytesPerRank(layer int, tokens int64, tensor int, p v1alpha1.Precision) int64 {
	return add(m.layerCacheBytesPerRank(layer, tokens, tensor, p), m.LayerStateBytesPerRank(layer, tensor, p))
}

// layerCacheBytesPerRank is the part of LayerKVBytesPerRank that grows with the tokens.
func (m *Model) layerCacheBytesPerRank(layer int, tokens int64, tensor int, p v1alpha1.Precision) int64 {
	a := &m.Architecture
	if layer < 0 || layer >= int(a.Layers) || !attends(a, layer) {
		return 0
	}
	if a.Attention.Compressed != nil {
		return m.CompressedCache(layer, p).kept(int64(a.Attention.SlidingWindow), max(0, tokens))
	}
	if w := window(a, layer); w > 0 {
		tokens = min(tokens, w)
	}
	return stored(mul(tokens, kvWidth(a, layer, tensor)), p)
}

// stateBytes is what a value of a recurrent state takes: engines keep it in 32 bits whatever the cache is in, and the inputs
// of the convolution in 16. Source: vLLM's MambaStateShapeCalculator, and mamba_ssm_dtype of the Qwen3.5 config.json.
const (
	stateBytes       = 4
	convolutionBytes = 2
)

// LayerStateBytesPerRank returns the bytes that each tensor rank keeps of a sequence in a layer whatever its length: the
// state of a recurrent layer, or keys and values of the encoder's output.
func (m *Model) LayerStateBytesPerRank(layer, tensor int, p v1alpha1.Precision) int64 {
	a := &m.Architecture
	if layer < 0 || layer >= int(a.Layers) {
		return 0
	}
	var sum int64
	if recurs(a, layer) {
		sum = recurrentState(a.Recurrent, tensor)
	}
	if a.Encoder != nil {
		h := headsOf(a, layer)
		sum = add(sum, stored(mul(int64(a.Encoder.Positions), h.cached(tensor)), p))
	}
	return sum
}

func recurrentState(r *v1alpha1.Recurrent, tensor int) int64 {
	heads := ceil(int64(r.ValueHeads), int64(tensor))
	state := mul(heads, mul(int64(r.KeyHeadDim), int64(r.ValueHeadDim)))
	keys := mul(ceil(int64(r.KeyHeads), int64(tensor)), int64(r.KeyHeadDim))
	switch r.Kind {
	case v1alpha1.Mamba: // only the channels pass the convolution
		keys = 0
	case v1alpha1.ShortConv:
		state, keys = 0, 0
	}
	channels := add(mul(2, keys), mul(heads, int64(r.ValueHeadDim)))
	return add(mul(state, stateBytes), mul(mul(channels, int64(r.ConvKernel)-1), convolutionBytes))
}

// kvWidth returns the number of values that a rank caches for a token in a layer with attention.
func kvWidth(a *v1alpha1.Architecture, layer, tensor int) int64 {
	mla := a.Attention.MLA
	switch {
	case a.Attention.Uncached:
		return 0
	case mla == nil:
		h := headsOf(a, layer)
		return h.cached(tensor)
	}
	width := int64(mla.KVLoraRank) + int64(mla.QKRopeHeadDim)
	if mla.Indexer != nil {
		width += int64(mla.Indexer.HeadDim)
	}
	return width
}

// CacheFormat returns the format of the KV cache: the one that is asked for, else that for which the checkpoint carries scales, else
// the 16 bits of the activations. Weights in fewer bits alone change nothing: without scales a cache in FP8 costs accuracy, and engines
// keep 16 bits where they are not told otherwise. Source: vLLM's documentation of quantized KV caches.
func (m *Model) CacheFormat(weights, asked v1alpha1.Precision) v1alpha1.Precision {
	published := m.published(weights)
	switch {
	case asked != "":
		return asked
	case published != nil && published.cache != "":
		return published.cache
	case weights == v1alpha1.FP16:
		return v1alpha1.FP16
	default:
		return v1alpha1.BF16
	}
}

// cacheScheme reads the format of the KV cache from a quantization_config: kv_cache_scheme of compressed-tensors and of Model Optimizer,
// which names it in kv_cache_quant_algo too, the word static of FP8 by matrix, which AMD's -FP8-KV have too, and Quark's
// kv_cache_group, the modules whose output is stored so. Another one than FP8 is not known of any published checkpoint. Source of the
// word: "Quantized KV cache" of AMD's ROCm documentation of vLLM.
func cacheScheme(config map[string]any) v1alpha1.Precision {
	if inner, ok := config["quantization"].(map[string]any); ok {
		config = inner
	}
	scheme, _ := config["kv_cache_scheme"].(map[string]any)
	bits, _ := whole(scheme["num_bits"])
	export, _ := config["export"].(map[string]any)
	cached, _ := export["kv_cache_group"].([]any)
	switch {
	case bits == 8 && text(scheme, "type") == "float",
		text(config, "kv_cache_scheme") == "static",
		text(config, "kv_cache_quant_algo") == "FP8",
		len(cached) > 0:
		return v1alpha1.FP8
	default:
		return ""
	}
}
