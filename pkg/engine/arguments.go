package engine

// Arguments are an engine's names for degrees and limits: options of its command line, keys of its configuration file, or
// variables. A name is empty where the engine has no such argument or the program decides.
type Arguments struct {
	Tensor, Pipeline, Data, Context, DecodeContext, Expert string
	// Split lists the numbers of layers of all stages; First and Last set those of the first and the last stage alone.
	Split, First, Last string
	// Sequences and Tokens are the most sequences and tokens of a step.
	Sequences, Tokens string
	// Cache is the number format of the KV cache, CacheFP8 the value of this argument for FP8.
	Cache, CacheFP8 string
}
