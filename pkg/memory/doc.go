// Package memory says how many bytes a process of an engine needs on each device, component by component, and how much KV
// cache or how many sequences the device has room for. It knows no clusters and reads no clock: the same setup gives the
// same bytes.
//
// A Footprint is computed once for a model, an engine and a layout of ranks; Use and Room then answer for any run of
// layers and any device in constant time, so a search can call them for every candidate. Explain writes the arithmetic of
// a run of layers out, and is meant for the plan that was chosen.
//
// Weights and KV cache are counted from the architecture. Activations of vLLM and what it holds outside PyTorch are
// constants fitted on a part of measured start-up logs and checked on the rest (constants.json, TestFit). What other
// engines need beside weights and cache follows their documented rules and has not been measured.
package memory
