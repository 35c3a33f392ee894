package v1alpha1

// Workload is what a model is for. Exactly one of inference and training is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inference), has(self.training)].filter(x, x).size() == 1",message="exactly one of inference and training must be set: make two placements for a model that does both"
type Workload struct {
	// The load of a model that answers requests. At most one of maxSequences and totalSequences is set.
	// +optional
	Inference *InferenceWorkload `json:"inference,omitempty"`
	// The load of a model that is trained or fine-tuned.
	// +optional
	Training *TrainingWorkload `json:"training,omitempty"`
}

// Objective is what to optimise for.
// +kubebuilder:validation:Enum=Latency;Throughput;Cost
type Objective string

// The objectives.
const (
	ObjectiveLatency    Objective = "Latency"
	ObjectiveThroughput Objective = "Throughput"
	ObjectiveCost       Objective = "Cost"
)

// Capacity is what the KV cache must hold of the sequences that run at once.
// +kubebuilder:validation:Enum=Typical;FullLength
type Capacity string

// The capacities.
const (
	CapacityTypical    Capacity = "Typical"
	CapacityFullLength Capacity = "FullLength"
)

// InferenceWorkload is the load to plan for. At most one of maxSequences and totalSequences is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.maxSequences), has(self.totalSequences)].filter(x, x).size() <= 1",message="at most one of maxSequences and totalSequences must be set: maxSequences is the load of each copy, totalSequences that of all copies together"
// +kubebuilder:validation:XValidation:rule="!has(self.inputTokens) || !has(self.outputTokens) || self.inputTokens + self.outputTokens <= self.maxModelLen",message="inputTokens + outputTokens must not exceed maxModelLen: raise maxModelLen or shorten the request"
// +kubebuilder:validation:XValidation:rule="!has(self.serving) || !has(self.serving.prefixCache) || !has(self.serving.prefixCache.sharedTokens) || self.serving.prefixCache.sharedTokens <= (has(self.inputTokens) ? self.inputTokens : self.maxModelLen)",message="serving.prefixCache.sharedTokens must not exceed inputTokens: they are the beginning of every prompt; raise inputTokens, which counts them too"
// +kubebuilder:validation:XValidation:rule="!has(self.serving) || !has(self.serving.chunkedPrefill) || self.serving.chunkedPrefill == 'Enabled' || !has(self.serving.maxBatchedTokens) || self.serving.maxBatchedTokens >= self.maxModelLen",message="serving.maxBatchedTokens must not be below maxModelLen where chunkedPrefill is Disabled: a prompt is read in one step; raise it, or remove chunkedPrefill"
type InferenceWorkload struct {
	// Longest sequence, prompt and answer together, in tokens.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxModelLen int32 `json:"maxModelLen"`
	// Number of sequences that run at once in each copy. What the KV cache must hold of them is what capacity says. Absent
	// means what totalSequences leaves for a copy, and 1 where that is absent too.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxSequences int32 `json:"maxSequences,omitempty"`
	// Number of sequences that run at once in all copies together. Each copy takes an equal share, rounded up. What the KV
	// cache must hold of them is what capacity says. Where spec.replicas is absent, the planner chooses the number of copies with which the
	// plan takes the fewest devices (with the objective Cost, the cheapest).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	TotalSequences int32 `json:"totalSequences,omitempty"`
	// Mean length of prompts in tokens, for estimates and, with outputTokens, for capacity. Absent means half of maxModelLen, or what outputTokens leaves of
	// it if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	InputTokens *int32 `json:"inputTokens,omitempty"`
	// Mean length of answers in tokens, for estimates and, with inputTokens, for capacity. Absent means half of maxModelLen, or what inputTokens leaves of
	// it if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	OutputTokens *int32 `json:"outputTokens,omitempty"`
	// How much lengths differ from request to request: the standard deviation of prompts, and of answers, in percent of
	// their mean. Below 10 all requests count as alike, which makes them grow in step. Absent means 100, as measured of
	// public services.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=400
	LengthVariationPercent *int32 `json:"lengthVariationPercent,omitempty"`
	// What the KV cache of a copy must hold: requests as they run (Typical: one sequence of maxModelLen tokens, and at 95 %
	// of all times all sequences in the lengths of inputTokens and outputTokens; a request that finds no room is preempted
	// and computed again, which estimates count), or all sequences at maxModelLen tokens (FullLength: none is ever
	// preempted). Absent means Typical. Without both lengths, and for engines that never preempt, all is held in full.
	// +optional
	Capacity Capacity `json:"capacity,omitempty"`
	// What to prefer among the plans that fit: Latency (the shortest time for an answer), Throughput (the most tokens per
	// second from each device; the default) or Cost (the cheapest tokens).
	// +optional
	// +kubebuilder:default=Throughput
	Objective Objective `json:"objective,omitempty"`
	// Longest acceptable time from a request to its first token, in milliseconds. Absent means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxTTFTMillis *int32 `json:"maxTTFTMillis,omitempty"`
	// Longest acceptable time for each further token, in milliseconds. Absent means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxTPOTMillis *int32 `json:"maxTPOTMillis,omitempty"`
	// What the server does beside decoding one token after the other, and settings other than the engine's defaults. Absent means
	// nothing, and the defaults.
	// +optional
	Serving *ServingOptions `json:"serving,omitempty"`
}

