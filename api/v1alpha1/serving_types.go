package v1alpha1

// ServingOptions are what a server does beside reading prompts and writing answers token by token, and settings other than its
// defaults. Each counts in the memory and the times of a plan, and is what the engine is started with. What the engine cannot do is
// refused.
//
// +kubebuilder:validation:XValidation:rule="!has(self.prefixCache) || !has(self.offload) || (has(self.prefixCache.hitPercent) ? self.prefixCache.hitPercent : 0) + (has(self.offload.hitPercent) ? self.offload.hitPercent : 0) <= 99",message="prefixCache.hitPercent + offload.hitPercent must not exceed 99: each token of a prompt is found in one place, and its end is always computed; lower one of them"
type ServingOptions struct {
	// Version of the engine that will be started (`0.19.0`), whose defaults count. Absent means the one that the planner's table was
	// compared with, which the plan names.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9a-z]+)*$')",message="must be a version such as 0.19.0: numbers with points between them"
	EngineVersion string `json:"engineVersion,omitempty"`
	// Part of a device's memory that the engine takes, in percent: of all of it (vLLM), of all of it for weights and KV cache alone
	// (SGLang), or of what weights leave for the KV cache (TensorRT-LLM). Absent means the default of the engine's version.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MemoryUtilizationPercent int32 `json:"memoryUtilizationPercent,omitempty"`
	// Most tokens of a step on each rank that attends to sequences of its own: longer prompts are read in chunks. Absent means the
	// default of the engine's version, or fewer where that does not fit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxBatchedTokens int32 `json:"maxBatchedTokens,omitempty"`
	// Whether prompts that are longer than a step are read in chunks (Enabled), or each in one step, which takes room for the longest
	// (Disabled). Absent means Enabled.
	// +optional
	ChunkedPrefill ChunkedPrefill `json:"chunkedPrefill,omitempty"`
	// What is found of prompts in the KV cache because another request began in the same way; absent means nothing. At least one of
	// hitPercent and sharedTokens is set.
	// +optional
	PrefixCache *PrefixCache `json:"prefixCache,omitempty"`
	// KV cache that is kept in the memory of the hosts when it must leave the devices. Absent means none.
	// +optional
	Offload *CacheOffload `json:"offload,omitempty"`
	// Tokens that are drafted ahead, and accepted or not by the model in one step. Absent means none.
	// +optional
	Speculation *Speculation `json:"speculation,omitempty"`
	// LoRA adapters that are served beside the model. Absent means none.
	// +optional
	Adapters *Adapters `json:"adapters,omitempty"`
	// Images and sound in prompts; absent means none. At least one of images and audioSeconds is set.
	// +optional
	Media *Media `json:"media,omitempty"`
}

// ChunkedPrefill says whether long prompts are read in chunks.
// +kubebuilder:validation:Enum=Enabled;Disabled
type ChunkedPrefill string

// The policies for long prompts.
const (
	ChunkedPrefillEnabled  ChunkedPrefill = "Enabled"
	ChunkedPrefillDisabled ChunkedPrefill = "Disabled"
)

// PrefixCache is what prompts have in common. At least one of hitPercent and sharedTokens is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.hitPercent), has(self.sharedTokens)].filter(x, x).size() >= 1",message="at least one of hitPercent and sharedTokens must be set: remove prefixCache where prompts have nothing in common"
type PrefixCache struct {
	// Share of the tokens of prompts that are found in the devices' KV cache and not computed again, in percent, in the mean over
	// requests. Absent means what sharedTokens are of a prompt.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	HitPercent int32 `json:"hitPercent,omitempty"`
	// Number of tokens with which all prompts begin, such as a system prompt. The KV cache of a rank holds them once for all
	// sequences. Absent means none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	SharedTokens int32 `json:"sharedTokens,omitempty"`
}

// CacheOffload is KV cache in the memory of hosts.
type CacheOffload struct {
	// Memory of the hosts for the KV cache of a copy in GiB, over all of its ranks. It holds what has left the devices, and makes no
	// room for more sequences at once.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	GiB int32 `json:"giB"`
	// Share of the tokens of prompts that are found there and copied back instead of computed, in percent, in the mean over requests;
	// those that are found on the devices do not count. Absent means that only what preempted requests held is copied back.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=99
	HitPercent int32 `json:"hitPercent,omitempty"`
}

