package memory

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// rule says what an engine's utilization is a part of.
type rule int

const (
	// ofTotal: weights, activations, cache and what is held outside the allocator stay below a part of the total.
	ofTotal rule = iota
	// staticOfTotal: weights and cache stay below a part of the total, and the rest is left to activations.
	staticOfTotal
	// ofFree: the cache takes a part of what everything else leaves free.
	ofFree
)

// batch is how much an engine works on in one step.
type batch struct{ tokens, sequences int64 }

// engine is what memory depends on.
type engine struct {
	rule rule
	// permille is the default utilization.
	permille int64
	// block is the default number of tokens of a block of the cache.
	block int64
	// sampler is what the last stage holds for each sequence and word of the vocabulary while it samples, in hundredths of
	// a byte; 0 stands for vLLM's fitted constant.
	sampler int64
	// slack is what the forward pass takes beyond its live tensors, in percent.
	slack int64
	// lookahead is set where a windowed layer keeps the tokens of a step beside its window.
	lookahead bool
	// padsExperts is set where kernels store MXFP4 experts in larger matrices.
	padsExperts bool
	limits      func(d Device, offline bool) batch
}

// Sources. vLLM: gpu_memory_utilization 0.9 of the total; EngineArgs.get_batch_defaults; SlidingWindowSpec keeps window
// - 1 + max_num_batched_tokens. SGLang: mem_fraction_static of the total, for weights and cache; its launch files set
// 0.9; 15 % more activations than TensorRT-LLM by AIConfigurator. TensorRT-LLM: kv_cache_free_gpu_memory_fraction 0.9 of
// what is free after the model ran once; max_num_tokens 8192, max_batch_size 2048, tokens_per_block 32. A sampler that
// has not been measured is counted as 16-bit logits and their 32-bit copy, and one more 32-bit copy where probabilities
// are kept.
var engines = map[v1alpha1.Engine]engine{
	v1alpha1.EngineVLLM: {
		rule: ofTotal, permille: 900, block: 16, slack: 0, lookahead: true, padsExperts: true, limits: vllmLimits,
	},
	v1alpha1.EngineSGLang: {
		rule: staticOfTotal, permille: 900, block: 1, sampler: 1000, slack: 15, limits: sglangLimits,
	},
	v1alpha1.EngineTensorRTLLM: {
		rule: ofFree, permille: 900, block: 32, sampler: 600, limits: fixedLimits(8192, 2048),
	},
	v1alpha1.EngineMegatron:  plain,
	v1alpha1.EngineDeepSpeed: plain,
	v1alpha1.EngineTorch:     plain,
	v1alpha1.EngineJAX:       plain,
	v1alpha1.EngineMPI:       plain,
}

// plain is a program without a memory limit of its own.
var plain = engine{rule: ofTotal, permille: 1000, block: 1, sampler: 600, limits: fixedLimits(8192, 256)}

// Engines returns the names of the engines that are known, sorted.
func Engines() []v1alpha1.Engine {
	names := make([]v1alpha1.Engine, 0, len(engines))
	for name := range engines {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// vllmLimits are the defaults of EngineArgs.get_batch_defaults: large batches on devices of 70 GiB and more, except for
// A100, where they cost throughput.
func vllmLimits(d Device, offline bool) batch {
	large := d.visible() >= 70*gib && !strings.Contains(strings.ToLower(d.Product), "a100")
	switch {
	case large && offline:
		return batch{16384, 1024}
	case large:
		return batch{8192, 1024}
	case offline:
		return batch{8192, 256}
	default:
		return batch{2048, 256}
	}
}

// sglangSizes are SGLang's chunked_prefill_size and largest batch of a CUDA graph by device memory in MiB, for tensor
// degrees below 4 (ServerArgs._handle_gpu_memory_settings).
var sglangSizes = []struct {
	below int64
	batch batch
}{
	{20 << 10, batch{2048, 8}}, {35 << 10, batch{2048, 24}}, {60 << 10, batch{4096, 32}}, {160 << 10, batch{8192, 256}},
}

func sglangLimits(d Device, _ bool) batch {
	for _, size := range sglangSizes {
		if d.visible() < size.below*mib {
			return size.batch
		}
	}
	return batch{16384, 512}
}

func fixedLimits(tokens, sequences int64) func(Device, bool) batch {
	return func(Device, bool) batch { return batch{tokens, sequences} }
}

// driverShare and driverLeast bound what NVIDIA's driver keeps of the memory that it reports: a 128th, at least 450 MiB.
// Sources: nvidia-smi -q against cudaMemGetInfo in published logs, in MiB: H100 80GB 454 to 551 of 81559, A100 40GB 625
// of 40960, A100 80GB 768 to 881 of 81920, L4 434 of 23034, T4 453 of 15360, RTX 5090 484 of 32607.
const (
	driverShare = 128
	driverLeast = 450 * mib
)

// visible is the total that a process sees.
func (d Device) visible() int64 {
	if d.VisibleBytes > 0 {
		return d.VisibleBytes
	}
	return max(0, d.TotalBytes-d.driver())
}

func (d Device) driver() int64 {
	if d.VisibleBytes > 0 || d.Vendor != "nvidia" {
		return 0
	}
	return max(driverLeast, d.TotalBytes/driverShare)
}