// TrainingMethod is what is trained.
// +kubebuilder:validation:Enum=Full;LoRA;QLoRA;Prefix;DPO;RLHF;Distillation
type TrainingMethod string

// Optimizer is the optimizer's state, which decides its bytes per parameter.
// +kubebuilder:validation:Enum=AdamW;AdamW8bit;Adafactor;SGD;SGDMomentum
type Optimizer string

// TrainingSharding is what data-parallel ranks share out among themselves.
// +kubebuilder:validation:Enum=None;ZeRO1;ZeRO2;ZeRO3;FSDP
type TrainingSharding string

// Recompute is what of the activations is computed again in the backward pass.
// +kubebuilder:validation:Enum=None;Selective;Full
type Recompute string

// What may be computed again.
const (
	RecomputeNone      Recompute = "None"
	RecomputeSelective Recompute = "Selective"
	RecomputeFull      Recompute = "Full"
)

// TrainingWorkload is the training to plan for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.activationCheckpointing) || !self.activationCheckpointing || !has(self.recompute) || self.recompute == 'Full'",message="activationCheckpointing true is recompute Full: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.microBatch) || self.microBatch <= self.globalBatch",message="microBatch must not exceed globalBatch: lower microBatch, or raise globalBatch to the sequences of one step over all devices"
type TrainingWorkload struct {
	// What is trained: all weights (Full, the default; DPO, RLHF and Distillation hold further models beside), adapters
	// (LoRA; QLoRA over quantized weights), or a prefix.
	// +optional
	// +kubebuilder:default=Full
	Method TrainingMethod `json:"method,omitempty"`
	// Optimizer, whose state takes memory for each trained parameter. Default: AdamW.
	// +optional
	// +kubebuilder:default=AdamW
	Optimizer Optimizer `json:"optimizer,omitempty"`
	// Length of each sequence in tokens.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	SequenceLength int32 `json:"sequenceLength"`
	// Number of sequences in one optimizer step, over all devices.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	GlobalBatch int32 `json:"globalBatch"`
	// Number of sequences that one data rank works on at once. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MicroBatch int32 `json:"microBatch,omitempty"`
	// What the data-parallel ranks share out among themselves: nothing (None, the default), optimizer state (ZeRO1),
	// gradients as well (ZeRO2), or weights as well (ZeRO3, FSDP).
	// +optional
	// +kubebuilder:default=None
	Sharding TrainingSharding `json:"sharding,omitempty"`
	// Whether activations are computed again in the backward pass instead of kept in memory, as recompute Full says. Default: false.
	// +optional
	ActivationCheckpointing bool `json:"activationCheckpointing,omitempty"`
	// What of the activations is computed again in the backward pass instead of kept in memory: nothing (None), the feed-forward
	// block of each layer (Selective), or all of it (Full). Absent means Full where activationCheckpointing is true, else None.
	// +optional
	Recompute Recompute `json:"recompute,omitempty"`
	// Whether tensor ranks share out the tokens of norms and of what is kept between their matrices (sequence parallelism), instead
	// of each having all of them. Default: false.
	// +optional
	SequenceParallel bool `json:"sequenceParallel,omitempty"`
	// Format in which the matrices of the layers are multiplied. Absent means the 16 bits of the weights; FP8 takes devices that
	// compute in it, and weights, gradients, optimizer and activations are kept as without it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'FP8'",message="must be FP8: leave it out to multiply in the 16 bits of the weights"
	Compute Precision `json:"compute,omitempty"`
	// Number of runs of layers of each pipeline stage, which micro-batches visit in turn (an interleaved pipeline). Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	VirtualStages int32 `json:"virtualStages,omitempty"`
}
