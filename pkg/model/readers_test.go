package model

import (
	"testing"

	"github.com/rankwright/rankwright/test/figure"
)

// read is a config.json with the fields that its count depends on, and the number of parameters that was published of its model.
type read struct {
	model, config string
	parameters    int64
}

// publishedTotals are a model of each kind of reader. The totals are those that the hub shows of the files, recalled: that the count by
// tensor equals them to the weight confirms both.
var publishedTotals = []read{
	{"BAAI/bge-m3", `{"architectures":["XLMRobertaModel"],"model_type":"xlm-roberta","hidden_size":1024,"intermediate_size":4096,"max_position_embeddings":8194,"num_attention_heads":16,"num_hidden_layers":24,"type_vocab_size":1,"vocab_size":250002}`, 567_754_752},
	{"BAAI/bge-reranker-v2-m3", `{"architectures":["XLMRobertaForSequenceClassification"],"id2label":{"0":"LABEL_0"},"model_type":"xlm-roberta","hidden_size":1024,"intermediate_size":4096,"max_position_embeddings":8194,"num_attention_heads":16,"num_hidden_layers":24,"type_vocab_size":1,"vocab_size":250002}`, 567_755_777},
	{"google-bert/bert-base-uncased", `{"architectures":["BertModel"],"model_type":"bert","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":512,"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":2,"vocab_size":30522}`, 109_482_240},
	{"answerdotai/ModernBERT-base", `{"architectures":["ModernBertModel"],"model_type":"modernbert","hidden_size":768,"intermediate_size":1152,"max_position_embeddings":8192,"num_attention_heads":12,"num_hidden_layers":22,"vocab_size":50368,"local_attention":128,"global_attn_every_n_layers":3}`, 149_014_272},
	{"nomic-ai/nomic-embed-text-v1.5", `{"architectures":["NomicBertModel"],"model_type":"nomic_bert","n_embd":768,"n_inner":3072,"n_positions":8192,"n_head":12,"n_layer":12,"type_vocab_size":2,"vocab_size":30528,"activation_function":"swiglu","qkv_proj_bias":false}`, 136_731_648},
	{"Alibaba-NLP/gte-multilingual-base", `{"architectures":["GteNewModel"],"model_type":"new","hidden_size":768,"intermediate_size":3072,"max_position_embeddings":8192,"num_attention_heads":12,"num_hidden_layers":12,"type_vocab_size":1,"vocab_size":250048}`, 305_368_320},
	{"google-t5/t5-base", `{"architectures":["T5ForConditionalGeneration"],"is_encoder_decoder":true,"model_type":"t5","d_ff":3072,"d_kv":64,"d_model":768,"n_positions":512,"num_heads":12,"num_layers":12,"vocab_size":32128}`, 222_903_552},
	{"google/flan-t5-xxl", `{"architectures":["T5ForConditionalGeneration"],"is_encoder_decoder":true,"model_type":"t5","d_ff":10240,"d_kv":64,"d_model":4096,"feed_forward_proj":"gated-gelu","num_decoder_layers":24,"num_heads":64,"num_layers":24,"tie_word_embeddings":false,"vocab_size":32128}`, 11_135_332_352},
	{"facebook/bart-large", `{"architectures":["BartModel"],"is_encoder_decoder":true,"model_type":"bart","d_model":1024,"decoder_attention_heads":16,"decoder_ffn_dim":4096,"decoder_layers":12,"encoder_attention_heads":16,"encoder_ffn_dim":4096,"encoder_layers":12,"max_position_embeddings":1024,"vocab_size":50265}`, 406_291_456},
	{"facebook/nllb-200-distilled-600M", `{"architectures":["M2M100ForConditionalGeneration"],"is_encoder_decoder":true,"model_type":"m2m_100","d_model":1024,"decoder_attention_heads":16,"decoder_ffn_dim":4096,"decoder_layers":12,"encoder_attention_heads":16,"encoder_ffn_dim":4096,"encoder_layers":12,"max_position_embeddings":1024,"vocab_size":256206}`, 615_073_792},
	{"mosaicml/mpt-7b", `{"architectures":["MPTForCausalLM"],"attn_config":{"alibi":true,"attn_type":"multihead_attention"},"d_model":4096,"expansion_ratio":4,"learned_pos_emb":true,"max_seq_len":2048,"model_type":"mpt","n_heads":32,"n_layers":32,"no_bias":true,"vocab_size":50432}`, 6_649_286_656},
	{"EleutherAI/gpt-j-6b", `{"architectures":["GPTJForCausalLM"],"model_type":"gptj","n_embd":4096,"n_head":16,"n_layer":28,"n_positions":2048,"tie_word_embeddings":false,"vocab_size":50400}`, 6_050_882_784},
	{"bigscience/bloom-7b1", `{"architectures":["BloomForCausalLM"],"model_type":"bloom","n_embed":4096,"n_layer":30,"num_attention_heads":32,"vocab_size":250880}`, 7_069_016_064},
	{"facebook/opt-6.7b", `{"architectures":["OPTForCausalLM"],"model_type":"opt","ffn_dim":16384,"hidden_size":4096,"max_position_embeddings":2048,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":50272,"word_embed_proj_dim":4096}`, 6_658_473_984},
	{"bigcode/starcoder", `{"architectures":["GPTBigCodeForCausalLM"],"model_type":"gpt_bigcode","multi_query":true,"n_embd":6144,"n_head":48,"n_inner":24576,"n_layer":40,"n_positions":8192,"vocab_size":49152}`, 15_517_456_384},
	{"Qwen/Qwen2.5-VL-7B-Instruct", `{"architectures":["Qwen2_5_VLForConditionalGeneration"],"hidden_size":3584,"intermediate_size":18944,"max_position_embeddings":128000,"max_window_layers":28,"model_type":"qwen2_5_vl","num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,"tie_word_embeddings":false,"use_sliding_window":false,"vision_config":{"depth":32,"hidden_size":1280,"in_chans":3,"intermediate_size":3420,"model_type":"qwen2_5_vl","num_heads":16,"out_hidden_size":3584,"patch_size":14,"spatial_merge_size":2,"temporal_patch_size":2},"vocab_size":152064}`, 8_292_166_656},
	{"ai21labs/Jamba-v0.1", `{"architectures":["JambaForCausalLM"],"attn_layer_offset":4,"attn_layer_period":8,"expert_layer_offset":1,"expert_layer_period":2,"hidden_size":4096,"intermediate_size":14336,"mamba_d_conv":4,"mamba_d_state":16,"mamba_dt_rank":256,"mamba_expand":2,"max_position_embeddings":262144,"model_type":"jamba","num_attention_heads":32,"num_experts":16,"num_experts_per_tok":2,"num_hidden_layers":32,"num_key_value_heads":8,"tie_word_embeddings":false,"vocab_size":65536}`, 51_570_323_328},
	{"state-spaces/mamba-2.8b-hf", `{"architectures":["MambaForCausalLM"],"conv_kernel":4,"expand":2,"hidden_size":2560,"intermediate_size":5120,"model_type":"mamba","num_hidden_layers":64,"state_size":16,"time_step_rank":160,"vocab_size":50280}`, 2_768_345_600},
	{"mistralai/Mamba-Codestral-7B-v0.1", `{"architectures":["Mamba2ForCausalLM"],"conv_kernel":4,"expand":2,"head_dim":64,"hidden_size":4096,"model_type":"mamba2","n_groups":8,"num_heads":128,"num_hidden_layers":64,"state_size":128,"tie_word_embeddings":false,"vocab_size":32768}`, 7_285_403_648},
	{"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B", `{"architectures":["NemotronHForCausalLM"],"attention_bias":false,"conv_kernel":4,"head_dim":128,"hidden_size":2688,"hybrid_override_pattern":"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME","intermediate_size":1856,"mamba_head_dim":64,"mamba_num_heads":64,"max_position_embeddings":262144,"mlp_bias":false,"model_type":"nemotron_h","moe_intermediate_size":1856,"moe_shared_expert_intermediate_size":3712,"n_groups":8,"n_routed_experts":128,"n_shared_experts":1,"num_attention_heads":32,"num_experts_per_tok":6,"num_hidden_layers":52,"num_key_value_heads":2,"ssm_state_size":128,"tie_word_embeddings":false,"vocab_size":131072}`, 31_577_940_288},
	{"moonshotai/Kimi-Linear-48B-A3B-Instruct", `{"architectures":["KimiLinearForCausalLM"],"first_k_dense_replace":1,"head_dim":72,"hidden_size":2304,"intermediate_size":9216,"kv_lora_rank":512,"linear_attn_config":{"full_attn_layers":[4,8,12,16,20,24,27],"head_dim":128,"num_heads":32,"short_conv_kernel_size":4},"model_max_length":1048576,"model_type":"kimi_linear","moe_intermediate_size":1024,"moe_layer_freq":1,"num_attention_heads":32,"num_experts":256,"num_experts_per_token":8,"num_hidden_layers":27,"num_key_value_heads":32,"num_shared_experts":1,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"tie_word_embeddings":false,"v_head_dim":128,"vocab_size":163840}`, 49_122_681_728},
	{"LiquidAI/LFM2-350M", `{"architectures":["Lfm2ForCausalLM"],"block_auto_adjust_ff_dim":true,"block_ff_dim":6656,"block_multiple_of":256,"conv_L_cache":3,"full_attn_idxs":[2,5,8,10,12,14],"hidden_size":1024,"model_type":"lfm2","num_attention_heads":16,"num_hidden_layers":16,"num_key_value_heads":8,"vocab_size":65536}`, 354_483_968},
}

// TestFromConfigCountsWhatWasPublished holds the readers to the weight.
func TestFromConfigCountsWhatWasPublished(t *testing.T) {
	exact := 0
	for _, r := range publishedTotals {
		m, err := FromConfig(r.model, []byte(r.config))
		switch {
		case err != nil:
			t.Error(err)
		case m.Parameters() != r.parameters:
			t.Errorf("%s: %d parameters, want %d", r.model, m.Parameters(), r.parameters)
		default:
			exact++
		}
	}
	figure.All("published models of other kinds", "parameters: exact", exact, len(publishedTotals), 20).Hold(t)
}
