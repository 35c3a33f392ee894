package engine

// Where what vLLM's server does is documented.
const (
	vllmUtilization = "https://github.com/vllm-project/vllm/pull/38284"
	vllmSpeculation = "https://docs.vllm.ai/en/v0.12.0/api/vllm/config/speculative/"
	vllmJSON        = "https://docs.vllm.ai/en/v0.12.0/cli/serve/"
	vllmDraft       = "https://github.com/vllm-project/vllm/pull/24322"
	vllmAdapters    = "https://docs.vllm.ai/en/v0.11.0/api/vllm/config/lora.html"
	vllmOffload     = "https://github.com/vllm-project/vllm/pull/24498"
	vllmV1          = "https://github.com/vllm-project/vllm/releases/tag/v0.8.0"
	vllmHybrid      = "https://github.com/vllm-project/vllm/pull/17996"
	vllmChunks      = "https://github.com/vllm-project/vllm/pull/19351"
	vllmNoChunks    = "https://github.com/vllm-project/vllm/pull/21761"
	vllmChunksAgain = "https://github.com/vllm-project/vllm/pull/29627"
)

// vllmServes: speculation asserts one token of a sequence between pipeline stages (issues 49355, 57755); FusedMoEWithLoRA makes room for
// adapters in the routed experts of every model that has them (pull request 21229), whether adapters have weights there or not. A draft
// model has the tensor degree of the model. Each data rank is an engine with the whole size of host memory (CPUOffloadingSpec).
var vllmServes = Serves{
	Offers: []Offered{
		{Feature: FeatureUtilization, Since: "0.4.2", Source: vllmArgs042, By: []Purpose{ForUtilization}},
		{Feature: FeatureTokens, Since: "0.4.2", Source: vllmArgs042, By: []Purpose{ForTokens}},
		{Feature: FeatureChunks, Since: "0.8.1", Source: vllmArgs081, By: []Purpose{ForChunks, ForNoChunks}},
		{Feature: FeaturePrefixes, Since: "0.4.2", Source: vllmArgs042, By: []Purpose{ForPrefixes}},
		{Feature: FeatureOffload, Since: "0.15.0", Source: vllmOffload, By: []Purpose{ForHostCache, ForHostCacheKind}},
		{Feature: FeatureDraft, Since: "0.15.0", Source: vllmDraft, By: []Purpose{ForDrafter, ForDraftModel, ForDrafted}, Word: "draft_model"},
		{Feature: FeatureMTP, Since: "0.12.0", Source: vllmSpeculation, By: []Purpose{ForDrafter, ForDrafted}, Word: "mtp"},
		{Feature: FeatureEAGLE, Since: "0.12.0", Source: vllmSpeculation, By: []Purpose{ForDrafter, ForDraftModel, ForDrafted}, Word: "eagle3"},
		{Feature: FeatureNGram, Since: "0.12.0", Source: vllmSpeculation, By: []Purpose{ForDrafter, ForDrafted}, Word: "ngram"},
		{Feature: FeatureAdapters, Since: "0.11.0", Source: vllmAdapters, By: []Purpose{ForAdapters, ForAdapterSlots, ForAdapterRank, ForAdaptersKept}},
		{Feature: FeatureMedia, Since: "0.12.0", Source: vllmJSON, By: []Purpose{ForImages, ForSounds}},
	},
	OneStage: "https://github.com/vllm-project/vllm/issues/49355", ExpertAdapters: true, HostUnit: gib,
}

// vllmServing are the options of what vLLM's server does.
var vllmServing = Arguments{
	{For: ForChunks, Name: "--enable-chunked-prefill", Takes: Switch, Since: "0.8.1", Source: vllmArgs081},
	{For: ForNoChunks, Name: "--no-enable-chunked-prefill", Takes: Switch, Since: "0.12.0", Source: vllmJSON},
	{For: ForPrefixes, Name: "--enable-prefix-caching", Takes: Switch, Since: "0.4.2", Source: vllmArgs042},
	{For: ForHostCache, Name: "--kv-offloading-size", Least: 1, Since: "0.15.0", Source: vllmOffload},
	{For: ForHostCacheKind, Name: "--kv-offloading-backend", Takes: Word, Values: []string{"native"}, Since: "0.15.0", Source: vllmOffload},
	{
		For: ForDrafter, Name: "--speculative-config.method", Takes: Word, Values: []string{"draft_model", "mtp", "eagle3", "ngram"},
		Since: "0.12.0", Source: vllmSpeculation,
	},
	{For: ForDraftModel, Name: "--speculative-config.model", Takes: Text, Since: "0.12.0", Source: vllmSpeculation},
	{For: ForDrafted, Name: "--speculative-config.num_speculative_tokens", Least: 1, Since: "0.12.0", Source: vllmSpeculation},
	{For: ForAdapters, Name: "--enable-lora", Takes: Switch, Since: "0.4.2", Source: vllmArgs042},
	{For: ForAdapterSlots, Name: "--max-loras", Least: 1, Since: "0.11.0", Source: vllmAdapters},
	{
		For: ForAdapterRank, Name: "--max-lora-rank", Takes: Word, Values: []string{"8", "16", "32", "64", "128", "256", "320", "512"},
		Since: "0.11.0", Source: vllmAdapters,
	},
	{For: ForAdaptersKept, Name: "--max-cpu-loras", Least: 1, Since: "0.11.0", Source: vllmAdapters},
	{For: ForImages, Name: "--limit-mm-per-prompt.image", Since: "0.12.0", Source: vllmJSON},
	{For: ForSounds, Name: "--limit-mm-per-prompt.audio", Since: "0.12.0", Source: vllmJSON},
}

// vllmChanges: before 0.8 the V0 engine was the default, with 256 sequences of a step and 2048 tokens (docs of 0.6.6); the V1 engine's are
// the row's. 0.21.0 counts CUDA graphs within the utilization, which it raised for that. One
// size was kept for every layer (unify_hybrid_kv_cache_specs) until the hybrid allocator came, which took chunks later, left them out by
// default for a while because that was faster, and takes them again.
var vllmChanges = []Change{
	{Since: "0", Batches: []Batches{{Serving: Batch{2048, 256}}}, Whole: &WholeLayers{Windows: true, Chunks: true}, Source: "https://docs.vllm.ai/en/v0.6.6.post1/usage/engine_args.html"},
	{Since: "0.8.0", Batches: vllmBatches, Source: vllmV1},
	{Since: "0.9.1", Whole: &WholeLayers{Chunks: true}, Source: vllmHybrid},
	{Since: "0.9.2", Whole: &WholeLayers{}, Source: vllmChunks},
	{Since: "0.10.1", Whole: &WholeLayers{Chunks: true}, Source: vllmNoChunks},
	{Since: "0.13.0", Whole: &WholeLayers{}, Source: vllmChunksAgain},
	{Since: "0.21.0", Permille: 920, Graphs: vllmGraphs, Source: vllmUtilization},
}

// vllmGraphs is the most of ten start-up logs (0.17, 0.22, 0.36, 0.36, 0.37, 0.61, 0.64, 0.70, 0.78 and 1.97 GiB, "Estimated CUDA graph memory"),
// of 0.5 to 1.8 % of a device. What is estimated can be far more where graphs are many or large: issues 45178, 50780 and 53013.
const vllmGraphs = 197 * gib / 100

// vllmBatches are the limits of a step by the memory of a device.
var vllmBatches = []Batches{
	{Below: 70 * gib, Serving: Batch{2048, 256}, Offline: Batch{8192, 256}},
	{Serving: Batch{8192, 1024}, Offline: Batch{16384, 1024}},
}
