package engine

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Rule says what an engine's utilization is a part of.
type Rule int

const (
	// OfTotal means that weights, activations, cache and what is held outside the allocator stay below a part of the
	// total memory.
	OfTotal Rule = iota
	// StaticOfTotal means that weights and cache stay below a part of the total memory; the rest is left to activations.
	StaticOfTotal
	// OfFree means that the cache takes a part of the memory that everything else leaves free.
	OfFree
)

// Preemption is what an engine does where its cache has no room for what running requests write.
type Preemption struct {
	// Recomputes says that requests are admitted by what they hold, and that those which find no room any more give up their
	// cache and are computed again later. Else room for the longest sequence is kept for each.
	Recomputes bool
	// Source is where that is documented.
	Source string
}

// Memory is an engine's defaults that decide how much memory it takes.
type Memory struct {
	Rule Rule
	// Permille is the default utilization in permille.
	Permille int64
	// Block is the number of tokens of a block of the cache.
	Block int64
	// Sampler is what the last stage holds for each sequence and word of the vocabulary while it samples, in hundredths
	// of a byte; 0 takes the constant that was fitted to vLLM's logs.
	Sampler int64
	// Slack is what the forward pass takes beyond its live tensors, in percent.
	Slack int64
	// Preemption is what the engine does with requests that the cache has no room for while they run.
	Preemption Preemption
	// Lookahead is set where a windowed layer keeps the tokens of a step beside its window.
	Lookahead bool
	// Whole are layers that keep all tokens of a sequence, although they look at fewer.
	Whole WholeLayers
	// Graphs is what recorded launches take where they count within the utilization, in bytes: the most that start-up logs have of usual services.
	Graphs int64
	// Shared are the blocks that all caches of a model with compressed attention share; nil where each has its own.
	Shared *SharedBlocks
	// PadsExperts is set where kernels store MXFP4 experts in larger matrices.
	PadsExperts bool
	// Batches are the default limits of a step by the memory of the device, in rising order; the last entry has no bound.
	Batches []Batches
	// SmallBatches are parts of names of products, in lower case. Products with such a name get the first batches
	// whatever memory they have.
	SmallBatches []string
	// TokensOfAllData is set where the limit of tokens holds for all data ranks together instead of for each, so that the engine's
	// default is divided among them.
	TokensOfAllData bool
	// LoadsWhole is set where all weights are on the device as the checkpoint stores them before the engine makes others of them.
	LoadsWhole bool
	// ContextShards is set where training shares out weights, gradients and optimizer over the context ranks as well as
	// over the data ranks.
	ContextShards bool
	// GradientBytes are those of a gradient of 16-bit weights; 0 are those of the weights.
	GradientBytes int64
}

// WholeLayers says which layers keep all tokens of a sequence, because other layers of the model look at all of them and the engine keeps
// one size for every layer.
type WholeLayers struct {
	// Windows and Chunks are layers that look at a window, or at a chunk.
	Windows, Chunks bool
}

// Keeps says whether the windowed layers of a model keep all tokens of a sequence.
func (w WholeLayers) Keeps(a *v1alpha1.Architecture) bool {
	if a.Attention.Chunked {
		return w.Chunks
	}
	return w.Windows && a.Attention.Compressed == nil && (a.Attention.FullAttentionEvery > 0 || strings.Contains(a.Mixers, "F"))
}

// SharedBlocks are blocks of one size for everything that a model with compressed attention keeps of a sequence: one holds what all layers have of
// Tokens tokens in their runs, or what a group of layers has of fewer tokens of another kind.
type SharedBlocks struct {
	Tokens int64
	// Window is tokens of the windows that a block holds, Overlapping and Plain those of the state that makes runs, by whether runs overlap.
	Window, Overlapping, Plain int64
	// Align is what pages are whole multiples of, in bytes.
	Align int64
}

// Batches are the limits of a step of the engine as a server and as a library.
type Batches struct {
	// Below is the memory in bytes that a device must have less than; 0 means any.
	Below            int64
	Serving, Offline Batch
}

// Batch is the most tokens and the most sequences of a step.
type Batch struct{ Tokens, Sequences int64 }

// FewestTokens is the chunk of prompts that vLLM and SGLang take by default on small devices, and the least that a plan leaves to a rank.
const FewestTokens = 2048

// TokensOfEach returns how many of an engine's default tokens of a step each of so many data ranks takes: not less than fewest where they
// share them, since launchers write the limit of all of them. Prompts would be held up on 32 ranks that only share the default; large
// instances are run with 16384 a rank. Source: https://github.com/sgl-project/sglang/issues/6017.
func (m *Memory) TokensOfEach(tokens, data, fewest int64) int64 {
	if !m.TokensOfAllData || data <= 1 {
		return tokens
	}
	return min(tokens, max(fewest, tokens/data))
}

// Limits returns the default limits of a step on a device, for the engine as a server or, offline, as a library.
func (m *Memory) Limits(d Device, offline bool) Batch {
	of := m.batches(d)
	if offline && of.Offline != (Batch{}) {
		return of.Offline
	}
	return of.Serving
}

func (m *Memory) batches(d Device) *Batches {
	product := strings.ToLower(d.Product)
	for _, small := range m.SmallBatches {
		if strings.Contains(product, small) {
			return &m.Batches[0]
		}
	}
	for i := range m.Batches {
		if b := &m.Batches[i]; b.Below == 0 || d.Bytes < b.Below {
			return b
		}
	}
	return &m.Batches[len(m.Batches)-1]
}

const gib = 1 << 30

// program is the memory of a program without a limit of its own. A sampler that has not been measured is counted as
// 16-bit logits and their 32-bit copy.
var program = Memory{Rule: OfTotal, Permille: 1000, Block: 1, Sampler: 600, Batches: []Batches{{Serving: Batch{8192, 256}}}}

// sharingOverContext is program for an engine that shares out training states over context ranks too.
var sharingOverContext = func() Memory {
	m := program
	m.ContextShards = true
	return m
}()

// addingUpIn32 is sharingOverContext for an engine that adds up gradients in 32 bits, with which AdamW takes 18 bytes a parameter. Sources:
// Megatron-LM's theoretical_memory_usage.py (18, or 6 and 12 divided by the data ranks), and validate_args, which asks for it with BF16;
// https://deepspeed.readthedocs.io/en/latest/memory.html (18).
var addingUpIn32 = func() Memory {
	m := sharingOverContext
	m.GradientBytes = 4
	return m
}()
