package model

import (
	"math"
	"testing"
)

// TestPartsAddUp holds the parts of every model of the catalogue to its totals.
func TestPartsAddUp(t *testing.T) {
	for _, name := range Names() {
		m := mustLookup(t, name)
		p := m.Parts()
		if sum := p.Layers + p.Embedding + p.Head + p.Other; sum != m.Parameters() {
			t.Errorf("%s: parts are %d, parameters %d", name, sum, m.Parameters())
		}
		if tables := int64(m.NextTokenModules) * 2 * p.Embedding; m.Parameters()+p.NextToken+tables != m.checkpointParameters() {
			t.Errorf("%s: %d with modules that have tables of their own, the checkpoint has %d", name, m.Parameters()+p.NextToken+tables, m.checkpointParameters())
		}
		if p.ActiveLayers > p.Layers || p.ActiveNextToken > p.NextToken || p.ActiveLayers > m.ActiveParameters() {
			t.Errorf("%s: more is active than there is: %+v", name, p)
		}
	}
}

// TestPartsAsPublishersCountThem counts as publishers say that they do, in billions, to the digits that they state.
// GLM-4.5: table 1 of arXiv 2508.06471, with modules and without tables. By that rule its Air would have 108, and not 106.
// DeepSeek-V3: its README_WEIGHTS.md, whose 11.5 for the module leave out the projection of two streams into one, of 0.1. Jina:
// https://jina.ai/models/jina-embeddings-v5-text-small/.
func TestPartsAsPublishersCountThem(t *testing.T) {
	tests := map[string]struct {
		count func(p Parts) int64
		want  float64
		digit float64
	}{
		"GLM-4.5":                       {func(p Parts) int64 { return p.Layers + p.NextToken }, 355, 1},
		"GLM-4.5-Air":                   {func(p Parts) int64 { return p.ActiveLayers + p.ActiveNextToken }, 12, 1},
		"DeepSeek-V3":                   {func(p Parts) int64 { return p.NextToken - 2*7168*7168 }, 11.5, 0.1},
		"Jina-Embeddings-v5-Text-Small": {func(p Parts) int64 { return p.Layers + p.Embedding + p.Adapters }, 0.677, 0.001},
	}
	for name, test := range tests {
		got := float64(test.count(mustLookup(t, name).Parts())) / 1e9
		if math.Abs(got-test.want) > test.digit/2 {
			t.Errorf("%s: %.4f billion counted, %g published", name, got, test.want)
		}
	}
}
