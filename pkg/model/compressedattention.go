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

// compressedValues returns the number of values that a sequence of some tokens caches in a layer: the values of the
// window, and for each whole run of tokens a vector with its index key.
func compressedValues(a *v1alpha1.Architecture, layer int, tokens int64) int64 {
	width := int64(a.Attention.HeadDim)
	near := tokens
	if w := int64(a.Attention.SlidingWindow); w > 0 {
		near = min(tokens, w)
	}
	ratio := ratio(a, layer)
	if ratio <= 0 {
		return mul(near, width)
	}
	run := width
	if ratio == overlapping {
		run = add(run, int64(a.Attention.Compressed.Indexer.HeadDim))
	}
	return add(mul(near, width), mul(tokens/ratio, run))
}
