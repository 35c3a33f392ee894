package v1alpha1

// Architecture is the shape of a decoder-only transformer: what its parameters, bytes and KV cache are computed from.
//
// +kubebuilder:validation:XValidation:rule="!has(self.moe) || self.moe.activeExperts <= self.moe.experts",message="moe.activeExperts must not exceed moe.experts: a token cannot visit more experts than there are"
// +kubebuilder:validation:XValidation:rule="has(self.attention.mla) || self.attention.heads % self.attention.kvHeads == 0",message="attention.heads must be a multiple of attention.kvHeads: set kvHeads to heads where every head has keys and values of its own"
// +kubebuilder:validation:XValidation:rule="has(self.moe) || self.mlp.intermediateSize > 0",message="mlp.intermediateSize must be above 0 in a dense model: set it to the width of the feed-forward block, or describe moe"
// +kubebuilder:validation:XValidation:rule="!has(self.moe) || !has(self.moe.firstLayer) || self.moe.firstLayer < self.layers",message="moe.firstLayer must be below layers: it counts from 0; remove moe where no layer is a mixture"
type Architecture struct {
	// Number of transformer layers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Layers int32 `json:"layers"`
	// Width of the residual stream.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	HiddenSize int32 `json:"hiddenSize"`
	// Rows of the embedding table.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	VocabSize int32 `json:"vocabSize"`
	// Whether the output head shares the embedding table.
	// +optional
	TiedEmbeddings bool `json:"tiedEmbeddings,omitempty"`
	// Longest context in tokens that the model was made for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxContext int32 `json:"maxContext,omitempty"`
	// Normalisation vectors of hiddenSize in each layer.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	NormsPerLayer *int32 `json:"normsPerLayer,omitempty"`
	// Whether the norms have a bias beside the weight (LayerNorm).
	// +optional
	NormBias bool `json:"normBias,omitempty"`
	// Whether the output head has a bias.
	// +optional
	HeadBias bool `json:"headBias,omitempty"`
	// Rows of the table of learned positions; 0 where positions are computed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	Positions int32 `json:"positions,omitempty"`
	// Attention.
	Attention Attention `json:"attention"`
	// Recurrent layers between those with attention; absent where every layer has attention.
	// +optional
	Recurrent *Recurrent `json:"recurrent,omitempty"`
	// Encoder that the layers attend to; absent in decoder-only models.
	// +optional
	Encoder *Encoder `json:"encoder,omitempty"`
	// Dense feed-forward block; used by the layers that are not mixtures of experts.
	MLP MLP `json:"mlp"`
	// Mixture of experts; absent in dense models.
	// +optional
	MoE *MoE `json:"moe,omitempty"`
}

// Attention is the attention of a layer.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fullAttentionEvery) || self.fullAttentionEvery == 0 || (has(self.slidingWindow) && self.slidingWindow > 0)",message="fullAttentionEvery needs slidingWindow: set it to the tokens that the other layers look back, or remove fullAttentionEvery where every layer looks at the whole context"
// +kubebuilder:validation:XValidation:rule="!has(self.mla) || !has(self.compressed)",message="mla and compressed exclude each other: keep the one that the layers have"
type Attention struct {
	// Query heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Key and value heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KVHeads int32 `json:"kvHeads"`
	// Width of a head.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HeadDim int32 `json:"headDim"`
	// Whether the query, key and value projections have a bias.
	// +optional
	QKVBias bool `json:"qkvBias,omitempty"`
	// Whether the key projection has none of the bias of qkvBias.
	// +optional
	NoKeyBias bool `json:"noKeyBias,omitempty"`
	// Whether the output projection has a bias.
	// +optional
	OutputBias bool `json:"outputBias,omitempty"`
	// Whether the output of the heads is gated by a projection as wide as the query.
	// +optional
	OutputGate bool `json:"outputGate,omitempty"`
	// Whether queries and keys are normalised, with weights that all heads share.
	// +optional
	QKNorm bool `json:"qkNorm,omitempty"`
	// Whether the weights of qkNorm differ from head to head.
	// +optional
	QKNormPerHead bool `json:"qkNormPerHead,omitempty"`
	// Whether each head has a learned sink.
	// +optional
	Sinks bool `json:"sinks,omitempty"`
	// Multi-head latent attention; absent elsewhere.
	// +optional
	MLA *MLA `json:"mla,omitempty"`
	// Compressed attention; absent elsewhere.
	// +optional
	Compressed *Compressed `json:"compressed,omitempty"`
	// Tokens that a windowed or chunked layer looks back; 0 where every layer looks at the whole context.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SlidingWindow int32 `json:"slidingWindow,omitempty"`
	// Whether slidingWindow is the size of fixed chunks instead of a window that slides.
	// +optional
	Chunked bool `json:"chunked,omitempty"`
	// Every how manieth layer looks at the whole context where slidingWindow is set; 0 where none does.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FullAttentionEvery int32 `json:"fullAttentionEvery,omitempty"`
}

