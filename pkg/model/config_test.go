package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// configs returns the config.json files under testdata by the catalogue name of their model.
func configs(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "config", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no config.json under testdata: %v", err)
	}
	configs := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		configs[strings.TrimSuffix(filepath.Base(file), ".json")] = content
	}
	return configs
}

// TestFromConfigAgreesWithTheCatalogue reads a file of each family and compares the architecture with the catalogue's,
// whose count is held to the published one.
func TestFromConfigAgreesWithTheCatalogue(t *testing.T) {
	for name, config := range configs(t) {
		t.Run(name, func(t *testing.T) {
			want, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := FromConfig(name, config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Architecture, got.Architecture); diff != "" {
				t.Errorf("(-catalogue +config.json):\n%s", diff)
			}
			if got.Parameters() != want.Parameters() || got.KVBytesPerToken("BF16") != want.KVBytesPerToken("BF16") {
				t.Errorf("%d parameters, want %d", got.Parameters(), want.Parameters())
			}
			if got.NextTokenModules != want.NextTokenModules {
				t.Errorf("%d next-token modules, want %d", got.NextTokenModules, want.NextTokenModules)
			}
			if !strings.Contains(string(config), "quantization_config") {
				return
			}
			if got.Native != want.Native || got.WeightBytes(got.Native) != want.WeightBytes(want.Native) {
				t.Errorf("%d bytes in %s, want %d in %s", got.WeightBytes(got.Native), got.Native, want.WeightBytes(want.Native), want.Native)
			}
		})
	}
}

func TestFromConfigReadsTheNativePrecision(t *testing.T) {
	const rest = `"model_type":"llama","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128`
	for fields, want := range map[string]v1alpha1.Precision{
		`"torch_dtype":"float16"`:                                v1alpha1.FP16,
		`"dtype":"float32"`:                                      v1alpha1.FP32,
		`"torch_dtype":"strange"`:                                v1alpha1.BF16,
		`"quantization_config":{"quant_method":"fp8"}`:           v1alpha1.FP8,
		`"quantization_config":{"quant_method":"awq","bits":4}`:  v1alpha1.INT4,
		`"quantization_config":{"quant_method":"gptq","bits":8}`: v1alpha1.INT8,
		`"quantization_config":{"quant_method":"mystery"}`:       v1alpha1.BF16,
	} {
		m, err := FromConfig("x", []byte("{"+rest+","+fields+"}"))
		if err != nil || m.Native != want {
			t.Errorf("%s: %v, %v; want %s", fields, m, err, want)
		}
	}
}

func TestFromConfigTellsWhatItAssumed(t *testing.T) {
	tests := map[string]struct{ config, want string }{
		"unknown model_type": {`{"model_type":"newllm","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128,"torch_dtype":"bfloat16"}`, `model_type "newllm" is not known`},
		"no width":           {`{"model_type":"llama","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"vocab_size":100}`, "intermediate_size is not given"},
		"no dtype":           {`{"model_type":"llama","hidden_size":64,"num_hidden_layers":1,"num_attention_heads":4,"vocab_size":100}`, "torch_dtype is not given"},
		"irregular layers":   {`{"model_type":"gpt_oss","hidden_size":64,"num_hidden_layers":3,"num_attention_heads":4,"vocab_size":100,"intermediate_size":128,"num_local_experts":2,"num_experts_per_tok":1,"sliding_window":8,"layer_types":["full_attention","sliding_attention","full_attention"]}`, "torch_dtype is not given"},
		"class defaults":     {string(configs(t)["Gemma-3-4B"]), "taken from the defaults of the model_type: max_position_embeddings 131072, num_attention_heads 8, num_key_value_heads 4, vocab_size 262208"},
		"vision":             {string(configs(t)["Gemma-3-4B"]), "vision_config is counted with 419816304 parameters, whole on each rank of the first stage"},
		"next token module":  {string(configs(t)["DeepSeek-V3"]), "multi-token-prediction module"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := FromConfig("x", []byte(test.config))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(m.Assumptions, "\n"), test.want) {
				t.Errorf("assumptions %q, want one with %q", m.Assumptions, test.want)
			}
		})
	}
}

