package truth

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// aliases are the catalogue's names of models that the tables call otherwise.
var aliases = map[string]string{
	"deepseek-ai/DeepSeek-R1-0528": "DeepSeek-R1", "moonshotai/Kimi-K2.5": "Kimi-K2", "Qwen/Qwen3-235B-A22B-FP8": "Qwen3-235B-A22B",
	"meta-llama/Llama-3.1-8B-Instruct": "Llama-3.1-8B", "meta-llama/Llama-3.3-70B-Instruct": "Llama-3.3-70B",
	"llama2-70b": "Llama-2-70B", "llama3.1-405b": "Llama-3.1-405B", "llama3.1-8b": "Llama-3.1-8B",
	"mixtral-8x7b": "Mixtral-8x7B", "deepseek-r1": "DeepSeek-R1",
}

// configs are models that the catalogue lacks, from the config.json that their publisher stores beside the weights.
var configs = map[string]string{
	"MiniMaxAI/MiniMax-M2.5": `{"model_type": "mixtral", "num_hidden_layers": 62, "hidden_size": 3072, "vocab_size": 200064,
		"num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 1536,
		"num_local_experts": 256, "num_experts_per_tok": 8, "tie_word_embeddings": false}`,
	"Qwen/Qwen3.5-397B-A17B": `{"model_type": "qwen2_moe", "num_hidden_layers": 60, "hidden_size": 4096, "vocab_size": 248320,
		"num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 1024,
		"num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 1024, "decoder_sparse_step": 1,
		"shared_expert_intermediate_size": 1024, "tie_word_embeddings": false}`,
}

// recurrent are the layers of Qwen3.5: three gated delta networks (16 key and 64 value heads of width 128, states in 32
// bits) to a layer with gated attention.
var recurrent = map[string]cost.RecurrentLayers{
	"Qwen/Qwen3.5-397B-A17B": {
		FullAttentionEvery: 4, Weights: 4096*(2*2048+2*8192+2*64) + 8192*4096,
		AttentionWeights: 4096*(2*8192+2*512) + 8192*4096, StateBytes: 64 * 128 * 128 * 4,
	},
}

// library finds models once and makes a profile of each for each set of precisions.
type library struct {
	models   map[string]*model.Model
	profiles map[string]*cost.Profile
}

func newLibrary() *library {
	return &library{models: map[string]*model.Model{}, profiles: map[string]*cost.Profile{}}
}

func (l *library) model(name string) (*model.Model, error) {
	if m := l.models[name]; m != nil {
		return m, nil
	}
	m, err := find(name)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	l.models[name] = m
	return m, nil
}

func find(name string) (*model.Model, error) {
	if config, ok := configs[name]; ok {
		return model.FromConfig(name, []byte(config))
	}
	if alias, ok := aliases[name]; ok {
		return model.Lookup(alias)
	}
	return model.Lookup(name)
}

func (l *library) profile(name string, weights, cache v1alpha1.Precision) (*cost.Profile, *model.Model, error) {
	m, err := l.model(name)
	if err != nil {
		return nil, nil, err
	}
	key := name + string(weights) + string(cache)
	if l.profiles[key] == nil {
		p := cost.NewProfile(m, cost.Stored(m, weights, cache))
		if r, ok := recurrent[name]; ok {
			p = p.WithRecurrent(r)
		}
		l.profiles[key] = p
	}
	return l.profiles[key], m, nil
}

// precision reads the tables' words.
func precision(word string) v1alpha1.Precision {
	switch w := strings.ToUpper(word); w {
	case "FP4":
		return v1alpha1.NVFP4
	case "UINT4":
		return v1alpha1.INT4
	default:
		return v1alpha1.Precision(w)
	}
}
