package sizing

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// maxConfig is the size in bytes of a config.json.
const maxConfig = 1 << 20

// NewModel returns the command `kubectl rankwright model`.
func NewModel(streams term.Streams) *cobra.Command {
	var output term.Format
	command := &cobra.Command{
		Use:   "model [NAME | NUMBER | config.json]",
		Short: "Show what a model is: parameters, layers, bytes, KV cache",
		Long: `Show what a model is, counted tensor by tensor from its architecture: a model of the catalogue by its name or hub id,
one in usual proportions by its number of parameters (70B), or one from the config.json beside its weights ('-' reads it
from standard input). Without an argument, list the catalogue.

Publishers count parameters in different ways: parts (in JSON and YAML) has layers, embedding table, head and what is
beside them apart, and what only the checkpoint has: modules for multi-token prediction, and adapters. parameters leaves
those two out, activeParameters also the embedding table and what is beside the layers.

weightBytes is the whole model in 16 bits, kvBytesPerToken the cache of one token in 16 bits with every attention layer
at full length.`,
		Example: `  kubectl rankwright model Llama-3.1-70B
  kubectl rankwright model deepseek-ai/DeepSeek-V3 -o json
  kubectl rankwright model 70B
  kubectl rankwright model ./config.json -o wide`,
		Args: term.Arguments(1, "give one name or one config.json, or nothing for the list"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return model.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listModels(streams, output)
			}
			m, err := FindModel(args[0], streams)
			if err != nil {
				return err
			}
			facts := factsOf(m)
			return streams.Write(output, facts, func(p *term.Page) { printModel(p, &facts, output.Wide()) })
		},
	}
	term.AddOutput(command, &output, term.Formats...)
	command.AddCommand(newInspect(streams))
	return command
}

// findModel reads a config.json where the argument is a file or ends as one, makes a model of a number of parameters (70B), and
// elsewhere finds its name. It also returns the precision of the weights.
func findModel(argument string, streams term.Streams, find func(string) (*model.Model, v1alpha1.Precision, error)) (*model.Model, v1alpha1.Precision, error) {
	if argument != term.StdinName && filepath.Ext(argument) != ".json" {
		if info, err := os.Stat(argument); err != nil || info.IsDir() {
			return namedModel(argument, find)
		}
	}
	config, err := term.ReadInput(argument, streams, maxConfig)
	if err != nil {
		return nil, "", fmt.Errorf("model: %w", err)
	}
	m, err := model.FromConfig(nameOfConfig(argument), config)
	if err != nil {
		return nil, "", err
	}
	return m, m.Native, nil
}

// FindModel returns the model that people name: a config.json, a number of parameters, or a name of the catalogue, of which the beginning
// is enough where no other model begins so. A name that says a format (-FP8) must be the catalogue's own, since a placement says the format
// apart.
func FindModel(argument string, streams term.Streams) (*model.Model, error) {
	m, _, err := findModel(argument, streams, func(name string) (*model.Model, v1alpha1.Precision, error) {
		m, err := model.Lookup(name)
		if err == nil {
			return m, "", nil
		}
		if near, stored, unknown := model.Find(name); unknown == nil && stored == near.Native {
			return near, "", nil
		}
		return nil, "", err
	})
	return m, err
}

// namedModel is the model of a number of parameters or of a name.
func namedModel(name string, find func(string) (*model.Model, v1alpha1.Precision, error)) (*model.Model, v1alpha1.Precision, error) {
	n, ok := model.ParseParameters(name)
	if !ok {
		return find(name)
	}
	m, err := model.FromParameters(n)
	if err != nil {
		return nil, "", fmt.Errorf("model %s: %w", name, err)
	}
	return m, m.Native, nil
}

// nameOfConfig is the name of a model that is only known by its file: the folder's of a config.json, else the file's.
func nameOfConfig(path string) string {
	if path == term.StdinName {
		return "stdin"
	}
	base := strings.TrimSuffix(filepath.Base(path), ".json")
	if folder := filepath.Base(filepath.Dir(path)); base == "config" && folder != "." && folder != string(filepath.Separator) {
		return folder
	}
	return base
}

// ModelFacts is what is shown of a model.
type ModelFacts struct {
	Name             string `json:"name"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"activeParameters"`
	// Parts are what the parameters are for.
	Parts  model.Parts `json:"parts"`
	Layers int32       `json:"layers"`
	// WeightBytes and KVBytesPerToken are at 16 bits.
	WeightBytes     int64                        `json:"weightBytes"`
	KVBytesPerToken int64                        `json:"kvBytesPerToken"`
	Native          v1alpha1.Precision           `json:"native"`
	WeightBytesIn   map[v1alpha1.Precision]int64 `json:"weightBytesByPrecision"`
	TensorDegrees   []int                        `json:"tensorDegrees"`
	Architecture    v1alpha1.Architecture        `json:"architecture"`
	Assumptions     []string                     `json:"assumptions,omitempty"`
}

// storedPrecisions are the formats of weights, from wide to narrow.
var storedPrecisions = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.NVFP4, v1alpha1.MXFP4, v1alpha1.INT4,
}

// widestTensor is the largest tensor-parallel degree that is listed: the GPUs of an NVL72 rack and of most hosts are fewer.
const widestTensor = 64

