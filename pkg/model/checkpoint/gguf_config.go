package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ggufKeys are the keys of GGUF's metadata, without the architecture before them, with the fields of config.json that say
// the same (gguf-py/gguf/constants.py and convert_hf_to_gguf.py of ggml-org/llama.cpp).
var ggufKeys = []struct{ key, field string }{
	{"context_length", "max_position_embeddings"},
	{"embedding_length", "hidden_size"},
	{"feed_forward_length", "intermediate_size"},
	{"attention.head_count", "num_attention_heads"},
	{"attention.head_count_kv", "num_key_value_heads"},
	{"attention.key_length", "head_dim"},
	{"attention.sliding_window", "sliding_window"},
	{"attention.q_lora_rank", "q_lora_rank"},
	{"attention.kv_lora_rank", "kv_lora_rank"},
	{"vocab_size", "vocab_size"},
	{"expert_used_count", "num_experts_per_tok"},
	{"expert_feed_forward_length", "moe_intermediate_size"},
	{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
	{"expert_shared_count", "n_shared_experts"},
	{"leading_dense_block_count", "first_k_dense_replace"},
	{"interleave_moe_layer_step", "interleave_moe_layer_step"},
	{"ssm.conv_kernel", "conv_kernel"},
	{"ssm.state_size", "state_size"},
	{"ssm.group_count", "n_groups"},
	{"ssm.inner_size", "d_inner"},
	{"ssm.time_step_rank", "time_step_rank"},
	{"shortconv.l_cache", "conv_L_cache"},
}

// ggufModelTypes are the model_types of GGUF's architectures where the names differ.
var ggufModelTypes = map[string]string{
	"qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe", "qwen3next": "qwen3_next", "gemma3": "gemma3_text", "gpt-oss": "gpt_oss",
	"llama4": "llama4_text", "command-r": "cohere", "deepseek2": "deepseek_v2", "glm4moe": "glm4_moe", "minimax-m2": "minimax_m2",
	"phi2": "phi", "gptneox": "gpt_neox", "lfm2moe": "lfm2_moe", "granitehybrid": "granitemoehybrid", "falcon-h1": "falcon_h1",
	"nemotron_h_moe": "nemotron_h", "kimi-linear": "kimi_linear", "glm-dsa": "glm_moe_dsa", "bailingmoe2": "bailing_moe_v2",
	"ernie4_5-moe": "ernie4_5_moe", "hunyuan-dense": "hunyuan_v1_dense", "hunyuan-moe": "hunyuan_v1_moe", "nomic-bert": "nomic_bert",
}

// expertFields are the names that classes have for the number of routed experts.
var expertFields = []string{"num_experts", "num_local_experts", "n_routed_experts"}

// config says in the words of config.json what the header says of the architecture; nil where it names none. Warnings tell
// what had to be simplified.
func (h *ggufHeader) config() (content []byte, warnings []string, err error) {
	architecture, _ := h.values["general.architecture"].(string)
	if architecture == "" {
		return nil, nil, nil
	}
	g := ggufConfig{ggufHeader: h, prefix: architecture + ".", fields: map[string]any{"torch_dtype": "bfloat16"}}
	for _, k := range ggufKeys {
		if n, ok := g.number(k.key); ok {
			g.fields[k.field] = n
		}
	}
	g.layers()
	g.kinds()
	g.vocabulary()
	g.experts()
	g.latent()
	g.biases()
	g.fields["model_type"] = g.modelType(architecture)
	if fix, ok := ggufFixes[architecture]; ok {
		fix(g.fields)
	}
	content, err = json.Marshal(g.fields)
	return content, g.warnings, err
}

// ggufFixes turn fields that llama.cpp names otherwise for an architecture.
var ggufFixes = map[string]func(map[string]any){
	// The dense layers' width is feed_forward_length, the experts' is intermediate_size in config.json.
	"llama4": func(fields map[string]any) {
		fields["intermediate_size_mlp"] = fields["intermediate_size"]
		moveField(fields, "moe_intermediate_size", "intermediate_size")
	},
	"gpt-oss": func(fields map[string]any) { moveField(fields, "moe_intermediate_size", "intermediate_size") },
	// The width of LFM2's blocks is given as it is, not before it is cut.
	"lfm2":           func(fields map[string]any) { fields["block_auto_adjust_ff_dim"] = false },
	"mamba2":         stateHeads,
	"nemotron_h":     stateHeads,
	"nemotron_h_moe": stateHeads,
	"granitehybrid":  stateHeads,
	"falcon-h1":      stateHeads,
}

// stateHeads names the heads of Mamba 2, whose number GGUF has in place of the rank of Mamba's step.
func stateHeads(fields map[string]any) {
	heads, _ := fields["time_step_rank"].(int64)
	if inner, ok := fields["d_inner"].(int64); ok && heads > 0 {
		fields["mamba_num_heads"], fields["mamba_head_dim"] = heads, inner/heads
	}
}

func moveField(fields map[string]any, from, to string) {
	if v, ok := fields[from]; ok {
		fields[to] = v
		delete(fields, from)
	}
}

// ggufConfig makes the fields of a config.json.
type ggufConfig struct {
	*ggufHeader
	prefix   string
	fields   map[string]any
	warnings []string
}

// number returns a number of the architecture; the largest where there is one for each layer.
func (g *ggufConfig) number(key string) (int64, bool) {
	switch v := g.values[g.prefix+key].(type) {
	case int64:
		return v, true
	case []int64:
		if len(v) == 0 {
			return 0, false
		}
		if low, high := slices.Min(v), slices.Max(v); low != high {
			g.warnings = append(g.warnings, fmt.Sprintf("%s%s differs between layers (%d to %d): every layer is taken for the largest", g.prefix, key, low, high))
		}
		return slices.Max(v), true
	}
	return 0, false
}

// layers leaves out the blocks that predict further tokens, which block_count includes.
func (g *ggufConfig) layers() {
	n, ok := g.number("block_count")
	if !ok {
		return
	}
	if next, ok := g.number("nextn_predict_layers"); ok && next > 0 && next < n {
		n -= next
		g.warnings = append(g.warnings, fmt.Sprintf("%d layers for predicting further tokens (nextn_predict_layers) are left out", next))
	}
	g.fields["num_hidden_layers"] = n
}

// kinds says which layers have attention, a state or a block alone, where the numbers of key and value heads of the layers differ and
// some have none.
func (g *ggufConfig) kinds() {
	heads, ok := g.values[g.prefix+"attention.head_count_kv"].([]int64)
	if !ok || !slices.Contains(heads, 0) || slices.Max(heads) == 0 {
		return
	}
	widths, _ := g.values[g.prefix+"feed_forward_length"].([]int64)
	types, pattern := make([]string, len(heads)), make([]byte, len(heads))
	for layer, n := range heads {
		types[layer], pattern[layer] = "recurrent", 'M'
		switch wide := layer < len(widths) && widths[layer] > 0; {
		case n > 0:
			types[layer], pattern[layer] = "full_attention", '*'
		case wide && g.tensor(fmt.Sprintf("blk.%d.ffn_up_exps.weight", layer)) != nil:
			pattern[layer] = 'E'
		case wide:
			pattern[layer] = '-'
		}
	}
	g.fields["layer_types"], g.fields["hybrid_override_pattern"] = types, string(pattern)
}

// vocabulary takes the rows of the embedding table, which may be padded beyond the tokens.
func (g *ggufConfig) vocabulary() {
	if t := g.tensor("token_embd.weight"); t != nil && len(t.Shape) == 2 {
		g.fields["vocab_size"] = t.Shape[0]
	} else if _, ok := g.fields["vocab_size"]; !ok {
		if n, ok := g.values["tokenizer.ggml.tokens"].(arrayLength); ok && n > 0 && n < 1<<31 {
			g.fields["vocab_size"] = int64(n)
		}
	}
	if len(g.tensors) > 0 {
		g.fields["tie_word_embeddings"] = g.tensor("output.weight") == nil
	}
}

func (g *ggufConfig) experts() {
	n, ok := g.number("expert_count")
	if !ok || n == 0 {
		return
	}
	for _, field := range expertFields {
		g.fields[field] = n
	}
	if g.tensor(".exp_probs_b.bias") != nil {
		g.fields["topk_method"] = "noaux_tc"
	}
}

// latent reads the widths of multi-head latent attention. Newer files have the width of the cache in key_length and the
// width of a head in key_length_mla; older ones have the head's in key_length.
func (g *ggufConfig) latent() {
	if _, ok := g.fields["kv_lora_rank"]; !ok {
		return
	}
	key, ok := g.number("attention.key_length_mla")
	if !ok {
		key, _ = g.number("attention.key_length")
	}
	value, ok := g.number("attention.value_length_mla")
	if !ok {
		value, _ = g.number("attention.value_length")
	}
	rotary, _ := g.number("rope.dimension_count")
	g.fields["qk_rope_head_dim"], g.fields["qk_nope_head_dim"], g.fields["v_head_dim"] = rotary, key-rotary, value
	g.fields["num_key_value_heads"] = g.fields["num_attention_heads"]
	delete(g.fields, "head_dim")
}

// biases reads from the tensors what config.json says in fields of its own.
func (g *ggufConfig) biases() {
	g.fields["attention_bias"] = g.tensor("blk.0.attn_q.bias") != nil
	g.fields["mlp_bias"] = g.tensor("blk.0.ffn_up.bias") != nil
}

// tensor finds a tensor by name, or by its end where that starts with a dot.
func (g *ggufConfig) tensor(name string) *Tensor {
	for i := range g.tensors {
		t := &g.tensors[i]
		if t.Name == name || name[0] == '.' && strings.HasSuffix(t.Name, name) {
			return t
		}
	}
	return nil
}

func (g *ggufConfig) modelType(architecture string) string {
	_, mixture := g.fields["num_experts"]
	switch {
	case architecture == "llama" && mixture:
		return "mixtral"
	case architecture == "deepseek2" && g.fields["topk_method"] != nil:
		return "deepseek_v3"
	}
	if name, ok := ggufModelTypes[architecture]; ok {
		return name
	}
	return architecture
}
