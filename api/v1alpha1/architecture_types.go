package v1alpha1

// Architecture is the shape of a decoder-only transformer: what its parameters, bytes and KV cache are computed from.
//
// +kubebuilder:validation:XValidation:rule="!has(self.moe) || self.moe.activeExperts <= self.moe.experts",message="moe.activeExperts must not exceed moe.experts: a token cannot visit more experts than there are"
// +kubebuilder:validation:XValidation:rule="has(self.attention.mla) || self.attention.heads % self.attention.kvHeads == 0",message="attention.heads must be a multiple of attention.kvHeads: set kvHeads to heads where every head has keys and values of its own"
// +kubebuilder:validation:XValidation:rule="has(self.moe) || has(self.recurrent) || self.mlp.intermediateSize > 0",message="mlp.intermediateSize must be above 0 in a dense model: set it to the width of the feed-forward block, or describe moe"
// +kubebuilder:validation:XValidation:rule="!has(self.moe) || !has(self.moe.firstLayer) || self.moe.firstLayer < self.layers",message="moe.firstLayer must be below layers: it counts from 0; remove moe where no layer is a mixture"
type Architecture struct {
	// Number of transformer layers; of an encoder-decoder model, of the decoder's.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Layers int32 `json:"layers"`
	// Width of the residual stream, in values per token.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	HiddenSize int32 `json:"hiddenSize"`
	// Number of tokens of the vocabulary: rows of the embedding table.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	VocabSize int32 `json:"vocabSize"`
	// Whether the output head shares the embedding table. Default: false.
	// +optional
	TiedEmbeddings bool `json:"tiedEmbeddings,omitempty"`
	// Longest context that the model was made for, in tokens; 0 or absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxContext int32 `json:"maxContext,omitempty"`
	// Number of normalisation vectors of hiddenSize values in each layer. Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	NormsPerLayer *int32 `json:"normsPerLayer,omitempty"`
	// Whether the norms have a bias beside the weight (LayerNorm). Default: false.
	// +optional
	NormBias bool `json:"normBias,omitempty"`
	// Whether the output head has a bias. Default: false.
	// +optional
	HeadBias bool `json:"headBias,omitempty"`
	// Number of rows of the table of learned positions; 0, the default, where positions are computed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	Positions int32 `json:"positions,omitempty"`
	// Whether there is no output head: the model gives vectors or scores instead of tokens (embedding and reranking models).
	// Default: false.
	// +optional
	NoHead bool `json:"noHead,omitempty"`
	// Number of weights outside of the layers, the embedding table, learned positions and the head: encoders of images and sound with
	// their projectors, embeddings for each layer, a pooler. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000000000000
	OtherParameters int64 `json:"otherParameters,omitempty"`
	// What mixes the tokens in each layer, a letter for a layer, from the first again after the last: F attention to the whole
	// context, W attention to slidingWindow, R a recurrent state, B attention and a recurrent state side by side, X nothing. Absent
	// where slidingWindow, fullAttentionEvery and recurrent.attentionEvery say it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[FWRBX]+$`
	Mixers string `json:"mixers,omitempty"`
	// Which block follows in each layer, a letter for a layer, from the first again after the last: D a dense one, M a mixture of
	// experts, X none. Absent where moe.firstLayer and moe.interval say it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[DMX]+$`
	Blocks string `json:"blocks,omitempty"`
	// Attention of the layers. At most one of mla and compressed is set.
	Attention Attention `json:"attention"`
	// Recurrent layers between those with attention; absent where every layer has attention.
	// +optional
	Recurrent *Recurrent `json:"recurrent,omitempty"`
	// Encoder whose output the layers attend to; absent in decoder-only models.
	// +optional
	Encoder *Encoder `json:"encoder,omitempty"`
	// Dense feed-forward block; used by the layers that are not mixtures of experts.
	MLP MLP `json:"mlp"`
	// Mixture of experts; absent in dense models.
	// +optional
	MoE *MoE `json:"moe,omitempty"`
}

