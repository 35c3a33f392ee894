package memory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// cache counts the KV cache of one sequence on a rank.
type cache struct {
	model     *model.Model
	precision v1alpha1.Precision
	tensor    int
	context   int64
	length    int64
	block     int64
	// ahead is how many tokens of a step layers with a window keep beside the window.
	ahead int64
}

// caching returns the cache of the footprint's setup.
func (f *Footprint) caching() cache {
	s := &f.setup
	c := cache{
		model: s.Model, precision: s.KV, tensor: s.Layout.Tensor, context: int64(s.Layout.DecodeContext),
		length: s.Inference.MaxModelLen, block: s.Inference.BlockTokens,
	}
	if f.counter.engine.Lookahead {
		c.ahead = s.Inference.BatchedTokens
	}
	return c
}

// anyLength is longer than every context: a layer whose cache stops growing before it has a window or a state of fixed
// size.
const anyLength = 1 << 32

// token returns the bytes of one token's cache in a layer.
func (c *cache) token(layer int) int64 {
	return bounded(c.model.LayerKVBytesPerRank(layer, 1, c.tensor, c.precision))
}

// kept returns how many tokens of a sequence a layer keeps on a rank, in whole blocks, and how many tokens of a step a
// layer with a window keeps until the window has passed them; all sequences of a step share those. A window needs one
// block more than its length, because it does not start at the edge of a block. A layer with a state of fixed size keeps
// 1.
func (c *cache) kept(layer int) (sequence, step int64) {
	one := c.model.LayerKVBytesPerRank(layer, 1, c.tensor, c.precision)
	most := c.model.LayerKVBytesPerRank(layer, anyLength, c.tensor, c.precision)
	if one <= 0 || most <= one {
		return min(1, max(0, one)), 0
	}
	whole := c.blocks(c.length)
	window := most / one
	if window >= anyLength/2 {
		return whole, 0
	}
	sequence = min(c.blocks(window)+c.block, whole)
	return sequence, min(c.blocks(window-1+c.ahead)+c.block, whole) - sequence
}

// blocks returns a rank's share of some tokens, in whole blocks.
func (c *cache) blocks(tokens int64) int64 { return roundUp(ceil(tokens, c.context), c.block) }
