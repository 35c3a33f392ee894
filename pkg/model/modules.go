package model

// module is a kind of tensor as the exclusions of a quantization_config tell them apart.
type module uint8

const (
	// plain tensors keep 16 bits in every format: norms, biases, convolutions, routers and sinks are too small to gain by it.
	plain module = iota
	// router is plain too.
	router
	query
	key
	value
	output
	outputDown
	queryDown
	queryUp
	latentDown
	latentUp
	indexQuery
	indexKey
	recurrentIn
	recurrentGates
	recurrentOut
	blockIn
	blockOut
	sharedIn
	sharedOut
	// streamIn and streamOut are the projections of the residual stream to what experts work on, and back.
	streamIn
	streamOut
	expertIn
	expertOut
	// expertBias tensors keep 16 bits; a token visits a share of them.
	expertBias
	modules
)

// routed says that a token visits a share of the tensor.
func (m module) routed() bool { return m == expertIn || m == expertOut || m == expertBias }

// quantizable says that formats under 16 bits are applied to the tensor.
func (m module) quantizable() bool { return m > router && m != expertBias }

// moduleNames are the names of a layer's modules in checkpoints, which exclusions are matched with; the names of one module in
// different model_types stand side by side. Source: the classes of Hugging Face transformers.
var moduleNames = [modules][]string{
	query:          {"self_attn.q_proj", "self_attn.qkv_proj", "attention.q_proj", "linear_attn.q_proj", "mixer.q_proj"},
	key:            {"self_attn.k_proj", "self_attn.qkv_proj", "attention.k_proj", "mixer.k_proj"},
	value:          {"self_attn.v_proj", "self_attn.qkv_proj", "attention.v_proj", "mixer.v_proj"},
	output:         {"self_attn.o_proj", "self_attn.out_proj", "self_attn.dense", "attention.o_proj", "attn.wo_b", "mixer.o_proj"},
	outputDown:     {"self_attn.o_a_proj", "attn.wo_a"},
	queryDown:      {"self_attn.q_a_proj", "self_attn.fused_qkv_a_proj", "attn.fused_wqa_wkv"},
	queryUp:        {"self_attn.q_b_proj", "attn.wq_b", "self_attn.q_proj"},
	latentDown:     {"self_attn.kv_a_proj_with_mqa", "self_attn.fused_qkv_a_proj", "attn.fused_wqa_wkv"},
	latentUp:       {"self_attn.kv_b_proj"},
	indexQuery:     {"self_attn.indexer.wq_b"},
	indexKey:       {"self_attn.indexer.wk"},
	recurrentIn:    {"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "mixer.in_proj", "mamba.in_proj", "conv.in_proj"},
	recurrentGates: {"linear_attn.in_proj_ba", "linear_attn.in_proj_a", "linear_attn.in_proj_b", "mixer.x_proj", "mamba.x_proj"},
	recurrentOut:   {"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj", "conv.out_proj"},
	blockIn:        {"mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", "feed_forward.gate_proj", "mlp.fc1", "mixer.up_proj", "feed_forward.w1"},
	blockOut:       {"mlp.down_proj", "feed_forward.down_proj", "mlp.fc2", "mixer.down_proj", "feed_forward.w2"},
	sharedIn:       {"mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj", "ffn.shared_experts.gate_proj", "feed_forward.shared_expert.gate_proj", "mixer.shared_experts.up_proj"},
	sharedOut:      {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj", "ffn.shared_experts.down_proj", "feed_forward.shared_expert.down_proj", "mixer.shared_experts.down_proj"},
	streamIn:       {"mixer.fc1_latent_proj"},
	streamOut:      {"mixer.fc2_latent_proj"},
	expertIn:       {"mlp.experts.0.gate_proj", "ffn.experts.0.gate_proj", "mlp.experts.gate_up_proj", "block_sparse_moe.experts.0.w1", "feed_forward.experts.gate_up_proj", "mixer.experts.0.up_proj", "feed_forward.experts.0.w1"},
	expertOut:      {"mlp.experts.0.down_proj", "ffn.experts.0.down_proj", "mlp.experts.down_proj", "block_sparse_moe.experts.0.w2", "feed_forward.experts.down_proj", "mixer.experts.0.down_proj", "feed_forward.experts.0.w2"},
}
