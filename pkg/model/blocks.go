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
	stream := hidden
	if latent := int64(moe.LatentSize); latent > 0 {
		stream = latent
		list = append(list, tensor{streamIn, 1, latent, hidden, replicated, 1}, tensor{streamOut, 1, hidden, latent, replicated, 1})
	}
	list = append(list,
		tensor{expertIn, mul(experts, inputs(a)), width, stream, byOutput, 1},
		tensor{expertOut, experts, stream, width, byInput, 1},
		tensor{router, 1, experts, hidden, replicated, 1})
	if moe.RouterBias {
		list = append(list, vector(experts))
	}
	if moe.ExpertBias {
		list = append(list,
			tensor{expertBias, mul(experts, inputs(a)), width, 1, byOutput, 1},
			tensor{expertBias, experts, stream, 1, replicated, 1})
	}
	if moe.SharedGate {
		list = append(list, vector(hidden))
	}
	return feedForward(list, a, int64(moe.SharedIntermediateSize), sharedIn, sharedOut)
}
