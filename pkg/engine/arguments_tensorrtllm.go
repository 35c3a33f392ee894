package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

const (
	tensorRTArgs  = "https://nvidia.github.io/TensorRT-LLM/1.1.0rc5/_modules/tensorrt_llm/llmapi/llm_args.html"
	tensorRTServe = "https://nvidia.github.io/TensorRT-LLM/0.20.0rc1/commands/trtllm-serve.html"
)

// tensorRTArguments are the one option of `trtllm-serve`, and keys of the file that it names. A cache of 16 bits is that of the
// format of activations, which `auto` follows.
var tensorRTArguments = Arguments{
	{For: ForFile, Name: "--extra_llm_api_options", Takes: Text, Since: "0.20.0", Source: tensorRTServe},
	{For: ForRevision, Name: "revision", Takes: Text, Since: "1.1.0", Source: tensorRTArgs},
	{
		For: ForType, Name: "dtype", Takes: Word, Values: []string{"float16", "bfloat16", "float32"},
		Words: floats, Since: "1.1.0", Source: tensorRTArgs,
	},
	{For: ForLength, Name: "max_seq_len", Least: 1, Since: "0.18.2", Source: tensorRTServe},
	{For: ForSequences, Name: "max_batch_size", Least: 1, Since: "0.18.2", Source: tensorRTServe},
	{For: ForTokens, Name: "max_num_tokens", Least: 1, Since: "0.18.2", Source: tensorRTServe},
	{For: ForTensor, Name: "tensor_parallel_size", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForPipeline, Name: "pipeline_parallel_size", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForContext, Name: "context_parallel_size", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForExpert, Name: "moe_expert_parallel_size", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForAttentionData, Name: "enable_attention_dp", Takes: Truth, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForSplit, Name: "pp_partition", Takes: List, Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForDevices, Name: "gpus_per_node", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{
		For: ForCache, Name: "kv_cache_config.dtype", Takes: Word, Values: []string{asStored, "fp8", "nvfp4"},
		Words: map[v1alpha1.Precision]string{v1alpha1.BF16: asStored, v1alpha1.FP16: asStored, v1alpha1.FP8: "fp8"}, Since: "1.1.0", Source: tensorRTArgs,
	},
	{
		For: ForUtilization, Name: "kv_cache_config.free_gpu_memory_fraction", Takes: Fraction, Least: 0, Most: 1, Since: "1.1.0",
		Source: tensorRTArgs,
	},
}
