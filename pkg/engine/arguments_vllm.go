package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Where vLLM's arguments are documented.
const (
	vllmArgs085  = "https://docs.vllm.ai/en/v0.8.5/serving/engine_args.html"
	vllmArgs081  = "https://docs.vllm.ai/en/v0.8.1/serving/engine_args.html"
	vllmArgs053  = "https://docs.vllm.ai/en/v0.5.3/models/engine_args.html"
	vllmArgs042  = "https://docs.vllm.ai/en/v0.4.2/models/engine_args.html"
	vllmExperts  = "https://docs.vllm.ai/en/v0.10.1.1/serving/expert_parallel_deployment.html"
	vllmParallel = "https://docs.vllm.ai/en/v0.10.1.1/api/vllm/config/parallel.html"
	vllmNodes    = "https://github.com/vllm-project/vllm/pull/23691"
	vllmContext  = "https://docs.vllm.ai/projects/ascend/en/v0.13.0/tutorials/long_sequence_context_parallel_multi_node.html"
)

// vllmArguments are options of `vllm serve`. The model is its first argument. The cache has the format that it is told only where
// activations have it too: one of 16 bits is read wrongly where they have the other (pull request 54338), so both are told.
var vllmArguments = Arguments{
	{For: ForRevision, Name: "--revision", Takes: Text, Since: "0.4.2", Source: vllmArgs042},
	{
		For: ForQuantization, Name: "--quantization", Takes: Word, Values: []string{"fp8"},
		Words: map[v1alpha1.Precision]string{v1alpha1.FP8: "fp8"}, Since: "0.8.1", Source: vllmArgs081,
	},
	{
		For: ForType, Name: "--dtype", Takes: Word, Values: []string{"float16", "bfloat16", "float32"},
		Words: floats, Since: "0.4.2", Source: vllmArgs042,
	},
	{
		// bfloat16 is documented since 0.15, float16 is new with pull request 37199 of March 2026.
		For: ForCache, Name: "--kv-cache-dtype", Takes: Word, Values: []string{"float16", "bfloat16", "fp8", "fp8_e4m3"},
		Words: map[v1alpha1.Precision]string{v1alpha1.BF16: "bfloat16", v1alpha1.FP16: "float16", v1alpha1.FP8: "fp8"}, Since: "0.19.0", Source: "https://github.com/vllm-project/vllm/pull/37199",
	},
	{For: ForLength, Name: "--max-model-len", Least: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForSequences, Name: "--max-num-seqs", Least: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForTokens, Name: "--max-num-batched-tokens", Least: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForUtilization, Name: "--gpu-memory-utilization", Takes: Fraction, Least: 0.01, Most: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForTensor, Name: "--tensor-parallel-size", Least: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForPipeline, Name: "--pipeline-parallel-size", Least: 1, Since: "0.4.2", Source: vllmArgs042},
	{For: ForData, Name: "--data-parallel-size", Least: 1, Since: "0.8.5", Source: vllmArgs085},
	{For: ForContext, Name: "--prefill-context-parallel-size", Least: 1, Since: "0.13.0", Source: vllmContext},
	{For: ForBalance, Name: "--enable-eplb", Takes: Switch, Since: "0.9.2", Source: vllmExperts},
	{For: ForDecodeContext, Name: "--decode-context-parallel-size", Least: 1, Since: "0.13.0", Source: vllmContext},
	{For: ForExpert, Name: "--enable-expert-parallel", Takes: Switch, Since: "0.10.1", Source: vllmExperts},
	{
		For: ForSplit, Name: "VLLM_PP_LAYER_PARTITION", Takes: List, Least: 1, Since: "0.13.0",
		Source: "https://docs.vllm.ai/en/v0.13.0/configuration/env_vars/",
	},
	{
		For: ForBackend, Name: "--distributed-executor-backend", Takes: Word, Values: []string{"mp", "ray"}, Since: "0.5.3",
		Source: vllmArgs053,
	},
	{For: ForNodes, Name: "--nnodes", Least: 1, Since: "0.15.0", Source: vllmNodes},
	{For: ForNode, Name: "--node-rank", Since: "0.15.0", Source: vllmNodes},
	{For: ForHead, Name: "--master-addr", Takes: Text, Since: "0.15.0", Source: vllmNodes},
	{For: ForPort, Name: "--master-port", Least: 1, Most: 65535, Since: "0.15.0", Source: vllmNodes},
	{For: ForDataHead, Name: "--data-parallel-address", Takes: Text, Since: "0.10.1", Source: vllmParallel},
	{For: ForDataPort, Name: "--data-parallel-rpc-port", Least: 1, Most: 65535, Since: "0.10.1", Source: vllmParallel},
	{For: ForHeadless, Name: "--headless", Takes: Switch, Since: "0.15.0", Source: vllmNodes},
}

// floats are PyTorch's names of formats that are not quantized.
var floats = map[v1alpha1.Precision]string{v1alpha1.FP16: "float16", v1alpha1.BF16: "bfloat16", v1alpha1.FP32: "float32"}
