package cost

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// attention is what the layers with a cache have in common.
type attention struct {
	heads   float64
	kvHeads float64
	cached  float64 // values cached for a token and key head; a latent counts as one head
	decode  float64 // operations for a query head, token and cached token while decoding
	prefill float64 // the same in prefill
	query   float64 // values of a query head while decoding
	result  float64 // values of a head's result while decoding
	bytes   float64 // per cached value
	index   index
	latent  bool // keys and values are kept as one vector
}

// index is the indexer that selects tokens; every rank has it whole.
type index struct {
	operations float64 // for a token and one that it scores
	cached     float64 // values cached for a token
}

func attentionOf(a *v1alpha1.Architecture, cache v1alpha1.Precision) attention {
	width := float64(a.Attention.HeadDim)
	value := width
	if a.Attention.ValueHeadDim > 0 {
		value = float64(a.Attention.ValueHeadDim)
	}
	at := attention{
		heads: float64(a.Attention.Heads), kvHeads: max(1, float64(a.Attention.KVHeads)), cached: width + value,
		decode: 2 * (width + value), prefill: 2 * (width + value), query: width, result: value, bytes: bytesPer(cache),
	}
	switch mla, compressed := a.Attention.MLA, a.Attention.Compressed; {
	case mla != nil:
		// Prefill expands the latent to heads, decoding folds the expansion into the queries and computes on the latent itself.
		latent, rope := float64(mla.KVLoraRank), float64(mla.QKRopeHeadDim)
		at.kvHeads, at.cached, at.latent = 1, latent+rope, true
		at.query, at.result = latent+rope, latent
		at.decode, at.prefill = 2*(2*latent+rope), 2*(float64(mla.QKNopeHeadDim)+rope+float64(mla.VHeadDim))
		at.index = indexOf(mla.Indexer)
	case compressed != nil: // a key is its value too
		at.kvHeads, at.cached, at.latent = 1, width, true
		at.index = indexOf(&compressed.Indexer)
	}
	return at
}

func indexOf(i *v1alpha1.Indexer) index {
	if i == nil {
		return index{}
	}
	return index{operations: 2 * float64(i.Heads) * float64(i.HeadDim), cached: float64(i.HeadDim)}
}

// span is the earlier tokens that a token attends to: the last limit of them (0 means all), as one vector for each run of
// per tokens (0 means none).
type span struct {
	limit, per float64
	chunked    bool
}

func spanOf(s model.Span) span {
	return span{limit: float64(s.Limit), per: float64(s.Per), chunked: s.Chunked}
}

// seen returns the mean number of vectors that a token attends to around a context.
func (s *span) seen(context float64) float64 {
	switch {
	case s.per == 0:
		return 0
	case s.limit == 0 || context <= s.limit:
		return context / s.per
	case s.chunked:
		return s.limit / 2 / s.per
	default:
		return s.limit / s.per
	}
}

// reach returns the mean number of vectors that a token of a prompt of n attends to, itself included.
func (s *span) reach(n float64) float64 {
	switch {
	case s.per == 0:
		return 0
	case s.limit == 0 || n <= s.limit:
		return (n + 1) / 2 / s.per
	case s.chunked:
		chunks := float64(int64(n / s.limit))
		rest := n - chunks*s.limit
		return (chunks*s.limit*(s.limit+1) + rest*(rest+1)) / (2 * n) / s.per
	default:
		return (s.limit*(s.limit+1)/2 + (n-s.limit)*s.limit) / n / s.per
	}
}

// after returns the mean number of vectors that the tokens of a prompt of n attend to which follow its first ones.
func (s *span) after(found, n float64) float64 {
	if found <= 0 || found >= n {
		return s.reach(n)
	}
	return (n*s.reach(n) - found*s.reach(found)) / (n - found)
}

// encoder is the work of the encoder, which a prompt passes before the first layer, and of the layers' attention to its
// output.
type encoder struct {
	positions float64
	block     linear  // all layers of the encoder
	products  float64 // operations of its attention for a prompt
}

func encoderOf(m *model.Model) encoder {
	e := m.Architecture.Encoder
	if e == nil {
		return encoder{}
	}
	positions := float64(e.Positions)
	return encoder{
		positions: positions,
		block:     linear{copied: float64(m.EncoderParameters()), bytes: 2, width: bits16},
		products:  4 * float64(m.Architecture.HiddenSize) * positions * positions * float64(e.Layers),
	}
}
