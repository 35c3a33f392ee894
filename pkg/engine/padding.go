package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Cores returns among how many cores of a device the engine shares out a tensor rank's part, adding heads and columns as Padded does; 0 where it
// adds none.
func (e *Engine) Cores(on *Device) int {
	for i := range e.Support {
		if s := &e.Support[i]; s.Cores > 0 && s.Vendor == on.Vendor && (!on.known() || slices.Contains(s.Devices, on.Architecture)) {
			return s.Cores
		}
	}
	return 0
}

// Padded returns an architecture with heads and columns added until so many cores divide them. Key and value heads are repeated until each core has
// one, or each query head its own where that does not come out even. An architecture with other attention than of one kind of heads stays as it
// is. Source: GQA and get_shardable_head_counts of
// https://github.com/huggingface/optimum-neuron/blob/main/optimum/neuron/models/inference/backend/modules/attention/gqa.py, from AWS's NxD Inference.
func Padded(a *v1alpha1.Architecture, cores int) *v1alpha1.Architecture {
	at := &a.Attention
	if cores < 1 || at.Heads <= 0 || at.MLA != nil || at.Compressed != nil || at.Windowed != nil || a.Recurrent != nil {
		return a
	}
	own, n := *a, int32(cores)
	own.Attention.Heads, own.MLP.IntermediateSize = multiple(at.Heads, n), multiple(a.MLP.IntermediateSize, n)
	switch keys := max(1, at.KVHeads); {
	case keys%n == 0:
	case n%keys == 0:
		own.Attention.KVHeads = n
	default:
		own.Attention.KVHeads = own.Attention.Heads
	}
	return &own
}

// multiple returns n rounded up to a multiple.
func multiple(n, of int32) int32 { return (n + of - 1) / of * of }
