package engine

const (
	sglangSpeculation = "https://docs.sglang.io/advanced_features/speculative_decoding.html"
	sglangAdapters    = "https://docs.sglang.io/advanced_features/lora.html"
	sglangHostCache   = "https://docs.sglang.io/advanced_features/hicache_design.html"
)

// sglangServes: the radix cache finds prefixes unless it is told not to, and images are read where the model does. A batch counts requests
// without an adapter as those of one. Each rank has a pool of host memory of its own, in billions of bytes. Speculation works in one
// pipeline stage (ServerArgs.check_server_args: pipeline parallelism is not compatible with speculative decoding), and by n-grams without
// attention data parallelism. HostKVCache asserts that the host's pool is larger than the device's.
var sglangServes = Serves{
	Offers: []Offered{
		{Feature: FeatureUtilization, Since: "0.5.10", Source: sglangArgs, By: []Purpose{ForUtilization}},
		{Feature: FeatureTokens, Since: "0.5.10", Source: sglangArgs, By: []Purpose{ForTokens}},
		{Feature: FeatureChunks, Since: "0.5.10", Source: sglangArgs, By: []Purpose{ForTokens}},
		{Feature: FeaturePrefixes, Since: "0.5.10", Source: sglangArgs},
		{Feature: FeatureOffload, Since: "0.5.10", Source: sglangHostCache, By: []Purpose{ForHostCacheOn, ForHostCache}},
		{Feature: FeatureDraft, Since: "0.5.10", Source: sglangSpeculation, By: []Purpose{ForDrafter, ForDraftModel, ForDraftSteps, ForDraftBranches, ForVerified}, Word: "STANDALONE"},
		{Feature: FeatureMTP, Since: "0.5.10", Source: sglangSpeculation, By: []Purpose{ForDrafter, ForDraftSteps, ForDraftBranches, ForVerified}, Word: "EAGLE"},
		{Feature: FeatureEAGLE, Since: "0.5.10", Source: sglangSpeculation, By: []Purpose{ForDrafter, ForDraftModel, ForDraftSteps, ForDraftBranches, ForVerified}, Word: "EAGLE3"},
		{Feature: FeatureNGram, Since: "0.5.10", Source: sglangSpeculation, By: []Purpose{ForDrafter, ForVerified}, Word: "NGRAM", OneData: true},
		{Feature: FeatureAdapters, Since: "0.5.10", Source: sglangAdapters, By: []Purpose{ForAdapters, ForAdapterSlots, ForAdapterRank, ForAdaptersKept, ForAdapterModules}},
		{Feature: FeatureMedia, Since: "0.5.10", Source: sglangArgs, By: []Purpose{ForMedia}},
	},
	OneStage: "https://github.com/sgl-project/sglang/blob/64480ec7124b8c23d9560746ca20415bfaf97a8e/python/sglang/srt/server_args.py#L1548-L1553", SpareAdapters: 1, EachRank: true, HostUnit: 1e9, HostAboveDevice: true,
}

// sglangServing are the options of what SGLang's server does. Drafts are a chain of tokens, which is a tree of one branch, and what is
// verified has one token more.
var sglangServing = Arguments{
	{For: ForHostCacheOn, Name: "--enable-hierarchical-cache", Takes: Switch, Since: "0.5.10", Source: sglangArgs},
	{For: ForHostCache, Name: "--hicache-size", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{
		For: ForDrafter, Name: "--speculative-algorithm", Takes: Word, Values: []string{"EAGLE", "EAGLE3", "STANDALONE", "NGRAM"},
		Since: "0.5.10", Source: sglangArgs,
	},
	{For: ForDraftModel, Name: "--speculative-draft-model-path", Takes: Text, Since: "0.5.10", Source: sglangArgs},
	{For: ForDraftSteps, Name: "--speculative-num-steps", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForDraftBranches, Name: "--speculative-eagle-topk", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForVerified, Name: "--speculative-num-draft-tokens", Least: 2, Since: "0.5.10", Source: sglangArgs},
	{For: ForAdapters, Name: "--enable-lora", Takes: Switch, Since: "0.5.10", Source: sglangArgs},
	{For: ForAdapterSlots, Name: "--max-loras-per-batch", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForAdapterRank, Name: "--max-lora-rank", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForAdaptersKept, Name: "--max-loaded-loras", Least: 1, Since: "0.5.10", Source: sglangArgs},
	{For: ForAdapterModules, Name: "--lora-target-modules", Takes: Word, Values: []string{"all"}, Since: "0.5.10", Source: sglangArgs},
	{For: ForMedia, Name: "--enable-multimodal", Takes: Switch, Since: "0.5.10", Source: sglangArgs},
}
