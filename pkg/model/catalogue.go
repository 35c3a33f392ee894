package model

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

// catalogued is an entry of the catalogue.
type catalogued struct {
	Name         string                `json:"name"`
	IDs          []string              `json:"ids"`
	Source       string                `json:"source"`
	Parameters   int64                 `json:"parameters"`
	Architecture v1alpha1.Architecture `json:"architecture"`
	// Estimate replaces Architecture where it is not known; then the architecture is made up from it.
	Estimate *estimate `json:"estimate"`
	// NextTokenModules is the number of multi-token-prediction modules in the checkpoint.
	NextTokenModules int `json:"nextTokenModules"`
	// OtherModules is the number of such modules of another form, which the counts leave out. Source: mtp_num_hidden_layers and
	// num_nextn_predict_layers of the files, and vLLM's hf_config_override for Qwen3-Next.
	OtherModules int `json:"otherModules"`
	// Adapters are LoRA adapters in the checkpoint.
	Adapters  adapters `json:"adapters"`
	published `json:",inline"`
	// Variants are other checkpoints of the same architecture.
	Variants []variant `json:"variants"`
	// stored reads Quantization once: matching names with every module takes longer than all else of a lookup.
	stored func() (*storage, error)
	// family is the entry and its variants, or the variants and the entry that this one is a variant of, in the file's order.
	family []*catalogued
}

// estimate is what the publisher states of a model whose architecture is not known.
type estimate struct {
	// Parameters is the total, Active the number that a token visits; 0 where it visits all of them.
	Parameters int64 `json:"parameters"`
	Active     int64 `json:"active"`
	// Context is the longest context in tokens.
	Context int32 `json:"context"`
}

// architecture makes one up.
func (e *estimate) architecture() (v1alpha1.Architecture, error) {
	a, err := fromCounts(e.Parameters, e.Active)
	a.MaxContext = e.Context
	return a, err
}

// assumption says that the architecture is made up.
func (e *estimate) assumption() string {
	active := ""
	if e.Active > 0 {
		active = fmt.Sprintf(", of which a token visits %s", shortCount(e.Active))
	}
	return fmt.Sprintf("the catalogue knows only the number of parameters that the publisher states (%s%s): computed for an architecture that is made up; give the model's config.json for exact numbers", shortCount(e.Parameters), active)
}

// published is how a checkpoint stores its weights.
type published struct {
	Native v1alpha1.Precision `json:"native"`
	// Quantization is the quantization_config of the checkpoint's config.json.
	Quantization json.RawMessage `json:"quantization"`
	// ExpertDtype is the expert_dtype of the checkpoint's config.json.
	ExpertDtype string `json:"expertDtype"`
}

type variant struct {
	Name      string   `json:"name"`
	IDs       []string `json:"ids"`
	published `json:",inline"`
}

// readStorage reads the quantization_config.
func (p *published) readStorage(a *v1alpha1.Architecture) (*storage, error) {
	if len(p.Quantization) == 0 {
		return nil, nil
	}
	f, err := parseFields(fmt.Appendf(nil, `{"quantization_config":%s,"expert_dtype":%q}`, p.Quantization, p.ExpertDtype))
	if err != nil {
		return nil, err
	}
	native, stored := readStorage(f, a)
	if native != p.Native || len(f.assumptions) > 0 {
		return nil, fmt.Errorf("quantization is that of %s, native is %s; %s", native, p.Native, strings.Join(f.assumptions, "; "))
	}
	return stored, nil
}

// withVariants returns the entry and an entry for each of its other checkpoints.
func (e *catalogued) withVariants() []*catalogued {
	list := []*catalogued{e}
	for _, v := range e.Variants {
		other := *e
		other.Name, other.IDs, other.published, other.Variants = v.Name, v.IDs, v.published, nil
		list = append(list, &other)
	}
	for _, member := range list {
		member.family = list
	}
	return list
}

// catalogue is the embedded data with its index by spelling.
type catalogue struct {
	// models are the entries of the file, entries those and their other checkpoints.
	models, entries []*catalogued
	index           map[string]*catalogued
}

// load parses the embedded data once. It can only fail where the data is wrong, which a test excludes.
var load = sync.OnceValues(func() (*catalogue, error) { return parseCatalogue(catalogueYAML) })

func parseCatalogue(data []byte) (*catalogue, error) {
	c := &catalogue{index: map[string]*catalogued{}}
	if err := yaml.UnmarshalStrict(data, &c.models); err != nil {
		return nil, fmt.Errorf("catalogue of models: %w", err)
	}
	for _, e := range c.models {
		if e.Estimate != nil {
			made, err := e.Estimate.architecture()
			if err != nil {
				return nil, fmt.Errorf("catalogue of models: %s: %w", e.Name, err)
			}
			e.Architecture = made
		}
		c.entries = append(c.entries, e.withVariants()...)
	}
	for _, e := range c.entries {
		e.stored = sync.OnceValues(func() (*storage, error) { return e.readStorage(&e.Architecture) })
		for _, spelling := range e.spellings() {
			if other := c.index[spelling]; other != nil && other != e {
				return nil, fmt.Errorf("catalogue of models: %q stands for %s and %s: keep one", spelling, other.Name, e.Name)
			}
			c.index[spelling] = e
		}
	}
	return c, nil
}
