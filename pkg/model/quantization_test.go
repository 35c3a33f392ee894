package model

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Weights of quantizedConfig: two layers of attention (4 matrices of 256x256) and a gated block (3 of 512x256), norms, and the
// ends of 1000 words.
const (
	square, wide    = 256 * 256, 512 * 256
	attentionWeight = 2 * 4 * square
	blockWeight     = 2 * 3 * wide
	normBytes       = 2 * (2*2*256 + 256)
	tableBytes      = 2 * 1000 * 256
)

func quantizedConfig(quantization string) []byte {
	return []byte(`{"model_type":"llama","hidden_size":256,"num_hidden_layers":2,"num_attention_heads":4,"vocab_size":1000,` +
		`"intermediate_size":512,"torch_dtype":"bfloat16","quantization_config":` + quantization + `}`)
}

var quantizations = map[string]struct {
	config string
	native v1alpha1.Precision
	bytes  int64 // of all linear layers
	head   int64 // of the head, where it is not 16 bits
}{
	"FP8 in blocks":            {`{"quant_method":"fp8","weight_block_size":[128,128]}`, v1alpha1.FP8, attentionWeight + blockWeight + 4*(8*4+6*8), 0},
	"FP8 by matrix":            {`{"quant_method":"fp8","activation_scheme":"static"}`, v1alpha1.FP8, attentionWeight + blockWeight + 8*14, 0},
	"FBGEMM":                   {`{"quant_method":"fbgemm_fp8","modules_to_not_convert":["lm_head","model.layers.0"]}`, v1alpha1.FP8, (attentionWeight+blockWeight)/2*3 + 4*(4*256+2*512+256), 0},
	"GPTQ":                     {`{"quant_method":"gptq","bits":4,"group_size":128}`, v1alpha1.INT4, (attentionWeight+blockWeight)/128*(64*8+20)/8 + 4*2*(6*256+512), 0},
	"GPTQ in 8 bits":           {`{"quant_method":"gptq","bits":8,"group_size":-1}`, v1alpha1.INT8, attentionWeight + blockWeight + 3*2*(4*256+2*512+256) + 4*2*(6*256+512), 0},
	"AWQ":                      {`{"quant_method":"awq","w_bit":4,"q_group_size":64}`, v1alpha1.INT4, (attentionWeight + blockWeight) / 64 * (32*8 + 20) / 8, 0},
	"compressed INT8":          {`{"quant_method":"compressed-tensors","ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int","strategy":"channel"}}}}`, v1alpha1.INT8, attentionWeight + blockWeight + 2*2*(4*256+2*512+256), 0},
	"compressed INT4":          {`{"quant_method":"compressed-tensors","format":"pack-quantized","ignore":["lm_head","re:.*self_attn.*"],"config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32,"symmetric":true}}}}`, v1alpha1.INT4, 2*attentionWeight + blockWeight/2 + blockWeight/32*2 + 16*6, 0},
	"compressed FP8 with head": {`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"tensor"}}}}`, v1alpha1.FP8, attentionWeight + blockWeight + 2*14, 1000*256 + 2},
	"mixed":                    {`{"quant_method":"compressed-tensors","ignore":["lm_head"],"config_groups":{"a":{"targets":["re:.*self_attn.*"],"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[128,128]}},"b":{"targets":["re:.*mlp.*"],"format":"nvfp4-pack-quantized","weights":{"num_bits":4,"type":"float","group_size":16}}}}`, v1alpha1.NVFP4, attentionWeight + 2*8*4 + blockWeight*9/16 + 8*6, 0},
	"compressed MXFP4":         {`{"quant_method":"compressed-tensors","format":"mxfp4-pack-quantized","ignore":["lm_head"],"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":4,"type":"float","group_size":32}}}}`, v1alpha1.MXFP4, (attentionWeight + blockWeight) * 17 / 32, 0},
	"NVFP4":                    {`{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["lm_head","model.layers.*.self_attn*"]}`, v1alpha1.NVFP4, 2*attentionWeight + blockWeight*9/16 + 8*6, 0},
	"NVFP4 of one layer":       {`{"quant_method":"modelopt","quantization":{"quant_algo":"NVFP4"},"exclude_modules":["lm_head","model.layers.1.*"]}`, v1alpha1.NVFP4, attentionWeight + blockWeight + (attentionWeight+blockWeight)/2*9/16 + 8*7, 0},
	"hf_quant_config.json":     {`{"quant_method":"modelopt","quantization":{"quant_algo":"NVFP4","exclude_modules":["lm_head","model.layers.1.*"]}}`, v1alpha1.NVFP4, attentionWeight + blockWeight + (attentionWeight+blockWeight)/2*9/16 + 8*7, 0},
	"mixed by name":            {`{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","ignore":["mtp*"],"quantized_layers":{"model.layers.0.mlp":{"quant_algo":"NVFP4","group_size":16},"model.layers.1.mlp":{"quant_algo":"W4A16_NVFP4"},"model.layers.0.self_attn":{"quant_algo":"FP8"},"lm_head":{"quant_algo":"FP8"}}}`, v1alpha1.NVFP4, attentionWeight/2 + attentionWeight + 8*4 + blockWeight*9/16 + 8*6, 1000*256 + 8},
	"mixed by group":           {`{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","config_groups":{"group_0":{"targets":["model.layers.0.self_attn"],"weights":{"num_bits":8,"type":"float"}},"group_1":{"targets":["layers.0.mlp","layers.1.mlp"],"weights":{"num_bits":4,"type":"float","group_size":16}}}}`, v1alpha1.NVFP4, attentionWeight/2 + attentionWeight + blockWeight*9/16 + 8*6, 0},
	"MXFP8":                    {`{"quant_method":"modelopt","quant_algo":"MXFP8","ignore":["lm_head"]}`, v1alpha1.FP8, (attentionWeight + blockWeight) * 33 / 32, 0},
	"FP8 of Model Optimizer":   {`{"quant_method":"modelopt","quant_algo":"FP8","ignore":["lm_head"]}`, v1alpha1.FP8, attentionWeight + blockWeight + 8*14, 0},
	"Quark":                    {`{"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp4"}},"exclude":["re:.*self_attn.*"]}`, v1alpha1.MXFP4, 2*attentionWeight + blockWeight*17/32, 0},
	"NF4":                      {`{"quant_method":"bitsandbytes","load_in_4bit":true}`, v1alpha1.INT4, (attentionWeight + blockWeight) / 64 * 36, 0},
	"MXFP4 of a dense model":   {`{"quant_method":"mxfp4"}`, v1alpha1.MXFP4, 2 * (attentionWeight + blockWeight), 0},
}

