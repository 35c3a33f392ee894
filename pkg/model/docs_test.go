package model

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/document"
)

var update = flag.Bool("update", false, "write docs/reference/models.md anew: review the difference before committing it")

// probe is a config.json with every field that a class could ask for, so that what is read of it is what the class reads.
const probe = `{"hidden_size":1024,"d_model":1024,"num_hidden_layers":8,"decoder_layers":8,"num_attention_heads":8,"decoder_attention_heads":8,
"num_key_value_heads":4,"vocab_size":1000,"intermediate_size":4096,"decoder_ffn_dim":4096,"torch_dtype":"bfloat16","max_target_positions":448,
"n_positions":1024,"sliding_window":128,"attention_chunk_size":128,"num_local_experts":8,"num_experts":8,"n_routed_experts":8,"moe_num_experts":8,
"num_experts_per_tok":2,"moe_intermediate_size":512,"shared_expert_intermediate_size":512,"n_shared_experts":1,"intermediate_size_mlp":2048,
"kv_lora_rank":512,"q_lora_rank":768,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"index_n_heads":8,"index_head_dim":64,"index_topk":64,
"linear_num_key_heads":4,"linear_num_value_heads":8,"linear_key_head_dim":64,"linear_value_head_dim":64,"linear_conv_kernel_dim":4,
"attn_type_list":[0,0,0,1,0,0,0,1],"compress_ratios":[0,4,16,4,16,4,16,4],"o_groups":2,"o_lora_rank":64,"use_qk_norm":true,
"moe_k":2,"moe_topk":2,"moe_top_k":2,"num_experts_per_token":2,"top_k_experts":2,"enable_moe_block":true,"num_shared_experts":1,"moe_num_shared_experts":1,"num_shared_expert":1,
"shared_intermediate_size":512,"dense_intermediate_size":2048,"share_expert_dim":512,"moe_shared_expert_intermediate_size":512,"linear_attn_config":{"num_heads":8,"head_dim":64,"full_attn_layers":[4,8]},
"hybrid_override_pattern":"M-M*M-ME","attn_layer_indices":[3,7],"hybrid_layer_pattern":[0,1,1,1,0,1,1,1],"attention_k_eq_v":true,"global_head_dim":256,"num_heads":8,"num_layers":8,"d_ff":4096,
"local_attention":128,"layers_block_type":["mamba","mamba","mamba","attention","mamba","mamba","mamba","attention"],"gating":true,"encoder_layers":2,"encoder_attention_heads":8,"encoder_ffn_dim":4096,"max_source_positions":1500,"num_mel_bins":80}`

// TestTheDocumentedClasses holds the table of docs/reference/models.md to what each class reads of the probe.
func TestTheDocumentedClasses(t *testing.T) {
	document.Table(t, "../../docs/reference/models.md", documentedClasses(t), *update)
}

func documentedClasses(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| model_type | models | attention | feed-forward | norms and ends |\n|---|---|---|---|---|\n")
	for _, modelType := range slices.Sorted(maps.Keys(classes)) {
		m, err := FromConfig(modelType, fmt.Appendf(nil, `{"model_type":%q,%s`, modelType, probe[1:]))
		if err != nil {
			t.Fatal(err)
		}
		a := &m.Architecture
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", modelType, classes[modelType].family, saysAttention(a), saysBlocks(a), saysEnds(a))
	}
	return b.String()
}

// remark is what is said of an architecture where a condition holds.
type remark struct {
	holds bool
	text  string
}

func say(first string, remarks ...remark) string {
	parts := []string{first}
	for _, r := range remarks {
		if r.holds {
			parts = append(parts, r.text)
		}
	}
	return strings.Join(parts, ", ")
}

func saysAttention(a *v1alpha1.Architecture) string {
	attention := &a.Attention
	first := "heads in groups"
	switch {
	case attention.MLA != nil:
		first = "latent"
	case attention.Compressed != nil:
		first = "compressed"
	}
	windowed := attention.SlidingWindow > 0
	if a.Recurrent != nil && !strings.ContainsAny(a.Mixers, "F") && a.Mixers != "B" && a.Recurrent.AttentionEvery == 0 {
		first = "none"
	}
	return say(first,
		remark{attention.MLA != nil && attention.MLA.Indexer != nil, "indexer"},
		remark{windowed && attention.FullAttentionEvery == 0 && a.Mixers == "", "window"},
		remark{windowed && attention.FullAttentionEvery > 0 && !attention.Chunked, fmt.Sprintf("window but every %d", attention.FullAttentionEvery)},
		remark{attention.Chunked, fmt.Sprintf("chunks but every %d", attention.FullAttentionEvery)},
		remark{a.Recurrent != nil && !strings.Contains(a.Mixers, "B"), recurrentKind(a) + " layers" + between(a)},
		remark{strings.Contains(a.Mixers, "B"), recurrentKind(a) + " beside it"},
		remark{windowed && a.Mixers != "", "window in some layers"},
		remark{attention.Windowed != nil, "with other heads"},
		remark{attention.NoValue, "no value"},
		remark{attention.Uncached, "no cache"},
		remark{attention.QKVBias, "bias"},
		remark{attention.OutputGate, "output gate"},
		remark{attention.QKNorm && !attention.QKNormPerHead, "norm of queries and keys"},
		remark{attention.QKNormPerHead, "norm of queries and keys for each head"},
		remark{attention.Sinks, "sinks"},
		remark{a.Encoder != nil, "to an encoder too"})
}

func between(a *v1alpha1.Architecture) string {
	if a.Recurrent != nil && (a.Recurrent.AttentionEvery > 0 || a.Mixers != "") {
		return " between"
	}
	return ""
}

func recurrentKind(a *v1alpha1.Architecture) string {
	if a.Recurrent == nil {
		return ""
	}
	return string(a.Recurrent.Kind)
}

func saysBlocks(a *v1alpha1.Architecture) string {
	first := "gated"
	if a.MLP.Ungated {
		first = "not gated"
	}
	moe := a.MoE
	if a.Blocks == "X" {
		return "none"
	}
	if moe == nil {
		return say(first, remark{a.MLP.Bias, "bias"})
	}
	return say(first+" experts",
		remark{a.Blocks != "", "in some layers"},
		remark{moe.SharedIntermediateSize > 0, "shared expert"},
		remark{moe.SharedGate, "with a gate"},
		remark{moe.RouterBias, "router bias"},
		remark{moe.ExpertBias, "bias"})
}

func saysEnds(a *v1alpha1.Architecture) string {
	return say(fmt.Sprintf("%d norms", norms(a)),
		remark{a.NormBias, "with bias"},
		remark{a.TiedEmbeddings, "tied"},
		remark{a.HeadBias, "head bias"},
		remark{a.NoHead, "no head"},
		remark{a.Positions > 0, "learned positions"})
}
