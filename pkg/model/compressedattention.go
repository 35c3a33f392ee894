package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// overlapping is the ratio at which runs of tokens overlap and layers have an indexer. Source of all shapes here: class
// Compressor, Indexer, Attention and Block of deepseek-ai/DeepSeek-V4-Flash, inference/model.py.
const overlapping = 4

// compressedAttention lists attention whose one key head is its value head too, so every rank has it whole.
func compressedAttention(list []tensor, a *v1alpha1.Architecture, c *v1alpha1.Compressed, layer int) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(a.Attention.Heads), int64(a.Attention.HeadDim)
	rank, groups, low := int64(c.QLoraRank), int64(c.OutputGroups), int64(c.OutputLoraRank)
	list = append(list,
		tensor{queryDown, 1, rank, hidden, replicated, 1},
		vector(rank),
		tensor{queryUp, 1, mul(heads, width), rank, byOutput, width},
		tensor{latentDown, 1, width, hidden, replicated, 1},
		vector(width),
		tensor{outputDown, 1, mul(groups, low), mul(heads, width) / max(1, groups), byOutput, low},
		tensor{output, 1, hidden, mul(groups, low), byInput, low},
		headVector(heads, 1))
	list = streams(list, hidden, int64(c.Streams))
	ratio := ratio(a, layer)
	if ratio <= 0 {
		return list
	}
	list = compressor(list, hidden, width, ratio)
	if ratio != overlapping {
		return list
	}
	index := &c.Indexer
	list = append(list,
		tensor{indexQuery, 1, mul(int64(index.Heads), int64(index.HeadDim)), rank, replicated, 1},
		tensor{plain, 1, int64(index.Heads), hidden, replicated, 1})
	return compressor(list, hidden, int64(index.HeadDim), ratio)
}

// compressor lists what makes a vector of a run of tokens.
func compressor(list []tensor, hidden, width, ratio int64) []tensor {
	if ratio == overlapping {
		return append(list, tensor{plain, 2, 2 * width, hidden, replicated, 1}, vector(add(mul(ratio, 2*width), width)))
	}
	return append(list, tensor{plain, 2, width, hidden, replicated, 1}, vector(add(mul(ratio, width), width)))
}

// streams lists the weights that mix the streams of the residual, before and after attention and the feed-forward block.
func streams(list []tensor, hidden, n int64) []tensor {
	if n <= 0 {
		return list
	}
	mix := mul(n+2, n)
	return append(list, tensor{plain, 2, mix, mul(n, hidden), replicated, 1}, vector(mul(2, mix+3)))
}

// What a vector keeps beside its values in 8 bits: its rotary values are in 16, and 64 of the others share a scale of a byte, in whole 8
// bytes. An index key has one scale of 32 bits. Source: fp8_ds_mla of DeepSeek V4 in vLLM, 584 and 132 bytes.
const (
	rotaryValues  = 64
	vectorScales  = 8
	indexKeyScale = 4
)

// CompressedCache is what a layer of compressed attention caches of a sequence, in bytes: a vector for each token of its window, and another
// one with an index key, where it has one, for each run of Tokens; 0 where it keeps its window alone.
type CompressedCache struct{ Vector, Key, Tokens int64 }

// CompressedCache returns what a layer caches in a format; the zero value where its attention is not compressed.
func (m *Model) CompressedCache(layer int, p v1alpha1.Precision) CompressedCache {
	a := &m.Architecture
	if a.Attention.Compressed == nil {
		return CompressedCache{}
	}
	c := CompressedCache{Vector: stored(int64(a.Attention.HeadDim), p), Tokens: ratio(a, layer)}
	if c.Tokens == overlapping {
		c.Key = stored(int64(a.Attention.Compressed.Indexer.HeadDim), p)
	}
	if p != v1alpha1.FP8 {
		return c
	}
	if c.Vector += rotaryValues + vectorScales; c.Key > 0 {
		c.Key += indexKeyScale
	}
	return c
}

// Overlaps says whether each run of so many tokens is made of the run before it, too.
func Overlaps(tokens int64) bool { return tokens == overlapping }

// kept returns the bytes of a sequence of some tokens.
func (c CompressedCache) kept(window, tokens int64) int64 {
	near := tokens
	if window > 0 {
		near = min(tokens, window)
	}
	sum := mul(near, c.Vector)
	if c.Tokens > 0 {
		sum = add(sum, mul(tokens/c.Tokens, add(c.Vector, c.Key)))
	}
	return sum
}
