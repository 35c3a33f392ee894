package launch

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// commands are what each engine is told of what its server does: words of its command, or lines of its file.
var commands = map[string]struct {
	options v1alpha1.ServingOptions
	vllm    string
	sglang  string
	trt     string
}{
	"a part of the memory": {
		v1alpha1.ServingOptions{MemoryUtilizationPercent: 85},
		"--gpu-memory-utilization 0.85", "--mem-fraction-static 0.85", "kv_cache_config:\n  dtype: auto\n  free_gpu_memory_fraction: 0.85\n",
	},
	"prefixes": {
		v1alpha1.ServingOptions{PrefixCache: &v1alpha1.PrefixCache{HitPercent: 40}},
		"--enable-prefix-caching", "", "  free_gpu_memory_fraction: 0.9\n  enable_block_reuse: true\n",
	},
	"memory of the host": {
		v1alpha1.ServingOptions{Offload: &v1alpha1.CacheOffload{GiB: 64}},
		"--kv-offloading-size 64 --kv-offloading-backend native", "--enable-hierarchical-cache --hicache-size 17", "  host_cache_size: 17179869184\n",
	},
	"a draft model": {
		v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationDraft, Model: "meta-llama/Llama-3.2-1B", Tokens: 4}},
		"--speculative-config.method draft_model --speculative-config.model meta-llama/Llama-3.2-1B --speculative-config.num_speculative_tokens 4",
		"--speculative-algorithm STANDALONE --speculative-draft-model-path meta-llama/Llama-3.2-1B --speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5",
		"speculative_config:\n  decoding_type: DraftTarget\n  speculative_model_dir: \"meta-llama/Llama-3.2-1B\"\n  max_draft_len: 4\n",
	},
	"a module of the checkpoint": {
		v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationMTP, Tokens: 1}},
		"--speculative-config.method mtp --speculative-config.num_speculative_tokens 1",
		"--speculative-algorithm EAGLE --speculative-num-steps 1 --speculative-eagle-topk 1 --speculative-num-draft-tokens 2",
		"speculative_config:\n  decoding_type: MTP\n  max_draft_len: 1\n  num_nextn_predict_layers: 1\n",
	},
	"a head": {
		v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationEAGLE, Model: "own/head", Tokens: 3}},
		"--speculative-config.method eagle3 --speculative-config.model own/head --speculative-config.num_speculative_tokens 3",
		"--speculative-algorithm EAGLE3 --speculative-draft-model-path own/head --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
		"speculative_config:\n  decoding_type: Eagle3\n  speculative_model_dir: \"own/head\"\n  max_draft_len: 3\n",
	},
	"what followed before": {
		v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationNGram, Tokens: 5}},
		"--speculative-config.method ngram --speculative-config.num_speculative_tokens 5", "--speculative-algorithm NGRAM --speculative-num-draft-tokens 6",
		"speculative_config:\n  decoding_type: NGram\n  max_draft_len: 5\n",
	},
	"adapters": {
		v1alpha1.ServingOptions{Adapters: &v1alpha1.Adapters{Count: 64, Rank: 12, Active: 8}},
		"--enable-lora --max-loras 8 --max-lora-rank 16 --max-cpu-loras 64",
		"--enable-lora --max-loras-per-batch 9 --max-lora-rank 12 --max-loaded-loras 64 --lora-target-modules all",
		"lora_config:\n  max_loras: 8\n  max_lora_rank: 12\n  max_cpu_loras: 64\n  lora_target_modules: [attn_q, attn_k, attn_v, attn_dense, mlp_h_to_4h, mlp_gate, mlp_4h_to_h]\n",
	},
	"images and sound": {
		v1alpha1.ServingOptions{Media: &v1alpha1.Media{Images: 2, ImageTokens: 500, AudioSeconds: 30, AudioTokensPerSecond: 25}},
		"--limit-mm-per-prompt.image 2 --limit-mm-per-prompt.audio 1", "--enable-multimodal", "",
	},
	"prompts in chunks": {
		v1alpha1.ServingOptions{ChunkedPrefill: v1alpha1.ChunkedPrefillEnabled}, "--enable-chunked-prefill", "", "enable_chunked_prefill: true\n",
	},
	"whole prompts": {
		v1alpha1.ServingOptions{ChunkedPrefill: v1alpha1.ChunkedPrefillDisabled}, "--no-enable-chunked-prefill", "", "enable_chunked_prefill: false\n",
	},
}

// Each engine is told what the plan counted, under its own names; its own table checks that the command can be.
func TestServersAreToldWhatThePlanCounts(t *testing.T) {
	for name, test := range commands {
		t.Run(name, func(t *testing.T) {
			f := fixture{strategy: degrees(4, 1, 1), serving: &test.options}
			for of, want := range map[v1alpha1.Engine]string{v1alpha1.EngineVLLM: test.vllm, v1alpha1.EngineSGLang: test.sglang} {
				f.engine = of
				if got := strings.Join(ofPod(t, f.bundle(t, strings.ToLower(string(of))), 0).Arguments, " "); !strings.Contains(got, want) {
					t.Errorf("%s is started with %s, not with %s", of, got, want)
				}
			}
			f.engine = v1alpha1.EngineTensorRTLLM
			if got := file(t, f.bundle(t, "tensorrt-llm"), "copy-0.trtllm.yaml"); !strings.Contains(got, test.trt) {
				t.Errorf("TensorRT-LLM has the options\n%s, not\n%s", got, test.trt)
			}
		})
	}
}

// Each data rank of vLLM is an engine with host memory of its own, each rank of SGLang has some.
func TestHostMemoryIsSharedOut(t *testing.T) {
	f := fixture{strategy: degrees(2, 1, 2), serving: &v1alpha1.ServingOptions{Offload: &v1alpha1.CacheOffload{GiB: 64}}}
	for of, want := range map[v1alpha1.Engine]string{v1alpha1.EngineVLLM: "--kv-offloading-size 32 ", v1alpha1.EngineSGLang: "--hicache-size 17 "} {
		f.engine = of
		if got := strings.Join(ofPod(t, f.bundle(t, strings.ToLower(string(of))), 0).Arguments, " "); !strings.Contains(got, want) {
			t.Errorf("%s is started with %s, not with %s", of, got, want)
		}
	}
}

// A plan for what its engine cannot be told is not started.
func TestMethodsThatAnEngineLacks(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(4, 1, 1), serving: &v1alpha1.ServingOptions{Speculation: &v1alpha1.Speculation{Method: "Medusa", Tokens: 1}}}
	f.refused(t, "vllm", "is not an option of the engine")
}