// Attention is the attention of a layer. At most one of mla and compressed is set.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fullAttentionEvery) || self.fullAttentionEvery == 0 || (has(self.slidingWindow) && self.slidingWindow > 0)",message="fullAttentionEvery needs slidingWindow: set it to the tokens that the other layers look back, or remove fullAttentionEvery where every layer looks at the whole context"
// +kubebuilder:validation:XValidation:rule="[has(self.mla), has(self.compressed)].filter(x, x).size() <= 1",message="at most one of mla and compressed must be set: keep the one that the layers have"
type Attention struct {
	// Number of query heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Number of key and value heads. heads is a multiple of it, except with mla.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KVHeads int32 `json:"kvHeads"`
	// Width of a head, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HeadDim int32 `json:"headDim"`
	// Width of a value head, in values; 0, the default, where it is headDim.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	ValueHeadDim int32 `json:"valueHeadDim,omitempty"`
	// Heads of the layers that attend to slidingWindow, where they have others than those that attend to the whole context.
	// +optional
	Windowed *WindowedHeads `json:"windowed,omitempty"`
	// Whether the layers that attend to the whole context have no value projection: the key's output is the value too (Gemma 4).
	// Default: false.
	// +optional
	NoValue bool `json:"noValue,omitempty"`
	// Whether nothing is cached, because every token of a request is seen at once (encoder-only models). Default: false.
	// +optional
	Uncached bool `json:"uncached,omitempty"`
	// Whether the query, key and value projections have a bias. Default: false.
	// +optional
	QKVBias bool `json:"qkvBias,omitempty"`
	// Whether the key projection has no bias though qkvBias is set (Whisper). Default: false.
	// +optional
	NoKeyBias bool `json:"noKeyBias,omitempty"`
	// Whether the output projection has a bias. Default: false.
	// +optional
	OutputBias bool `json:"outputBias,omitempty"`
	// Whether the output of the heads, and of heads of KimiDelta, is gated by a projection as wide as the query. Default: false.
	// +optional
	OutputGate bool `json:"outputGate,omitempty"`
	// Whether queries and keys are normalised. All heads share the weights, unless qkNormPerHead is set. Default: false.
	// +optional
	QKNorm bool `json:"qkNorm,omitempty"`
	// Whether each head has weights of its own for the norms of qkNorm. Default: false.
	// +optional
	QKNormPerHead bool `json:"qkNormPerHead,omitempty"`
	// Whether each head has a learned attention sink. Default: false.
	// +optional
	Sinks bool `json:"sinks,omitempty"`
	// Multi-head latent attention (DeepSeek V2 and later); absent in models that have none.
	// +optional
	MLA *MLA `json:"mla,omitempty"`
	// Compressed attention (DeepSeek V4); absent in models that have none.
	// +optional
	Compressed *Compressed `json:"compressed,omitempty"`
	// Number of tokens that a windowed or chunked layer looks back; 0, the default, where every layer looks at the whole
	// context.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SlidingWindow int32 `json:"slidingWindow,omitempty"`
	// Whether slidingWindow is the size of fixed chunks instead of a window that slides. Default: false.
	// +optional
	Chunked bool `json:"chunked,omitempty"`
	// Where slidingWindow is set: one layer in this many looks at the whole context. 0, the default, means that none does.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FullAttentionEvery int32 `json:"fullAttentionEvery,omitempty"`
}

// WindowedHeads are the heads of layers that attend to a window.
type WindowedHeads struct {
	// Number of query heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Number of key and value heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KVHeads int32 `json:"kvHeads"`
	// Width of a head, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HeadDim int32 `json:"headDim"`
	// Width of a value head, in values; 0, the default, where it is headDim.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	ValueHeadDim int32 `json:"valueHeadDim,omitempty"`
}

// MLA is multi-head latent attention (DeepSeek V2 and later): the cache holds one latent per token.
type MLA struct {
	// Rank of the query's down-projection; 0, the default, where the query is projected directly.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	QLoraRank int32 `json:"qLoraRank,omitempty"`
	// Rank of the latent of keys and values, which is cached once for each token.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KVLoraRank int32 `json:"kvLoraRank"`
	// Width of the part of a query or key head that has no position, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QKNopeHeadDim int32 `json:"qkNopeHeadDim"`
	// Width of the part of a query or key head that has a rotary position, in values. Its key is cached once for all heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QKRopeHeadDim int32 `json:"qkRopeHeadDim"`
	// Width of a value head, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	VHeadDim int32 `json:"vHeadDim"`
	// Indexer that selects the tokens to attend to; absent where all tokens are attended to.
	// +optional
	Indexer *Indexer `json:"indexer,omitempty"`
}

// Compressed is compressed attention (DeepSeek V4): a layer caches one vector for each run of tokens, beside the window's.
type Compressed struct {
	// Rank of the query's down-projection.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	QLoraRank int32 `json:"qLoraRank"`
	// Number of groups of heads, each of which has a down-projection of its own for its output.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	OutputGroups int32 `json:"outputGroups"`
	// Rank of the down-projection of each group of heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	OutputLoraRank int32 `json:"outputLoraRank"`
	// Numbers of tokens that one cached vector stands for. The layers from firstLayer on have them in turn.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1048576
	// +listType=atomic
	Ratios []int32 `json:"ratios"`
	// Number, from 0, of the first layer that compresses; the layers before it keep their window alone. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FirstLayer int32 `json:"firstLayer,omitempty"`
	// Number of streams of the residual that each layer mixes; 0, the default, means one stream that is not mixed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Streams int32 `json:"streams,omitempty"`
	// Indexer of the layers that have the smallest of ratios.
	Indexer Indexer `json:"indexer"`
}

// Indexer selects tokens for sparse attention (DeepSeek V3.2): the cache holds one more key per token.
type Indexer struct {
	// Number of index heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Width of an index head in values, and of the index key that is cached once for all heads.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	HeadDim int32 `json:"headDim"`
	// Number of tokens that are selected for each query.
	// +kubebuilder:validation:Minimum=1
	TopK int32 `json:"topK"`
}

