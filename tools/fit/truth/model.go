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
		l.profiles[key] = cost.NewProfile(m, cost.Stored(m, weights, cache))
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