func TestWeightsAsQuantizationConfigSays(t *testing.T) {
	for name, test := range quantizations {
		t.Run(name, func(t *testing.T) {
			m, err := FromConfig("x", quantizedConfig(test.config))
			if err != nil {
				t.Fatal(err)
			}
			head := test.head
			if head == 0 {
				head = tableBytes
			}
			if want := test.bytes + normBytes + tableBytes + head; m.Native != test.native || m.WeightBytes(m.Native) != want {
				t.Errorf("%d bytes in %s, want %d in %s", m.WeightBytes(m.Native), m.Native, want, test.native)
			}
			if len(m.Assumptions) > 1 { // intermediate_size is given, so nothing but the method's own
				t.Errorf("assumptions %q", m.Assumptions)
			}
		})
	}
}

func TestQuantizationThatIsNotUnderstoodIsTold(t *testing.T) {
	for config, want := range map[string]string{
		`{"quant_method":"mystery"}`: `quant_method "mystery" is not known`,
		`{"quant_method":"modelopt","quant_algo":"MIXED_PRECISION","quantized_layers":{"layers.0.mlp":{"quant_algo":"W4A8"}}}`: `quant_algo "W4A8", which is not known`,
		`{"quant_method":"modelopt","quant_algo":"W4A8"}`:                                                                      `quant_algo "W4A8" is not known`,
		`{"quant_method":"gptq","bits":3}`:                                                                                     "bits is 3",
		`{"quant_method":"compressed-tensors"}`:                                                                                "config_groups names no weights",
		`{"quant_method":"quark"}`:                                                                                             `weight.dtype "" is not known`,
		`{"quant_method":"fp8","ignored_layers":["re:(?!no)","lm_head",7]}`:                                                    "2 names that quantization_config leaves out could not be read",
		`{"quant_method":"compressed-tensors","config_groups":{"g":{"targets":["re:("],"weights":{}}}}`:                        "1 targets of quantization_config.config_groups.g could not be read",
	} {
		m, err := FromConfig("x", quantizedConfig(config))
		if err != nil || !strings.Contains(strings.Join(m.Assumptions, "\n"), want) {
			t.Errorf("%s: %v, %v; want an assumption with %q", config, m, err, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	tests := map[string]struct {
		pattern, module string
		want            bool
	}{
		"whole name":            {"model.layers.3.self_attn.q_proj", "layers.3.self_attn.q_proj", true},
		"another layer":         {"model.layers.3.self_attn.q_proj", "layers.30.self_attn.q_proj", false},
		"layer":                 {"model.layers.3", "layers.3.mlp.up_proj", true},
		"part of a layer":       {"self_attn", "layers.3.self_attn.q_proj", true},
		"part of a word":        {"gate", "layers.3.mlp.gate_proj", false},
		"any layer":             {"model.layers.*.self_attn", "layers.12.self_attn.q_proj", true},
		"end of a word":         {"model.layers.1.self_attn*", "layers.1.self_attn.q_proj", true},
		"any layer but another": {"model.layers.1*", "layers.2.mlp.up_proj", false},
		"multimodal":            {"language_model.model.layers.3.mlp", "layers.3.mlp.up_proj", true},
		"expression":            {`re:.*mlp\.(gate|up)_proj$`, "layers.3.mlp.up_proj", true},
		"expression from start": {`re:mlp`, "layers.3.mlp.up_proj", false},
		"head":                  {"lm_head", "lm_head", true},
	}
	for name, test := range tests {
		p, unread := parsePatterns([]any{test.pattern})
		if got := p.match(test.module); got != test.want || unread != 0 {
			t.Errorf("%s: %q for %q is %v, %d not read", name, test.pattern, test.module, got, unread)
		}
	}
}

func FuzzPatterns(f *testing.F) {
	f.Add("model.layers.*.self_attn", "layers.1.self_attn.q_proj")
	f.Add("re:.*(q|k)_proj", "layers.1.self_attn.q_proj")
	f.Add("..", "..")
	f.Fuzz(func(t *testing.T, pattern, module string) {
		p, unread := parsePatterns([]any{pattern})
		if matched := p.match(module); matched && unread > 0 {
			t.Fatalf("%q could not be read and matches %q", pattern, module)
		}
	})
}

// A cache has the format that is asked for or that the checkpoint carries scales for, and else 16 bits, whatever the weights have.
func TestCacheFormat(t *testing.T) {
	const weights = `"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float"}}}`
	for _, c := range []struct{ config, weights, asked, want string }{
		{`{"quant_method":"fp8"}`, "FP8", "", "BF16"},
		{`{"quant_method":"fp8"}`, "FP8", "FP8", "FP8"},
		{`{"quant_method":"compressed-tensors",` + weights + `,"kv_cache_scheme":null}`, "FP8", "", "BF16"},
		{`{"quant_method":"compressed-tensors",` + weights + `,"kv_cache_scheme":{"num_bits":8,"type":"float"}}`, "FP8", "", "FP8"},
		{`{"quant_method":"compressed-tensors",` + weights + `,"kv_cache_scheme":{"num_bits":8,"type":"float"}}`, "BF16", "", "BF16"},
		{`{"quant_method":"compressed-tensors",` + weights + `,"kv_cache_scheme":{"num_bits":8,"type":"float"}}`, "FP8", "BF16", "BF16"},
		{`{"quant_method":"modelopt","quant_algo":"NVFP4","kv_cache_scheme":{"num_bits":8,"type":"float","dynamic":false}}`, "NVFP4", "", "FP8"},
		{`{"quant_method":"modelopt","quantization":{"quant_algo":"FP8","kv_cache_quant_algo":"FP8"}}`, "FP8", "", "FP8"},
		{`{"quant_method":"fp8","activation_scheme":"static","kv_cache_scheme":"static"}`, "FP8", "", "FP8"},
		{`{"quant_method":"fp8","activation_scheme":"static","kv_cache_scheme":"static"}`, "BF16", "", "BF16"},
		{`{"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp8_e4m3"}},"export":{"kv_cache_group":["*k_proj","*v_proj"]}}`, "FP8", "", "FP8"},
		{`{"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp8_e4m3"}},"export":{"kv_cache_group":[]}}`, "FP8", "", "BF16"},
		{`{"quant_method":"awq","bits":4}`, "FP16", "", "FP16"},
	} {
		m, err := FromConfig("quantized", quantizedConfig(c.config))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.CacheFormat(v1alpha1.Precision(c.weights), v1alpha1.Precision(c.asked)); string(got) != c.want {
			t.Errorf("%s with weights in %s, asked for %q: %s, want %s", c.config, c.weights, c.asked, got, c.want)
		}
	}
}