func factsOf(m *model.Model) ModelFacts {
	facts := ModelFacts{
		Name: m.Name, Parameters: m.Parameters(), ActiveParameters: m.ActiveParameters(), Parts: m.Parts(), Layers: m.Architecture.Layers,
		WeightBytes: m.WeightBytes(v1alpha1.BF16), KVBytesPerToken: m.KVBytesPerToken(v1alpha1.BF16), Native: m.Native,
		WeightBytesIn: map[v1alpha1.Precision]int64{}, TensorDegrees: engine.TensorDegrees(&m.Architecture, widestTensor),
		Architecture: m.Architecture, Assumptions: m.Assumptions,
	}
	for _, p := range storedPrecisions {
		facts.WeightBytesIn[p] = m.WeightBytes(p)
	}
	return facts
}

// printModel prints the facts one below the other: they are too many for a row.
func printModel(p *term.Page, f *ModelFacts, wide bool) {
	a := &f.Architecture
	rows := [][2]string{
		{"Name", f.Name},
		{"Parameters", term.Grouped(f.Parameters) + parts(&f.Parts)},
		{"Active", term.Grouped(f.ActiveParameters)},
		{"Layers", strconv.Itoa(int(f.Layers)) + experts(a.MoE)},
		{"Hidden", strconv.Itoa(int(a.HiddenSize))},
		{"Heads", fmt.Sprintf("%d query, %s", a.Attention.Heads, keyHeads(&a.Attention))},
		{"Context", tokens(a.MaxContext)},
		{"Native", string(f.Native)},
		{"Weights", term.InBoth(f.WeightBytes) + " at 16 bits"},
		{"KV cache", term.Grouped(f.KVBytesPerToken) + " bytes a token at 16 bits" + windowed(&a.Attention)},
	}
	if n := f.Parts.NextToken; n > 0 {
		rows = slices.Insert(rows, 3, [2]string{"Next token", term.Grouped(n) + " more for multi-token prediction, of which a token visits " + term.Grouped(f.Parts.ActiveNextToken)})
	}
	if n := f.Parts.Adapters; n > 0 {
		rows = slices.Insert(rows, 3, [2]string{"Adapters", term.Grouped(n) + " more in the checkpoint, of which one is merged into the weights"})
	}
	if wide {
		for _, in := range storedPrecisions {
			rows = append(rows, [2]string{"Weights in " + string(in), term.InBoth(f.WeightBytesIn[in])})
		}
		rows = append(rows, [2]string{"Tensor degrees", strings.Trim(fmt.Sprint(f.TensorDegrees), "[]")})
	}
	for _, assumption := range f.Assumptions {
		rows = append(rows, [2]string{"Assumed", assumption})
	}
	p.Sheet(rows)
}

func listModels(streams term.Streams, output term.Format) error {
	var all []ModelFacts
	for _, name := range model.Names() {
		m, err := model.Lookup(name)
		if err != nil {
			return err
		}
		all = append(all, factsOf(m))
	}
	return streams.Write(output, all, func(p *term.Page) {
		header := []string{"NAME", "PARAMETERS", "LAYERS", "WEIGHTS", "KV/TOKEN", "NATIVE", "CONTEXT"}
		if output.Wide() {
			header = append(header, "ACTIVE", "TENSOR DEGREES")
		}
		p.Table(header, term.Rows(all, func(f *ModelFacts) []any {
			row := []any{
				f.Name, term.Billions(f.Parameters), f.Layers, words.HumanBytes(f.WeightBytes), fmt.Sprintf("%d KiB", f.KVBytesPerToken>>10),
				f.Native, f.Architecture.MaxContext,
			}
			if output.Wide() {
				row = append(row, term.Billions(f.ActiveParameters), strings.Trim(fmt.Sprint(f.TensorDegrees), "[]"))
			}
			return row
		}))
	})
}

// parts says what of the parameters is not in layers.
func parts(p *model.Parts) string {
	text := ""
	for _, part := range []struct {
		name  string
		count int64
	}{{"embedding table", p.Embedding}, {"head", p.Head}, {"other", p.Other}} {
		if part.count > 0 {
			text += fmt.Sprintf(", %s %s", part.name, term.Grouped(part.count))
		}
	}
	return ", of which in layers " + term.Grouped(p.Layers) + text
}

func experts(moe *v1alpha1.MoE) string {
	if moe == nil {
		return ""
	}
	return fmt.Sprintf(", %d of %d experts a token", moe.ActiveExperts, moe.Experts)
}

func keyHeads(a *v1alpha1.Attention) string {
	if a.MLA != nil {
		return fmt.Sprintf("latent of %d and %d", a.MLA.KVLoraRank, a.MLA.QKRopeHeadDim)
	}
	return fmt.Sprintf("%d key and value, %d wide", a.KVHeads, a.HeadDim)
}

func windowed(a *v1alpha1.Attention) string {
	switch {
	case a.SlidingWindow == 0:
		return ""
	case a.FullAttentionEvery == 0:
		return fmt.Sprintf(", for at most %d tokens", a.SlidingWindow)
	default:
		return fmt.Sprintf(", after %d tokens a %s of it", a.SlidingWindow, ordinal(a.FullAttentionEvery))
	}
}

// ordinal names the part that one in n is.
func ordinal(n int32) string {
	names := map[int32]string{1: "whole", 2: "half", 3: "third", 4: "quarter"}
	return cmp.Or(names[n], fmt.Sprintf("%dth", n))
}

func tokens(n int32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens", n)
}
