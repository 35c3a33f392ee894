package memory

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
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
	// mean and deviation are those of the tokens of a running sequence; a mean of 0 is not said.
	mean, deviation int64
	// shared is the tokens with which all sequences begin.
	shared int64
	// ahead is how many tokens of a step layers with a window keep beside the window.
	ahead int64
	// pool are the blocks that compressed attention shares; nil where each layer has its own. A sequence's windows and states take pooled of them, and
	// a step so many more.
	pool            *engine.SharedBlocks
	pooled, stepped int64
}

// keepingWhole returns a model whose windowed layers keep all tokens where an engine's do; elsewhere the model as it is.
func keepingWhole(m *model.Model, whole engine.WholeLayers) *model.Model {
	if !whole.Keeps(&m.Architecture) {
		return m
	}
	all := *m
	all.Architecture.Attention.SlidingWindow = math.MaxInt32
	return &all
}

// caching returns the cache of the footprint's setup.
func (f *Footprint) caching() cache {
	s := &f.setup
	c := cache{
		model: f.counter.cached, precision: s.KV, tensor: s.Layout.Tensor, context: int64(s.Layout.DecodeContext),
		length: s.Inference.MaxModelLen, block: s.Inference.BlockTokens,
		mean: s.Inference.Mean, deviation: s.Inference.Deviation, shared: s.Inference.Shared,
	}
	if f.counter.engine.Lookahead {
		c.ahead = s.Inference.BatchedTokens
	}
	if c.compresses() && f.counter.engine.Shared != nil {
		c.pool = f.counter.engine.Shared
		c.block = c.pool.Tokens
		c.pooled = c.windowBlocks(0)
		c.stepped = c.windowBlocks(c.ahead) - c.pooled
	}
	return c
}

// anyLength is longer than every context: a layer whose cache stops growing before it has a window or a state of fixed
// size.
const anyLength = 1 << 32

// bytesOf returns what a layer keeps of some tokens of a sequence, without what it keeps of it whatever its length where it also keeps tokens.
func (c *cache) bytesOf(layer int, tokens int64) int64 {
	return c.model.LayerKVBytesPerRank(layer, tokens, c.tensor, c.precision) - c.encoded(layer)
}

// encoded returns the bytes that a layer keeps of a sequence beside those of its tokens: keys and values of an encoder's output, or a
// recurrent state.
func (c *cache) encoded(layer int) int64 {
	if !c.model.Attends(layer) {
		return 0
	}
	return c.model.LayerStateBytesPerRank(layer, c.tensor, c.precision)
}

// token returns the bytes of one token's cache in a layer.
func (c *cache) token(layer int) int64 {
	if c.compresses() {
		return c.compressedToken(layer)
	}
	return bounded(c.bytesOf(layer, 1))
}

// input returns how many tokens take as much as what a layer keeps of each sequence beside its tokens, in whole blocks.
func (c *cache) input(layer int) int64 {
	if c.compresses() {
		return c.near(layer)
	}
	if encoded := c.encoded(layer); encoded > 0 {
		return c.blocks(encoded / max(1, c.bytesOf(layer, 1)))
	}
	return 0
}

// kept returns how many tokens of a sequence a layer keeps on a rank, in whole blocks, and how many tokens of a step a
// layer with a window keeps until the window has passed them; all sequences of a step share those. A window needs one
// block more than its length, because it does not start at the edge of a block. A layer with a state of fixed size keeps
// 1.
func (c *cache) kept(layer int) (sequence, step int64) {
	if c.compresses() {
		return c.compressed(layer)
	}
	one, most := c.bytesOf(layer, 1), c.bytesOf(layer, anyLength)
	if one <= 0 || most <= one {
		return min(1, max(0, one)), 0
	}
	whole := c.blocks(c.length)
	window := most / one
	if window >= anyLength/2 {
		return whole + c.input(layer), 0
	}
	sequence = min(c.blocks(window)+c.block, whole)
	return sequence, min(c.blocks(window-1+c.ahead)+c.block, whole) - sequence
}

// running returns the tokens that a layer keeps of a running sequence in the mean, and their deviation, where it keeps at
// most so many. Of the last block half is empty in the mean; where sequences do not deviate, all are at their longest. A layer
// that keeps fewer than the mean is counted as full.
func (c *cache) running(layer int, most int64) (mean, deviation int64) {
	if mean = ceil(c.mean, c.context) + c.block/2; c.deviation == 0 {
		mean = c.blocks(c.mean)
	}
	if mean += c.input(layer); mean >= most {
		return most, 0
	}
	return mean, ceil(c.deviation, c.context)
}

// blocks returns a rank's share of some tokens, in whole blocks.
func (c *cache) blocks(tokens int64) int64 { return roundUp(ceil(tokens, c.context), c.block) }
