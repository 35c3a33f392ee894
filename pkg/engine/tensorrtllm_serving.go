package engine

const (
	tensorRTSpeculation = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/docs/source/features/speculative-decoding.md"
	tensorRTAdapters    = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/docs/source/features/lora.md"
)

// tensorRTServes: speculation is of its PyTorch backend, and each rank has host memory of its own for blocks that leave the device, in
// bytes. An adapter's modules have names of its own.
var tensorRTServes = Serves{
	Offers: []Offered{
		{Feature: FeatureUtilization, Since: "1.1.0", Source: tensorRTArgs, By: []Purpose{ForUtilization}},
		{Feature: FeatureTokens, Since: "0.18.2", Source: tensorRTServe, By: []Purpose{ForTokens}},
		{Feature: FeatureChunks, Since: "1.1.0", Source: tensorRTArgs, By: []Purpose{ForChunks}},
		{Feature: FeaturePrefixes, Since: "1.1.0", Source: tensorRTArgs, By: []Purpose{ForPrefixes}},
		{Feature: FeatureOffload, Since: "1.1.0", Source: tensorRTArgs, By: []Purpose{ForHostCache}},
		{Feature: FeatureDraft, Since: "1.1.0", Source: tensorRTSpeculation, By: []Purpose{ForDrafter, ForDraftModel, ForDrafted}, Word: "DraftTarget"},
		{Feature: FeatureMTP, Since: "1.1.0", Source: tensorRTSpeculation, By: []Purpose{ForDrafter, ForDrafted, ForDraftSteps}, Word: "MTP"},
		{Feature: FeatureEAGLE, Since: "1.1.0", Source: tensorRTSpeculation, By: []Purpose{ForDrafter, ForDraftModel, ForDrafted}, Word: "Eagle3"},
		{Feature: FeatureNGram, Since: "1.1.0", Source: tensorRTSpeculation, By: []Purpose{ForDrafter, ForDrafted}, Word: "NGram"},
		{Feature: FeatureAdapters, Since: "1.1.0", Source: tensorRTAdapters, By: []Purpose{ForAdapterSlots, ForAdapterRank, ForAdaptersKept, ForAdapterModules}},
		{Feature: FeatureMedia, Since: "1.1.0", Source: tensorRTArgs},
	},
	EachRank: true, HostUnit: 1,
}

// tensorRTServing are keys of the file of options for what the server does, those of one object one after the other.
var tensorRTServing = Arguments{
	{For: ForPrefixes, Name: "kv_cache_config.enable_block_reuse", Takes: Truth, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForHostCache, Name: "kv_cache_config.host_cache_size", Least: 1, Since: "1.1.0", Source: tensorRTArgs},
	{For: ForChunks, Name: "enable_chunked_prefill", Takes: Truth, Since: "1.1.0", Source: tensorRTArgs},
	{
		For: ForDrafter, Name: "speculative_config.decoding_type", Takes: Word, Values: []string{"DraftTarget", "MTP", "Eagle3", "NGram"},
		Since: "1.1.0", Source: tensorRTSpeculation,
	},
	{For: ForDrafted, Name: "speculative_config.max_draft_len", Least: 1, Since: "1.1.0", Source: tensorRTSpeculation},
	{For: ForDraftSteps, Name: "speculative_config.num_nextn_predict_layers", Least: 1, Since: "1.1.0", Source: tensorRTSpeculation},
	{For: ForDraftModel, Name: "speculative_config.speculative_model_dir", Takes: Text, Since: "1.1.0", Source: tensorRTSpeculation},
	{For: ForAdapterSlots, Name: "lora_config.max_loras", Least: 1, Since: "1.1.0", Source: tensorRTAdapters},
	{For: ForAdapterRank, Name: "lora_config.max_lora_rank", Least: 1, Since: "1.1.0", Source: tensorRTAdapters},
	{For: ForAdaptersKept, Name: "lora_config.max_cpu_loras", Least: 1, Since: "1.1.0", Source: tensorRTAdapters},
	{
		For: ForAdapterModules, Name: "lora_config.lora_target_modules", Takes: WordList,
		Values: []string{"attn_q", "attn_k", "attn_v", "attn_dense", "mlp_h_to_4h", "mlp_gate", "mlp_4h_to_h"}, Since: "1.1.0", Source: tensorRTAdapters,
	},
}
