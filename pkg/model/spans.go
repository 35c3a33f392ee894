package model

// Span is the earlier tokens that a token looks at: the last Limit of them (0 means all), as one vector for each run of Per
// tokens (0 means none). Chunked says that it is the current chunk of Limit tokens instead of a window that slides.
type Span struct {
	Limit, Per int64
	Chunked    bool
}

// Spans returns what a token attends to in a layer, in two spans, and what its indexer scores to choose that. A recurrent
// layer attends to nothing.
func (m *Model) Spans(layer int) (attended [2]Span, indexed Span) {
	a := &m.Architecture
	if !attends(a, layer) {
		return attended, indexed
	}
	attended[0] = Span{Limit: window(a, layer), Per: 1, Chunked: a.Attention.Chunked}
	mla, compressed := a.Attention.MLA, a.Attention.Compressed
	switch ratio := ratio(a, layer); {
	case compressed == nil && mla != nil && mla.Indexer != nil:
		attended[0].Limit = int64(mla.Indexer.TopK)
		indexed = Span{Per: 1}
	case ratio == overlapping:
		attended[1] = Span{Limit: mul(int64(compressed.Indexer.TopK), ratio), Per: ratio}
		indexed = Span{Per: ratio}
	case ratio > 0:
		attended[1] = Span{Per: ratio}
	}
	return attended, indexed
}
