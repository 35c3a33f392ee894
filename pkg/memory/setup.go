package memory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Setup is what memory is computed for. Exactly one of Inference and Training is set.
type Setup struct {
	Model *model.Model
	// Engine runs it; empty means vLLM.
	Engine v1alpha1.Engine
	// EngineVersion is its version, whose defaults count; empty means the one that its row was compared with.
	EngineVersion string
	// Weights is the precision that the weights are stored in, KV the precision of the cache, empty for 16 bits.
	Weights, KV v1alpha1.Precision
	Layout      Layout
	Inference   *Inference
	// Draft drafts tokens for the model; nil where nothing is loaded for it. It is beside the last stage, with the same tensor and
	// attention data ranks.
	Draft    *model.Draft
	Training *v1alpha1.TrainingWorkload
}

// Layout is how the ranks of one instance of the model share it. A degree of 0 counts as 1.
type Layout struct {
	// Tensor ranks share the heads and widths of a layer.
	Tensor int
	// Pipeline is the number of stages.
	Pipeline int
	// Data is, in training, the number of ranks that hold the same layers and see other batches.
	Data int
	// AttentionData is, in inference, the number of groups of tensor ranks that each serve sequences of their own and
	// share only the experts. SGLang and TensorRT-LLM count them inside their tensor degree: tp 8 with dp 8 is Tensor 1
	// and AttentionData 8 here.
	AttentionData int
	// Context ranks share out the tokens of a sequence and hold the same weights, except for experts. In inference they
	// share a step's tokens and each keep the whole cache.
	Context int
	// Expert groups share out whole experts among the Tensor x Context x AttentionData ranks of a stage (in training among
	// the Data x Context ranks); ranks of one group share the width of its experts.
	Expert int
	// DecodeContext ranks among the tensor ranks share out the tokens of the cache.
	DecodeContext int
}

// Inference is the load of an engine that serves. Zero fields take the engine's default.
type Inference struct {
	// MaxModelLen is the longest sequence in tokens, prompt and answer together.
	MaxModelLen int64
	// Sequences is how many sequences run at once in the instance.
	Sequences int64
	// Mean and Deviation are the tokens that a running sequence holds at a random time, in the mean, and by how much it
	// deviates from that. The cache must hold one sequence of MaxModelLen tokens, without which engines do not start, and
	// occupancy.Spare deviations more than the mean of all sequences together. A Mean of 0 holds all at MaxModelLen tokens.
	Mean, Deviation int64
	// BatchedTokens is the most tokens of one step, BatchedSequences the most sequences, on each rank that attends to
	// sequences of its own.
	BatchedTokens, BatchedSequences int64
	// Offline asks for the engine's defaults as a library instead of as a server.
	Offline bool
	// Utilization is the part of a device that the engine takes, in permille of the memory that its rule refers to.
	Utilization int64
	// BlockTokens is the number of tokens in a block of the cache.
	BlockTokens int64
	// Shared is the tokens with which all sequences begin; the cache of a rank holds them once.
	Shared int64
	// AdapterSlots is how many LoRA adapters of rank AdapterRank each device has room for.
	AdapterSlots, AdapterRank int64
	// Drafted is how many drafted tokens of each sequence a step verifies.
	Drafted int64
	// MediaTokens is the tokens of the largest image or sound of a prompt. Encoders keep those of a step for the language model.
	MediaTokens int64
}

// Device is the memory of one device.
type Device struct {
	// Vendor is the vendor in lower case, Product the name that the driver reports.
	Vendor, Product string
	// TotalBytes is the memory that the driver reports.
	TotalBytes int64
	// VisibleBytes is the total that the runtime shows to a process (cudaMemGetInfo), 0 where it is not known. It is less
	// than TotalBytes by what the driver keeps.
	VisibleBytes int64
	// OthersBytes is held by processes outside the plan.
	OthersBytes int64
	// HeldBackBytes is what an engine was seen to have less for its cache on such a device than is counted.
	HeldBackBytes int64
}

const (
	mib = 1 << 20
	gib = 1 << 30
)
