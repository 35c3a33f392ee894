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

// InferenceWorkload is the load to plan for. At most one of maxSequences and totalSequences is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.maxSequences), has(self.totalSequences)].filter(x, x).size() <= 1",message="at most one of maxSequences and totalSequences must be set: maxSequences is the load of each copy, totalSequences that of all copies together"
// +kubebuilder:validation:XValidation:rule="!has(self.inputTokens) || !has(self.outputTokens) || self.inputTokens + self.outputTokens <= self.maxModelLen",message="inputTokens + outputTokens must not exceed maxModelLen: raise maxModelLen or shorten the request"
type InferenceWorkload struct {
	// Longest sequence, prompt and answer together, in tokens.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxModelLen int32 `json:"maxModelLen"`
	// Number of sequences of maxModelLen tokens that must fit into the memory of each copy at once. Absent means what
	// totalSequences leaves for a copy, and 1 where that is absent too.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxSequences int32 `json:"maxSequences,omitempty"`
	// Number of sequences of maxModelLen tokens that must fit into the memory of all copies together at once. Each copy takes an
	// equal share, rounded up. Where spec.replicas is absent, the planner chooses the number of copies with which the
	// plan takes the fewest devices (with the objective Cost, the cheapest).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=67108864
	TotalSequences int32 `json:"totalSequences,omitempty"`
	// Length of a typical prompt in tokens, for estimates. Absent means half of maxModelLen, or what outputTokens leaves of
	// it if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	InputTokens *int32 `json:"inputTokens,omitempty"`
	// Length of a typical answer in tokens, for estimates. Absent means half of maxModelLen, or what inputTokens leaves of
	// it if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=1
	OutputTokens *int32 `json:"outputTokens,omitempty"`
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

// TrainingWorkload is the training to plan for.
//
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
	// Whether activations are computed again in the backward pass instead of kept in memory. Default: false.
	// +optional
	ActivationCheckpointing bool `json:"activationCheckpointing,omitempty"`
}
