package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// recurrentKinds are the rules that update a state.
var recurrentKinds = []v1alpha1.RecurrentKind{
	v1alpha1.GatedDelta, v1alpha1.Lightning, v1alpha1.Mamba, v1alpha1.Mamba2, v1alpha1.KimiDelta, v1alpha1.ShortConv,
}

// recurrence lists the tensors of a layer that keeps a state instead of a cache; nothing for a rule that is not known. Ranks share out its
// value heads. It is no table, whose calls would make the list of tensors escape to the heap.
func recurrence(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	switch r.Kind {
	case v1alpha1.GatedDelta:
		return gatedDeltaTensors(list, a, r)
	case v1alpha1.Lightning:
		return lightningTensors(list, a, r)
	case v1alpha1.Mamba:
		return mambaTensors(list, a, r)
	case v1alpha1.Mamba2:
		return mamba2Tensors(list, a, r)
	case v1alpha1.KimiDelta:
		return kimiDeltaTensors(list, a, r)
	case v1alpha1.ShortConv:
		return shortConvTensors(list, a, r)
	}
	return list
}

// widths returns the values of all keys and of all values.
func widths(r *v1alpha1.Recurrent) (keys, values int64) {
	return mul(int64(r.KeyHeads), int64(r.KeyHeadDim)), mul(int64(r.ValueHeads), int64(r.ValueHeadDim))
}

// Source: Qwen3NextGatedDeltaNet of Hugging Face transformers.
func gatedDeltaTensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(r.ValueHeads), int64(r.ValueHeadDim)
	keys, values := widths(r)
	return append(list,
		tensor{recurrentIn, 2, keys, hidden, byOutput, int64(r.KeyHeadDim)},
		tensor{recurrentIn, 2, values, hidden, byOutput, width},
		tensor{recurrentGates, 2, heads, hidden, byOutput, 1},
		tensor{recurrentOut, 1, hidden, values, byInput, width},
		tensor{plain, int64(r.ConvKernel), mul(2, keys), 1, byOutput, int64(r.KeyHeadDim)},
		tensor{plain, int64(r.ConvKernel), values, 1, byOutput, width},
		tensor{plain, 2, heads, 1, byOutput, 1}, // bias of the step and its decay
		vector(width))
}

// Source: MiniMaxText01LinearAttention of vLLM.
func lightningTensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(r.ValueHeads), int64(r.ValueHeadDim)
	keys, values := widths(r)
	return append(list,
		tensor{recurrentIn, 1, add(mul(2, keys), values), hidden, byOutput, add(mul(2, int64(r.KeyHeadDim)), width)},
		tensor{recurrentGates, 1, values, hidden, byOutput, width},
		tensor{recurrentOut, 1, hidden, values, byInput, width},
		headVector(heads, width))
}

// mambaTensors lists a state space for each channel, whose step is projected up from a low rank. Source: MambaMixer and
// JambaMambaMixer of Hugging Face transformers.
func mambaTensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, states, rank := int64(a.HiddenSize), int64(r.KeyHeadDim), int64(r.StepRank)
	_, channels := widths(r)
	unit := int64(r.ValueHeadDim)
	list = append(list,
		tensor{recurrentIn, 2, channels, hidden, byOutput, unit},
		tensor{plain, int64(r.ConvKernel) + 1, channels, 1, byOutput, unit}, // the convolution and its bias
		tensor{recurrentGates, 1, rank + 2*states, channels, byInput, unit},
		tensor{recurrentGates, 1, channels, rank, byOutput, unit},
		tensor{plain, states + 2, channels, 1, byOutput, unit}, // decay, bias of the step, and what skips the state
		tensor{recurrentOut, 1, hidden, channels, byInput, unit})
	if r.StepNorms {
		list = append(list, vector(rank+2*states))
	}
	return list
}

// mamba2Tensors lists a state space for each head, whose input and output vectors the heads of a group share. Source: Mamba2Mixer of
// Hugging Face transformers.
func mamba2Tensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(r.ValueHeads), int64(r.ValueHeadDim)
	groups, values := widths(r)
	return append(list,
		tensor{recurrentIn, 2, values, hidden, byOutput, width},
		tensor{recurrentIn, 2, groups, hidden, byOutput, int64(r.KeyHeadDim)},
		tensor{recurrentIn, 1, heads, hidden, byOutput, 1},
		tensor{plain, int64(r.ConvKernel) + 1, values, 1, byOutput, width}, // the convolution and its bias
		tensor{plain, int64(r.ConvKernel) + 1, mul(2, groups), 1, byOutput, int64(r.KeyHeadDim)},
		tensor{plain, 3, heads, 1, byOutput, 1}, // decay, bias of the step, and what skips the state
		headVector(heads, width),                // norm of the output
		tensor{recurrentOut, 1, hidden, values, byInput, width})
}

// kimiDeltaTensors lists Kimi Delta Attention, whose decay and gate are projected up from the width of a head. Source:
// KimiDeltaAttention of vLLM, kimi_linear.py and kda.py.
func kimiDeltaTensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(r.ValueHeads), int64(r.ValueHeadDim)
	keys, values := widths(r)
	low := int64(2)
	if a.Attention.OutputGate { // Kimi K3's gate is not projected up
		low = 1
		list = append(list, tensor{recurrentGates, 1, values, hidden, byOutput, width})
	}
	return append(list,
		tensor{recurrentIn, 2, keys, hidden, byOutput, int64(r.KeyHeadDim)},
		tensor{recurrentIn, 1, values, hidden, byOutput, width},
		tensor{recurrentGates, low, width, hidden, replicated, 1},
		tensor{recurrentGates, low, values, width, byOutput, width},
		tensor{recurrentGates, 1, heads, hidden, byOutput, 1},
		tensor{plain, int64(r.ConvKernel), add(mul(2, keys), values), 1, byOutput, width},
		headVector(heads, width), // bias of the decay
		headVector(heads, 1),     // decay
		vector(width),
		tensor{recurrentOut, 1, hidden, values, byInput, width})
}

// shortConvTensors lists a convolution between two gates. Source: Lfm2ShortConv of Hugging Face transformers.
func shortConvTensors(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, unit := int64(a.HiddenSize), int64(r.ValueHeadDim)
	_, channels := widths(r)
	return append(list,
		tensor{recurrentIn, 3, channels, hidden, byOutput, unit},
		tensor{plain, int64(r.ConvKernel), channels, 1, byOutput, unit},
		tensor{recurrentOut, 1, hidden, channels, byInput, unit})
}
