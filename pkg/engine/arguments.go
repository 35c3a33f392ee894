package engine

// Arguments are what an engine calls degrees and limits: options of its command line, keys of its configuration file, or
// variables. Empty where it has no such argument or the program decides.
type Arguments struct {
	Tensor, Pipeline, Data, Context, DecodeContext, Expert string
	// Split is the list of the layers of all stages; First and Last are those of the ends alone.
	Split, First, Last string
	// Sequences and Tokens are the most of a step.
	Sequences, Tokens string
	// Cache is the number format of the KV cache, and CacheFP8 its value for FP8.
	Cache, CacheFP8 string
}
