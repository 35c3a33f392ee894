package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// span is the earlier tokens that a token looks at: the last limit of them (0 means all), as one vector for each run of
// per tokens.
type span struct {
	limit, per int64
	chunked    bool
}

// spanList is what a token looks at in a layer.
type spanList [2]span

// seen returns how many vectors a token with n tokens before it looks at.
func (l spanList) seen(n int64) float64 {
	var sum float64
	for _, s := range l {
		if s.per > 0 {
			sum += float64(s.cap(n)) / float64(s.per)
		}
	}
	return sum
}

func (s span) cap(n int64) int64 {
	if s.limit > 0 {
		return min(n, s.limit)
	}
	return n
}

// pairs returns how many vectors all tokens of a prompt of n look at together, themselves included.
func (l spanList) pairs(n int64) float64 {
	var sum float64
	for _, s := range l {
		if s.per > 0 {
			sum += s.pairs(n) / float64(s.per)
		}
	}
	return sum
}

func (s span) pairs(tokens int64) float64 {
	n, limit := float64(tokens), float64(s.limit)
	switch {
	case s.limit == 0 || tokens <= s.limit:
		return n * (n + 1) / 2
	case s.chunked:
		chunks, rest := float64(tokens/s.limit), float64(tokens%s.limit)
		return chunks*limit*(limit+1)/2 + rest*(rest+1)/2
	default:
		return limit*(limit+1)/2 + (n-limit)*limit
	}
}

// spans is what a token attends to in a layer, and what its indexer scores to choose that.
func spans(a *v1alpha1.Architecture, layer int) (attended, indexed spanList) {
	if isRecurrent(a, layer) {
		return attended, indexed
	}
	index := indexerOf(a)
	attended[0] = span{limit: window(a, layer), per: 1, chunked: a.Attention.Chunked}
	switch ratio := ratio(a, layer); {
	case a.Attention.Compressed == nil && index != nil:
		attended[0].limit = int64(index.TopK)
		indexed[0] = span{per: 1}
	case ratio == overlapping && index != nil:
		attended[1] = span{limit: mul(int64(index.TopK), ratio), per: ratio}
		indexed[0] = span{per: ratio}
	case ratio > 0:
		attended[1] = span{per: ratio}
	}
	return attended, indexed
}

// indexerOf returns the indexer of latent or compressed attention; nil where there is none.
func indexerOf(a *v1alpha1.Architecture) *v1alpha1.Indexer {
	switch {
	case a.Attention.Compressed != nil:
		return &a.Attention.Compressed.Indexer
	case a.Attention.MLA != nil:
		return a.Attention.MLA.Indexer
	default:
		return nil
	}
}
