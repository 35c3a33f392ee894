package model

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Bounds of a parameter count, as the API has them.
const (
	minParameters = 1_000_000
	maxParameters = 100_000_000_000_000
)

// Shape of the synthetic architecture, after Llama 3.
const (
	// syntheticAspect is the width over the number of layers (128 at 8B, 130 at 405B).
	syntheticAspect = 128
	// syntheticLayerSquares is a layer's weights over the square of the width, with a feed-forward block 3.5 times as
	// wide.
	syntheticLayerSquares = 13
	// syntheticNarrowest is the feed-forward width that the remaining parameters are added to.
	syntheticNarrowest = 64
	// syntheticContext is the context in tokens.
	syntheticContext = 131072
)

// syntheticVocabulary is the vocabulary by number of parameters: a small model cannot afford a large one.
var syntheticVocabulary = []struct {
	below int64
	rows  int32
	tied  bool
}{
	{100_000_000, 1024, true},
	{2_000_000_000, 32000, true},
	{4_000_000_000, 128256, true},
	{maxParameters + 1, 128256, false},
}

// FromParameters makes a synthetic model for a bare number of parameters: a dense decoder in the proportions of Llama 3
// (gated blocks about 3.5 times as wide as the stream, 8 key and value heads of width 128 where there is room, width about
// 128 times the depth), whose feed-forward width is rounded up so that it has at least n parameters.
func FromParameters(n int64) (*Model, error) {
	if n < minParameters || n > maxParameters {
		return nil, fmt.Errorf("parameters is %d: give a number from %d to %d", n, minParameters, int64(maxParameters))
	}
	m := &Model{
		Name: "synthetic-" + shortCount(n), Architecture: syntheticArchitecture(n), Native: v1alpha1.BF16, Synthetic: true,
	}
	rest := n - m.Parameters()
	a := &m.Architecture
	columns := ceil(rest, 3*int64(a.Layers)*int64(a.HiddenSize))
	a.MLP.IntermediateSize += int32(ceil(columns, syntheticStep(a)) * syntheticStep(a))
	m.Assumptions = []string{fmt.Sprintf(
		"only the number of parameters is known (%d): computed for a dense decoder in the proportions of Llama 3 with %d layers of width %d and %d parameters; give the model's name or config.json for exact numbers",
		n, a.Layers, a.HiddenSize, m.Parameters())}
	return m.checked()
}

// syntheticExperts is how many routed experts a token visits in a mixture that is made up.
const syntheticExperts = 8

// fromCounts makes up an architecture for a number of parameters of which a token visits so many; all of them where active is 0. What a
// token visits has the proportions of a dense model with its blocks cut into experts, of which there are as many as the rest takes.
func fromCounts(total, active int64) (v1alpha1.Architecture, error) {
	if active <= 0 {
		active = total
	}
	m, err := FromParameters(min(active, total))
	if err != nil {
		return v1alpha1.Architecture{}, err
	}
	a := &m.Architecture
	if active >= total {
		return *a, nil
	}
	step := syntheticStep(a)
	width := ceil(ceil(int64(a.MLP.IntermediateSize), syntheticExperts), step) * step
	a.MLP.IntermediateSize = 0
	a.MoE = &v1alpha1.MoE{ActiveExperts: syntheticExperts, IntermediateSize: int32(width)}
	one := mul(3*int64(a.Layers), mul(int64(a.HiddenSize), width))
	experts := ceil(total-m.Parameters(), one)
	if experts >= 64 { // many are shared out evenly among ranks; few would make up too many parameters
		experts = ceil(experts, 4) * 4
	}
	a.MoE.Experts = int32(min(max(experts, syntheticExperts), maxHeads))
	return *a, nil
}

// syntheticArchitecture is the architecture with the narrowest feed-forward block.
func syntheticArchitecture(n int64) v1alpha1.Architecture {
	vocabulary := syntheticVocabulary[0]
	for i := 0; n >= vocabulary.below; i++ {
		vocabulary = syntheticVocabulary[i]
	}
	hidden := syntheticWidth(n)
	tables := int64(vocabulary.rows) * hidden
	if !vocabulary.tied {
		tables *= 2
	}
	layers := max(1, (n-tables)/(syntheticLayerSquares*hidden*hidden))
	width, kvHeads := int64(128), int64(8)
	if hidden < 1024 {
		width = 64
		kvHeads = hidden / width
	}
	return v1alpha1.Architecture{
		Layers: int32(layers), HiddenSize: int32(hidden), VocabSize: vocabulary.rows, TiedEmbeddings: vocabulary.tied,
		MaxContext: syntheticContext,
		Attention:  v1alpha1.Attention{Heads: int32(hidden / width), KVHeads: int32(kvHeads), HeadDim: int32(width)},
		MLP:        v1alpha1.MLP{IntermediateSize: syntheticNarrowest},
	}
}

// syntheticStep returns the number that the feed-forward width is a multiple of, so that tensor parallelism divides it.
func syntheticStep(a *v1alpha1.Architecture) int64 {
	if a.HiddenSize < 1024 {
		return 16
	}
	return 64
}

// syntheticWidth returns the width at which n parameters have the aspect: the layers times the weights of one layer are
// n, so the width is the cube root of n * aspect / squares. It is rounded to a multiple of 1024 (8 heads of 128) from
// 1024 on, of 64 below.
func syntheticWidth(n int64) int64 {
	width, step := int64(64), int64(64)
	for {
		if width >= 1024 {
			step = 1024
		}
		middle := width + step/2
		if middle*middle*middle >= n/syntheticLayerSquares*syntheticAspect {
			return width
		}
		width += step
	}
}

// shortCount prints a number of parameters as people do: 70B, 1.5B, 125M.
func shortCount(n int64) string {
	unit, letter := int64(1_000_000), "M"
	switch {
	case n >= 1_000_000_000_000:
		unit, letter = 1_000_000_000_000, "T"
	case n >= 1_000_000_000:
		unit, letter = 1_000_000_000, "B"
	}
	if tenths := n % unit / (unit / 10); tenths > 0 {
		return fmt.Sprintf("%d.%d%s", n/unit, tenths, letter)
	}
	return fmt.Sprintf("%d%s", n/unit, letter)
}
