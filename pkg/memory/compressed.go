package memory

import "github.com/rankwright/rankwright/pkg/model"

// compresses says whether the model's attention is compressed.
func (c *cache) compresses() bool { return c.model.Architecture.Attention.Compressed != nil }

// runs returns what a layer of compressed attention caches.
func (c *cache) runs(layer int) model.CompressedCache {
	return c.model.CompressedCache(layer, c.precision)
}

// compressedToken returns a token's share of the bytes of its run, or of a page of the blocks that all layers share. A layer that keeps its window
// alone has a token's bytes; where blocks are shared its window lies in those of the others.
func (c *cache) compressedToken(layer int) int64 {
	r := c.runs(layer)
	switch {
	case r.Tokens > 0 && c.pool != nil:
		vectors := max(1, c.pool.Tokens/r.Tokens)
		page := roundUp(vectors*r.Vector, c.pool.Align) + roundUp(vectors*r.Key, c.pool.Align)
		return bounded(ceil(page, c.pool.Tokens))
	case r.Tokens > 0:
		return bounded(ceil(r.Vector+r.Key, r.Tokens))
	case c.pool != nil:
		return 0
	default:
		return bounded(r.Vector)
	}
}

// compressed is kept for compressed attention. Where blocks are shared each block of a window, or of the state that makes runs, is a block
// of every layer.
func (c *cache) compressed(layer int) (sequence, step int64) {
	token := c.compressedToken(layer)
	if token == 0 {
		return 0, 0
	}
	whole := c.blocks(c.length)
	if c.runs(layer).Tokens <= 0 {
		return min(whole, c.near(layer)), 0
	}
	if c.pool != nil {
		step = times(c.pool.Tokens, c.stepped)
	}
	return whole + c.near(layer), step
}

// near returns how many tokens take as much as a layer's window and the state that makes its runs.
func (c *cache) near(layer int) int64 {
	token, window := c.compressedToken(layer), int64(c.model.Architecture.Attention.SlidingWindow)
	switch {
	case token == 0:
		return 0
	case c.pool != nil:
		return times(c.pool.Tokens, c.pooled)
	case c.runs(layer).Tokens > 0:
		return c.blocks(ceil(times(window, c.runs(layer).Vector), token))
	default:
		return c.blocks(window) + c.block
	}
}

// windowBlocks returns how many blocks a sequence's windows and states take with so many tokens of a step beside.
func (c *cache) windowBlocks(ahead int64) int64 {
	a := &c.model.Architecture
	count := map[int64]int64{}
	var most int64
	for layer := range int(a.Layers) {
		if r := c.runs(layer).Tokens; r > 0 {
			count[r]++
			most = max(most, count[r])
		}
	}
	of := func(window, block int64) int64 {
		return min(ceil(window-1+ahead, block), ceil(c.length, block)) + 1
	}
	// Layers with a window are as many groups as fill blocks of the others' layers.
	sum := times(max(1, (2*int64(a.Layers)+most)/(2*max(1, most))), of(int64(a.Attention.SlidingWindow), c.pool.Window))
	for ratio := range count {
		block, window := c.pool.Plain, ratio
		if model.Overlaps(ratio) {
			block, window = c.pool.Overlapping, 2*ratio
		}
		sum += of(window, block)
	}
	return sum
}