// TestFromConfigReadsAnUnknownMixture computes a class that is not in the table from the words it shares with those that are.
func TestFromConfigReadsAnUnknownMixture(t *testing.T) {
	known := string(configs(t)["DeepSeek-V3"])
	m, err := FromConfig("x", []byte(strings.Replace(known, `"deepseek_v3"`, `"deepseek_v9"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Parameters() != 671_026_419_200 {
		t.Errorf("%d parameters, want 671026419200", m.Parameters())
	}
}

func TestFromConfigNamesTheWrongField(t *testing.T) {
	valid := map[string]string{
		"model_type": `"llama"`, "hidden_size": "64", "num_hidden_layers": "2", "num_attention_heads": "4", "vocab_size": "100",
		"intermediate_size": "128",
	}
	tests := map[string]struct {
		change map[string]string // an empty value removes the field
		want   string
	}{
		"missing":               {map[string]string{"hidden_size": ""}, "hidden_size is missing: add it"},
		"null":                  {map[string]string{"vocab_size": "null"}, "vocab_size is missing"},
		"negative":              {map[string]string{"num_hidden_layers": "-1"}, "num_hidden_layers is -1: set it to a whole number from 1 to 1024"},
		"zero":                  {map[string]string{"num_attention_heads": "0"}, "num_attention_heads is 0: set it to a whole number from 1 to"},
		"fraction":              {map[string]string{"hidden_size": "64.5"}, "hidden_size is 64.5"},
		"text":                  {map[string]string{"hidden_size": `"64"`}, `hidden_size is "64"`},
		"too large":             {map[string]string{"vocab_size": "9223372036854775808"}, "vocab_size is 9223372036854775808"},
		"huge exponent":         {map[string]string{"vocab_size": "1e999"}, "vocab_size is 1e999"},
		"heads and width":       {map[string]string{"num_attention_heads": "3"}, "set num_attention_heads to a divisor of hidden_size"},
		"heads and kv heads":    {map[string]string{"num_key_value_heads": "3"}, "attention.kvHeads 3"},
		"more active experts":   {map[string]string{"model_type": `"mixtral"`, "num_local_experts": "2", "num_experts_per_tok": "3"}, "moe.activeExperts is 3"},
		"experts missing":       {map[string]string{"model_type": `"mixtral"`}, "num_local_experts is missing"},
		"latent missing":        {map[string]string{"model_type": `"deepseek_v3"`}, "kv_lora_rank is missing"},
		"flag that is no flag":  {map[string]string{"tie_word_embeddings": "1"}, "tie_word_embeddings is 1: set it to true or false"},
		"encoder and decoder":   {map[string]string{"model_type": `"mystery"`, "is_encoder_decoder": "true"}, "of models with encoder and decoder only whisper, T5, BART and M2M-100 can be placed"},
		"too many parameters":   {map[string]string{"hidden_size": "1048576", "num_attention_heads": "64", "intermediate_size": "16777216", "num_hidden_layers": "1024"}, "at most 140737488355328"},
		"overflowing":           {map[string]string{"model_type": `"mixtral"`, "hidden_size": "1048576", "num_attention_heads": "64", "intermediate_size": "16777216", "num_hidden_layers": "1024", "num_local_experts": "65536", "num_experts_per_tok": "1"}, "more than 2^63 parameters"},
		"shared experts' width": {map[string]string{"model_type": `"deepseek_v2"`, "kv_lora_rank": "8", "qk_nope_head_dim": "8", "qk_rope_head_dim": "8", "v_head_dim": "8", "n_routed_experts": "2", "num_experts_per_tok": "1", "moe_intermediate_size": "16777216", "n_shared_experts": "65536"}, "n_shared_experts times moe_intermediate_size"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := FromConfig("my-model", object(valid, test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"my-model"`) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// object writes a JSON object of the fields with the changes.
func object(fields, changes map[string]string) []byte {
	var parts []string
	for name, value := range fields {
		if _, changed := changes[name]; !changed {
			parts = append(parts, `"`+name+`":`+value)
		}
	}
	for name, value := range changes {
		if value != "" {
			parts = append(parts, `"`+name+`":`+value)
		}
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func TestFromConfigRefusesWhatIsNoConfig(t *testing.T) {
	for config, want := range map[string]string{
		"":                               "not a JSON object",
		"[]":                             "not a JSON object",
		"{":                              "not a JSON object",
		"{}{}":                           "more after the JSON object",
		strings.Repeat(" ", maxConfig+1): "at most 1048576",
	} {
		if _, err := FromConfig("x", []byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: error %v, want one with %q", config, err, want)
		}
	}
}

func FuzzFromConfig(f *testing.F) {
	for _, config := range configs(f) {
		f.Add(config)
	}
	f.Add([]byte(`{"model_type":"mixtral","num_hidden_layers":1024,"hidden_size":1048576,"vocab_size":16777216}`))
	for _, of := range publishedTotals {
		f.Add([]byte(of.config))
	}
	for _, test := range quantizations {
		f.Add(quantizedConfig(test.config))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		m, err := FromConfig("fuzz", config)
		if err != nil {
			if m != nil || !strings.Contains(err.Error(), "fuzz") {
				t.Fatalf("error without context or with a model: %v", err)
			}
			return
		}
		if m.WeightBytes(m.Native) < 1 || m.checkpointBytes() < m.WeightBytes(m.Native) || m.Attends(0) && m.Work(0).Mixer.Split < 1 {
			t.Fatalf("%d bytes, %d of the checkpoint, work %+v", m.WeightBytes(m.Native), m.checkpointBytes(), m.Work(0))
		}
		if n := m.Parameters(); n < 1 || n > MaxParameters || m.ActiveParameters() < 1 {
			t.Fatalf("%d parameters, %d active", n, m.ActiveParameters())
		}
		if len(m.Assumptions) > 16 {
			t.Fatalf("%d assumptions: the API keeps 16", len(m.Assumptions))
		}
		for _, assumption := range m.Assumptions {
			if len(assumption) > 512 {
				t.Fatalf("assumption of %d bytes: the API keeps 512", len(assumption))
			}
		}
		for _, degree := range engine.TensorDegrees(&m.Architecture, 16) {
			if m.LayerWeightBytesPerRank(0, degree, v1alpha1.MXFP4) > m.LayerWeightBytes(0, v1alpha1.BF16) {
				t.Fatalf("a rank of %d stores more than the layer", degree)
			}
		}
	})
}

func BenchmarkFromConfig(b *testing.B) {
	config := configs(b)["DeepSeek-V3"]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromConfig("x", config); err != nil {
			b.Fatal(err)
		}
	}
}
