package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

const (
	sglangArgs    = "https://docs.sglang.io/advanced_features/server_arguments.html"
	sglangExperts = "https://docs.sglang.io/advanced_features/expert_parallelism.html"
	sglangSplit   = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/distributed/utils.py"
)

// sglangArguments are options of `python3 -m sglang.launch_server`. A cache of 16 bits that are not BF16 is told by the format of
// activations, which `auto` follows: there is no word for FP16.
var sglangArguments = Arguments{
	{For: ForRevision, Name: "--revision", Takes: Text, Since: "0.5.10", Source: sglangArgs},
	{
		For: ForQuantization, Name: "--quantization", Takes: Word, Values: []string{"fp8"},
		Words: map[v1alpha1.Precision]string{v1alpha1.FP8: "fp8"}, Since: "0.5.10", Source: sglangArgs,
	},
	{
		For: ForType, Name: "--dtype", Takes: Word, Values: []string{"float16", "bfloat16", "float32"},
		Words: floats, Since: "0.5.10", Source: sglangArgs,
	},
	{
		For: ForCache, Name: "--kv-cache-dtype", Takes: Word, Values: []string{"auto", "bfloat16", "fp8_e4m3", "fp8_e5m2"},
		Words: map[v1alpha1.Precision]string{v1alpha1.BF16: "bfloat16", v1alpha1.FP16: "auto", v1alpha1.FP8: "fp8_e4m3"}, Since: "0.5.10", Source: sglangArgs,
	},
	{For: ForLength, Name: "--context-length", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForSequences, Name: "--max-running-requests", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForTokens, Name: "--chunked-prefill-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForUtilization, Name: "--mem-fraction-static", Takes: Fraction, Least: 0.01, Most: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForTensor, Name: "--tp-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForPipeline, Name: "--pp-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForData, Name: "--dp-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForAttentionData, Name: "--enable-dp-attention", Takes: Switch, Since: "0.5.10", Source: sglangArgs},
	{For: ForExpert, Name: "--ep-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForDenseTensor, Name: "--moe-dense-tp-size", Least: 1, Most: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForExchange, Name: "--moe-a2a-backend", Takes: Word, Values: []string{"none", "deepep", "mooncake", "mori"}, Since: "0.5.10", Source: sglangExperts},
	{For: ForBalance, Name: "--enable-eplb", Takes: Switch, Since: "0.5.10", Source: sglangExperts},
	{For: ForSplit, Name: "SGLANG_PP_LAYER_PARTITION", Takes: List, Least: 1, Since: "0.5.10", Source: sglangSplit},
	{For: ForNodes, Name: "--nnodes", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForNode, Name: "--node-rank", Since: "0.5.10", Source: sglangArgs},
	{For: ForHead, Name: "--dist-init-addr", Takes: Text, Since: "0.5.10", Source: sglangArgs},
}