// SpeculationMethod is what drafts tokens.
// +kubebuilder:validation:Enum=Draft;MTP;EAGLE;NGram
type SpeculationMethod string

// The methods: a smaller model, the modules for multi-token prediction that are in the model's checkpoint, a head that was trained
// for the model, and what followed the same words before.
const (
	SpeculationDraft SpeculationMethod = "Draft"
	SpeculationMTP   SpeculationMethod = "MTP"
	SpeculationEAGLE SpeculationMethod = "EAGLE"
	SpeculationNGram SpeculationMethod = "NGram"
)

// Speculation is speculative decoding.
//
// +kubebuilder:validation:XValidation:rule="(self.method in ['Draft', 'EAGLE']) == has(self.model)",message="model must be set with the methods Draft and EAGLE, and with no other: name what drafts, or use MTP for modules of the checkpoint itself and NGram for what followed before"
// +kubebuilder:validation:XValidation:rule="!has(self.parameters) || has(self.model)",message="parameters are those of model: name it, or remove parameters"
type Speculation struct {
	// What drafts: a smaller model with the same tokenizer (Draft), modules for multi-token prediction in the model's checkpoint
	// (MTP), a head of EAGLE-3 that was trained for the model (EAGLE), or what followed the same words before (NGram).
	Method SpeculationMethod `json:"method"`
	// Id of the draft model or head on the hub, or the name of a draft model in the catalogue. Only for Draft and EAGLE.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9_./-]*$')",message="must be an id on the hub or a name of the catalogue: letters, digits and _./- after a letter or digit"
	Model string `json:"model,omitempty"`
	// Number of parameters of the draft model, where the catalogue does not have it. Absent means that the catalogue has it, or,
	// with EAGLE, a head of one layer as large as the model's.
	// +optional
	// +kubebuilder:validation:Minimum=1000000
	// +kubebuilder:validation:Maximum=1000000000000
	Parameters int64 `json:"parameters,omitempty"`
	// Number of tokens that are drafted in a step for each sequence.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Tokens int32 `json:"tokens"`
	// How often a drafted token is accepted, in percent, where those before it in its step were. With k tokens and a share of a a step
	// gives (1 - a^(k+1)) / (1 - a) tokens in the mean.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	AcceptancePercent int32 `json:"acceptancePercent"`
}

// Adapters are LoRA adapters that are served at once.
//
// +kubebuilder:validation:XValidation:rule="!has(self.active) || self.active <= self.count",message="active must not exceed count: raise count to the adapters that there are, or lower active"
type Adapters struct {
	// Number of adapters that are kept in the memory of the hosts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Count int32 `json:"count"`
	// Largest rank of an adapter. Engines make room for all in this rank.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=512
	Rank int32 `json:"rank"`
	// Most adapters of one step. Each device has room for so many. Absent means count.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Active int32 `json:"active,omitempty"`
}

// Media is what prompts have beside text. Each counts as having all of it, and servers take no more in one. At least one of images and audioSeconds is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.images), has(self.audioSeconds)].filter(x, x).size() >= 1",message="at least one of images and audioSeconds must be set: remove media where prompts are text"
// +kubebuilder:validation:XValidation:rule="has(self.images) == has(self.imageTokens)",message="images and imageTokens must be set together: say how many images a prompt has, and how many tokens the model makes of one"
// +kubebuilder:validation:XValidation:rule="has(self.audioSeconds) == has(self.audioTokensPerSecond)",message="audioSeconds and audioTokensPerSecond must be set together: say how long the sound of a prompt is, and how many tokens the model makes of a second"
type Media struct {
	// Most images of a prompt. Their tokens come beside inputTokens.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Images int32 `json:"images,omitempty"`
	// Number of tokens that the model makes of an image.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	ImageTokens int32 `json:"imageTokens,omitempty"`
	// Longest sound of a prompt in seconds. Its tokens come beside inputTokens.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	AudioSeconds int32 `json:"audioSeconds,omitempty"`
	// Number of tokens that the model makes of a second of sound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	AudioTokensPerSecond int32 `json:"audioTokensPerSecond,omitempty"`
}