// RecurrentKind is the update rule of recurrent layers.
// +kubebuilder:validation:Enum=GatedDelta;Lightning;Mamba;Mamba2;KimiDelta;ShortConv
type RecurrentKind string

const (
	// GatedDelta is Gated DeltaNet (Qwen3-Next and Qwen3.5), with a short convolution before it.
	GatedDelta RecurrentKind = "GatedDelta"
	// Lightning is lightning attention (MiniMax-Text-01 and MiniMax-M1).
	Lightning RecurrentKind = "Lightning"
	// Mamba is the selective state space of Mamba and Jamba: a state for each channel.
	Mamba RecurrentKind = "Mamba"
	// Mamba2 is the state space of Mamba 2, Nemotron-H, Bamba and Granite 4: a state for each head.
	Mamba2 RecurrentKind = "Mamba2"
	// KimiDelta is Kimi Delta Attention (Kimi Linear).
	KimiDelta RecurrentKind = "KimiDelta"
	// ShortConv is a gated convolution over a few tokens (LFM2); it keeps nothing but its last inputs.
	ShortConv RecurrentKind = "ShortConv"
)

// Recurrent describes layers that keep a state of fixed size for each sequence instead of a cache of its tokens.
type Recurrent struct {
	// Update rule of the state: GatedDelta (Qwen3-Next), Lightning (MiniMax-Text-01), Mamba (Jamba), Mamba2 (Nemotron-H), KimiDelta
	// (Kimi Linear) or ShortConv (LFM2).
	Kind RecurrentKind `json:"kind"`
	// Number of key heads; of Mamba2, of the groups that share their input and output vectors.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KeyHeads int32 `json:"keyHeads"`
	// Number of value heads, each with a state of keyHeadDim x valueHeadDim values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ValueHeads int32 `json:"valueHeads"`
	// Width of a key head, in values; of Mamba and Mamba2, the number of states.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	KeyHeadDim int32 `json:"keyHeadDim"`
	// Width of a value head, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ValueHeadDim int32 `json:"valueHeadDim"`
	// Number of tokens that the convolution before the recurrence spans; 0, the default, where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	ConvKernel int32 `json:"convKernel,omitempty"`
	// Rank of the projection that gives the step of each channel (Mamba); 0, the default, where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	StepRank int32 `json:"stepRank,omitempty"`
	// Whether step and vectors have norms of their own (Jamba). Default: false.
	// +optional
	StepNorms bool `json:"stepNorms,omitempty"`
	// One layer in this many has attention instead of a recurrent state; 0, the default, means that none does.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	AttentionEvery int32 `json:"attentionEvery,omitempty"`
}

// Encoder is an encoder of sound or text as wide as the decoder, whose layers attend to its output (Whisper, T5).
type Encoder struct {
	// Number of encoder layers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Layers int32 `json:"layers"`
	// Number of attention heads of an encoder layer.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Heads int32 `json:"heads"`
	// Width of the feed-forward block of an encoder layer, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Number of positions of the encoder's output, whose keys and values each sequence of the decoder caches.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Positions int32 `json:"positions"`
	// Number of channels of the encoder's input (mel bins); 0, the default, of an encoder of text, which shares the embedding table
	// and has attention and blocks of the decoder's form.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65536
	Channels int32 `json:"channels,omitempty"`
}

// MLP is a dense feed-forward block.
type MLP struct {
	// Width of the dense feed-forward block, in values; 0 where every layer is a mixture of experts.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Whether the block has two projections and no gate, instead of three with a gate. Default: false.
	// +optional
	Ungated bool `json:"ungated,omitempty"`
	// Whether the projections of the block have a bias. Default: false.
	// +optional
	Bias bool `json:"bias,omitempty"`
}

// MoE is a mixture of experts.
type MoE struct {
	// Number of routed experts in a layer.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Experts int32 `json:"experts"`
	// Number of routed experts that each token visits.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	ActiveExperts int32 `json:"activeExperts"`
	// Whether the shared expert has a gate of hiddenSize weights. Default: false.
	// +optional
	SharedGate bool `json:"sharedGate,omitempty"`
	// Width of one routed expert, in values.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	IntermediateSize int32 `json:"intermediateSize"`
	// Width of the stream that routed experts work on, where it is projected down before them and up after them (Nemotron 3 Super); 0, the
	// default, where they work on hiddenSize values.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	LatentSize int32 `json:"latentSize,omitempty"`
	// Width of all shared experts together, in values; 0, the default, where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16777216
	SharedIntermediateSize int32 `json:"sharedIntermediateSize,omitempty"`
	// Number, from 0, of the first layer that is a mixture of experts; the layers before it are dense. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FirstLayer int32 `json:"firstLayer,omitempty"`
	// One layer in this many, from firstLayer on, is a mixture of experts; 0, the default, and 1 mean each.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	Interval int32 `json:"interval,omitempty"`
	// Whether the router has a bias for each expert. Default: false.
	// +optional
	RouterBias bool `json:"routerBias,omitempty"`
	// Whether the projections of the experts have a bias. Default: false.
	// +optional
	ExpertBias bool `json:"expertBias,omitempty"`
}
