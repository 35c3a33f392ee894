package views

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Preset is how an engine counts its ranks. Degrees are the engine's own, by the names of dimensions: tp, pp, dp, cp, ep, dcp
// (decode context) and etp (expert tensor).
type Preset struct {
	// Name is the name of the engine or framework.
	Name string
	// Engine is the engine whose plans the preset is for.
	Engine v1alpha1.Engine
	// Order lists the dimensions that have ranks of their own, fastest first.
	Order string
	// Multiply are the engine's degrees whose product is the world.
	Multiply []string
	// Divide lists, by a degree, the degrees that divide it. The engine's number of the divided degree counts them already, so
	// in the mesh the divided dimension is so many times smaller, and the dividing ones have ranks of their own.
	Divide map[string][]string
	// Fills is the degree that takes what the others leave of the world where it is not given.
	Fills string
	// Reuse are degrees that lay groups over ranks that other dimensions have.
	Reuse []string
	// whole is set where the degrees that divide another one are 1 or together as large as the divided one.
	whole bool
	// folding is set where the experts' layers have a mesh of their own.
	folding *folding
}

// presets are the engines. Sources: vLLM config/parallel.py and distributed/parallel_state.py (world = pp x pcp x tp, times
// dp; ep and dcp reuse ranks); SGLang dp_attention.compute_dp_attention_world_info (tp counts dp x cp x attention tensor
// ranks, in that order) and parallel_state (world = tp x pp); TensorRT-LLM Mapping (world = tp x cp x pp, attention data
// parallelism inside tp); Megatron-LM RankGenerator; DeepSpeed ProcessTopology axes [pipe, data, model]; torchtitan
// ParallelDims [pp, dp_replicate, dp_shard, cp, tp] and [pp, dp_replicate, efsdp, ep, etp]. Torch, JAX and MPI leave the
// mesh to the program.
var presets = []Preset{
	{Name: "vLLM", Order: "tp-cp-pp-dp", Multiply: []string{"tp", "cp", "pp", "dp"}, Reuse: []string{"ep", "dcp"}},
	{Name: "SGLang", Order: "tp-cp-dp-pp", Multiply: []string{"tp", "pp"}, Divide: map[string][]string{"tp": {"cp", "dp"}}, Reuse: []string{"ep"}},
	{Name: "TensorRT-LLM", Order: "tp-dp-cp-pp", Multiply: []string{"tp", "cp", "pp"}, Divide: map[string][]string{"tp": {"dp"}}, whole: true, Reuse: []string{"ep"}},
	{Name: "Megatron", Order: "tp-cp-ep-dp-pp", Multiply: []string{"tp", "cp", "dp", "pp"}, Fills: "dp", Reuse: []string{"ep", "etp"}, folding: &megatron},
	{Name: "DeepSpeed", Order: "tp-dp-pp", Multiply: []string{"tp", "dp", "pp"}, Fills: "dp", Reuse: []string{"ep"}},
	{Name: "Torch", Order: "tp-cp-dp-pp", Multiply: []string{"tp", "cp", "dp", "pp"}, Fills: "dp", Reuse: []string{"ep"}},
	{
		Name: "torchtitan", Order: "tp-cp-dp_shard-dp_replicate-pp", Multiply: []string{"tp", "cp", "dp_shard", "dp_replicate", "pp"},
		Fills: "dp_shard", Reuse: []string{"ep", "etp"}, folding: &titan,
	},
	{Name: "JAX", Order: "tp-cp-dp-pp", Multiply: []string{"tp", "cp", "dp", "pp"}, Fills: "dp", Reuse: []string{"ep"}},
	{Name: "MPI", Order: "tp-cp-dp-pp", Multiply: []string{"tp", "cp", "dp", "pp"}, Fills: "dp", Reuse: []string{"ep"}},
}

// PresetNames returns the names of the presets.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].Name
	}
	return names
}

// LookupPreset finds a preset by its name.
func LookupPreset(name string) (*Preset, error) {
	for i := range presets {
		if presets[i].Name != name {
			continue
		}
		made := presets[i]
		made.Divide = maps.Clone(made.Divide)
		of, _, err := engine.Parse(name)
		if err != nil {
			return nil, err
		}
		made.Engine = of.Name
		return &made, nil
	}
	return nil, fmt.Errorf("engine %q has no known order of ranks: use one of %s", name, strings.Join(PresetNames(), ", "))
}

// Views lays an engine's degrees out on so many devices; a degree that is not given is 1. It refuses degrees that the
// engine does not have, that do not multiply to the world, or that do not divide the degree which they are a division of; the
// error names the numbers.
func (p *Preset) Views(world int, degrees map[string]int) (*Views, error) {
	if err := p.checkNames(degrees); err != nil {
		return nil, err
	}
	sizes, err := p.sizes(degrees)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	dense, err := p.dense(world, sizes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	v := &Views{Preset: p, Dense: dense, expert: max(1, degrees["ep"]), decode: max(1, degrees["dcp"])}
	if p.folding != nil && (degrees["ep"] > 0 || degrees["etp"] > 0) {
		expertTensor := cmp.Or(degrees["etp"], dense.Size(p.folding.tensor))
		if v.Expert, err = p.folding.of(dense, expertTensor, v.expert); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if _, err := v.Kinds(); err != nil { // refuses degrees that reuse ranks and cannot
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return v, nil
}

func (p *Preset) dense(world int, sizes map[string]int) (*mesh.Mesh, error) {
	if p.Fills != "" {
		return Filling(world, p.Order, p.Fills, sizes)
	}
	return mesh.ForWorld(world, p.Order, sizes)
}

// names are all degrees of the engine.
func (p *Preset) names() []string {
	names := slices.Clone(p.Multiply)
	for _, parts := range p.Divide {
		names = append(names, parts...)
	}
	names = append(names, p.Reuse...)
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *Preset) checkNames(degrees map[string]int) error {
	known := p.names()
	for _, name := range slices.Sorted(maps.Keys(degrees)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s has no degree %q: use %s", p.Name, name, strings.Join(known, ", "))
		}
		if degrees[name] < 1 {
			return fmt.Errorf("%s: %s is %d: it must be at least 1", p.Name, name, degrees[name])
		}
	}
	return nil
}

// sizes are the sizes of the mesh's dimensions: the engine's degrees less what lies inside of them.
func (p *Preset) sizes(degrees map[string]int) (map[string]int, error) {
	sizes := map[string]int{}
	for name, size := range degrees {
		if !slices.Contains(p.Reuse, name) {
			sizes[name] = size
		}
	}
	for whole, parts := range p.Divide {
		product := 1
		texts := make([]string, 0, len(parts))
		for _, part := range parts {
			size := max(1, degrees[part])
			if size > mesh.MaxWorldSize/product {
				return nil, fmt.Errorf("%s is %d: it is a division of %s, which is %d", part, size, whole, max(1, degrees[whole]))
			}
			product *= size
			texts = append(texts, fmt.Sprintf("%s=%d", part, size))
		}
		size := max(1, degrees[whole])
		if size%product != 0 {
			return nil, fmt.Errorf("%s does not divide %s=%d, which counts those ranks already: make %s a multiple of %d", strings.Join(texts, " x "), whole, size, whole, product)
		}
		if p.whole && product > 1 && product != size {
			return nil, fmt.Errorf("%s with %s=%d: set it to 1 or to %d", strings.Join(texts, " x "), whole, size, size)
		}
		sizes[whole] = size / product
	}
	return sizes, nil
}
