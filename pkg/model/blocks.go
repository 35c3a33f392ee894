package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// inputs returns how many projections lead into a feed-forward block: one, or two where it is gated.
func inputs(a *v1alpha1.Architecture) int64 {
	if a.MLP.Ungated {
		return 1
	}
	return 2
}

// feedForward lists a dense block of some width.
func feedForward(list []tensor, a *v1alpha1.Architecture, width int64, in, out module) []tensor {
	hidden := int64(a.HiddenSize)
	if width <= 0 {
		return list
	}
	list = append(list,
		tensor{in, inputs(a), width, hidden, byOutput, 1},
		tensor{out, 1, hidden, width, byInput, 1})
	if a.MLP.Bias {
		list = append(list, tensor{plain, inputs(a), width, 1, byOutput, 1}, vector(hidden))
	}
	return list
}

// mixture lists routed and shared experts and their router. Tensor ranks share out the width of every expert.
func mixture(list []tensor, a *v1alpha1.Architecture, moe *v1alpha1.MoE) []tensor {
	hidden, experts, width := int64(a.HiddenSize), int64(moe.Experts), int64(moe.IntermediateSize)
	list = append(list,
		tensor{expertIn, mul(experts, inputs(a)), width, hidden, byOutput, 1},
		tensor{expertOut, experts, hidden, width, byInput, 1},
		tensor{router, 1, experts, hidden, replicated, 1})
	if moe.RouterBias {
		list = append(list, vector(experts))
	}
	if moe.ExpertBias {
		list = append(list,
			tensor{expertBias, mul(experts, inputs(a)), width, 1, byOutput, 1},
			tensor{expertBias, experts, hidden, 1, replicated, 1})
	}
	if moe.SharedGate {
		list = append(list, vector(hidden))
	}
	return feedForward(list, a, int64(moe.SharedIntermediateSize), sharedIn, sharedOut)
}

// recurrence lists a layer that keeps a state instead of a cache; ranks share out its value heads. Sources: Qwen3NextGatedDeltaNet
// of Hugging Face transformers; MiniMaxText01LinearAttention of vLLM.
func recurrence(list []tensor, a *v1alpha1.Architecture, r *v1alpha1.Recurrent) []tensor {
	hidden, heads, width := int64(a.HiddenSize), int64(r.ValueHeads), int64(r.ValueHeadDim)
	keys := mul(int64(r.KeyHeads), int64(r.KeyHeadDim))
	values := mul(heads, width)
	if r.Kind == v1alpha1.Lightning {
		return append(list,
			tensor{recurrentIn, 1, add(mul(2, keys), values), hidden, byOutput, add(mul(2, int64(r.KeyHeadDim)), width)},
			tensor{recurrentGates, 1, values, hidden, byOutput, width},
			tensor{recurrentOut, 1, hidden, values, byInput, width},
			headVector(heads, width))
	}
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
