package v1alpha1

// Workload is what a model is for.
//
// +kubebuilder:validation:XValidation:rule="has(self.inference) != has(self.training)",message="exactly one of inference and training must be set: make two placements for a model that does both"
type Workload struct {
	// Answering requests.
	// +optional
	Inference *InferenceWorkload `json:"inference,omitempty"`
	// Training or fine-tuning.
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

// InferenceWorkload is the load to plan for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.inputTokens) || !has(self.outputTokens) || self.inputTokens + self.outputTokens <= self.maxModelLen",message="inputTokens + outputTokens must not exceed maxModelLen: raise maxModelLen or shorten the request"
type InferenceWorkload struct {
	// Longest sequence in tokens, prompt and answer together.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxModelLen int32 `json:"maxModelLen"`
	// Sequences of that length that must fit at once in each copy.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxSequences int32 `json:"maxSequences,omitempty"`
	// Tokens of a typical prompt.
	// +optional
	// +kubebuilder:validation:Minimum=1
	InputTokens *int32 `json:"inputTokens,omitempty"`
	// Tokens of a typical answer.
	// +optional
	// +kubebuilder:validation:Minimum=1
	OutputTokens *int32 `json:"outputTokens,omitempty"`
	// What to optimise for.
	// +optional
	// +kubebuilder:default=Throughput
	Objective Objective `json:"objective,omitempty"`
	// Longest acceptable time to the first token, in milliseconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxTTFTMillis *int32 `json:"maxTTFTMillis,omitempty"`
	// Longest acceptable time for each further token, in milliseconds.
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
	// What is trained.
	// +optional
	// +kubebuilder:default=Full
	Method TrainingMethod `json:"method,omitempty"`
	// The optimizer.
	// +optional
	// +kubebuilder:default=AdamW
	Optimizer Optimizer `json:"optimizer,omitempty"`
	// Tokens of a sequence.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	SequenceLength int32 `json:"sequenceLength"`
	// Sequences in one step over all devices.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	GlobalBatch int32 `json:"globalBatch"`
	// Sequences that one device works on at once.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MicroBatch int32 `json:"microBatch,omitempty"`
	// What the data-parallel ranks share out.
	// +optional
	// +kubebuilder:default=None
	Sharding TrainingSharding `json:"sharding,omitempty"`
	// Whether activations are computed again in the backward pass instead of kept.
	// +optional
	ActivationCheckpointing bool `json:"activationCheckpointing,omitempty"`
}
