package model

// hybridClasses are the model_types whose layers, or some of them, keep a state of fixed size instead of a cache.
var hybridClasses = map[string]class{
	"qwen3_next":       {family: "Qwen3-Next", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, sparseExperts, sharedExpert, otherNextTokenModule}},
	"qwen3_5_text":     {family: "Qwen3.5", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, otherNextTokenModule}},
	"qwen3_5_moe_text": {family: "Qwen3.5 mixtures", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, sparseExperts, sharedExpert, expertsOnly, otherNextTokenModule}},
	"minimax_m1":       miniMaxClass,
	"minimax_text_01":  miniMaxClass,
	"minimax":          miniMaxClass,
	"qwen3_5":          {family: "Qwen3.5", headDim: 256, extend: extensions{attentionBias, qkNorm, outputGate, gatedDelta, otherNextTokenModule}},
	"kimi_linear":      {family: "Kimi Linear", defaults: map[string]int64{"first_k_dense_replace": 1}, extend: extensions{latentIfAny, kimiDelta, kimiExperts, routerBias}},
	"jamba":            {family: "Jamba", extend: extensions{jamba}},
	"mamba":            {family: "Mamba", tied: true, norms: 1, attentionFree: true, extend: extensions{mamba}},
	"falcon_mamba":     {family: "Falcon Mamba", norms: 1, attentionFree: true, extend: extensions{mamba}},
	"mamba2":           {family: "Mamba 2, Codestral Mamba", norms: 1, attentionFree: true, extend: extensions{mamba2}},
	"nemotron_h":       {family: "Nemotron-H, Nemotron 3", norms: 1, ungated: true, headDim: 128, extend: extensions{attentionBias, mlpBias, nemotronH, routerBias, otherNextTokenModule}},
	"bamba":            {family: "Bamba", extend: extensions{bamba}},
	"granitemoehybrid": {family: "Granite 4", tied: true, extend: extensions{graniteHybrid}},
	"falcon_h1":        {family: "Falcon-H1", extend: extensions{falconH1}},
	"lfm2":             {family: "LFM2 and 2.5", tied: true, extend: extensions{lfm2Width, qkNorm, shortConv}},
	"lfm2_moe":         {family: "LFM2 and 2.5 mixtures", tied: true, extend: extensions{qkNorm, shortConv, lfm2Experts, routerBias}},
}
