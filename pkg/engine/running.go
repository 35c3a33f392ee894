package engine

// Running is how many requests run at a time on a rank of a server that is not told, where that follows from its cache.
type Running struct {
	// EachContext is how many for each longest context that the cache holds, Least and Most the bounds within which that counts.
	EachContext, Least, Most int64
	// Tokens is how many tokens of the cache each has at least.
	Tokens int64
	// Source is where that is documented.
	Source string
}

// Of returns how many run with a cache of so many tokens and a longest context of so many.
func (r *Running) Of(tokens, context int64) int64 {
	asked := float64(tokens) / float64(max(1, context)) * float64(r.EachContext)
	return max(1, min(int64(min(max(asked, float64(r.Least)), float64(r.Most))), tokens/r.Tokens))
}
