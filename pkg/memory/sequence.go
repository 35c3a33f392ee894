package memory

// SequenceBytes returns what the cache of one sequence of the full length takes of each device of the layers first to end-1.
func (f *Footprint) SequenceBytes(first, end int) int64 { return f.sequenceBytes(first, end) }