// MLA is multi-head latent attention (DeepSeek V2 and later): the cache holds one latent per token.
type MLA struct {
	// Rank of the query's down-projection; 0 where the query is projected directly.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	QLoraRank int32 `json:"qLoraRank,omitempty"`
	// Rank of the latent that is cached.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KVLoraRank int32 `json:"kvLoraRank"`
	// Width of a head's part without position.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QKNopeHeadDim int32 `json:"qkNopeHeadDim"`
	// Width of the part with rotary position, which is cached once for all heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QKRopeHeadDim int32 `json:"qkRopeHeadDim"`
	// Width of a value head.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	VHeadDim int32 `json:"vHeadDim"`
	// Indexer that selects the tokens to attend to; absent where all are attended to.
	// +optional
	Indexer *Indexer `json:"indexer,omitempty"`
}

// Compressed is compressed attention (DeepSeek V4): a layer caches one vector for each run of tokens, beside the window's.
type Compressed struct {
	// Rank of the query's down-projection.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QLoraRank int32 `json:"qLoraRank"`
	// Groups of heads whose outputs are projected down apart.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	OutputGroups int32 `json:"outputGroups"`
	// Rank of the down-projection of each group.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	OutputLoraRank int32 `json:"outputLoraRank"`
	// Tokens that a cached vector stands for, by layer in turn from firstLayer on.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1048576
	// +listType=atomic
	Ratios []int32 `json:"ratios"`
	// First layer that compresses; the ones before it have their window alone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FirstLayer int32 `json:"firstLayer,omitempty"`
	// Streams of the residual that each layer mixes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Streams int32 `json:"streams,omitempty"`
	// Indexer of the layers with the smallest ratio.
	Indexer Indexer `json:"indexer"`
}

// Indexer selects tokens for sparse attention (DeepSeek V3.2): the cache holds one more key per token.
type Indexer struct {
	// Index heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Width of an index head, and of the key that is cached once for all heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HeadDim int32 `json:"headDim"`
	// Tokens that are selected.
	// +kubebuilder:validation:Minimum=1
	TopK int32 `json:"topK"`
}

// RecurrentKind is the update rule of recurrent layers.
// +kubebuilder:validation:Enum=GatedDelta;Lightning
type RecurrentKind string

const (
	// GatedDelta is Gated DeltaNet (Qwen3-Next and Qwen3.5), with a short convolution before it.
	GatedDelta RecurrentKind = "GatedDelta"
	// Lightning is lightning attention (MiniMax-Text-01 and MiniMax-M1).
	Lightning RecurrentKind = "Lightning"
)

// Recurrent describes layers that keep a state of fixed size for each sequence instead of a cache of its tokens.
type Recurrent struct {
	// Update rule.
	Kind RecurrentKind `json:"kind"`
	// Key heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KeyHeads int32 `json:"keyHeads"`
	// Value heads, each with a state of keyHeadDim by valueHeadDim.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ValueHeads int32 `json:"valueHeads"`
	// Width of a key head.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KeyHeadDim int32 `json:"keyHeadDim"`
	// Width of a value head.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ValueHeadDim int32 `json:"valueHeadDim"`
	// Tokens that the convolution before the recurrence spans; 0 where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	ConvKernel int32 `json:"convKernel,omitempty"`
	// Every how manieth layer has attention instead; 0 where none does.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	AttentionEvery int32 `json:"attentionEvery,omitempty"`
}

// Encoder is an encoder of sound as wide as the decoder, whose layers attend to its output (Whisper).
type Encoder struct {
	// Number of layers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Layers int32 `json:"layers"`
	// Attention heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Width of the feed-forward block.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Positions of its output, which each sequence of the decoder caches.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Positions int32 `json:"positions"`
	// Channels of the input (mel bins).
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Channels int32 `json:"channels"`
}

// MLP is a dense feed-forward block.
type MLP struct {
	// Width of the block; 0 where every layer is a mixture of experts.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Whether the block has two input projections without a gate instead of three with one.
	// +optional
	Ungated bool `json:"ungated,omitempty"`
	// Whether the projections have a bias.
	// +optional
	Bias bool `json:"bias,omitempty"`
}

// MoE is a mixture of experts.
type MoE struct {
	// Routed experts in a layer.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Experts int32 `json:"experts"`
	// Routed experts that a token visits.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ActiveExperts int32 `json:"activeExperts"`
	// Whether the shared expert has a gate of hiddenSize weights.
	// +optional
	SharedGate bool `json:"sharedGate,omitempty"`
	// Width of a routed expert.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Width of all shared experts together; 0 where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	SharedIntermediateSize int32 `json:"sharedIntermediateSize,omitempty"`
	// First layer that is a mixture; the ones before it are dense.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FirstLayer int32 `json:"firstLayer,omitempty"`
	// Every how manieth layer from firstLayer on is a mixture; 0 and 1 mean each.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	Interval int32 `json:"interval,omitempty"`
	// Whether the router has a bias for each expert.
	// +optional
	RouterBias bool `json:"routerBias,omitempty"`
	// Whether the experts' projections have a bias.
	// +optional
	ExpertBias bool `json:"expertBias,omitempty"`
}
