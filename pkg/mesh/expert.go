package mesh

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// expertRule says how an engine lays expert-parallel groups over ranks that tensor, context and data parallelism already
// have: `over` are the dimensions whose ranks share the experts of a stage, and `strided` is set where the members of a
// group are the farthest apart among those ranks instead of neighbours.
type expertRule struct {
	over    []string
	strided bool
	// whole is set where a group is always all of those ranks.
	whole bool
}

// Sources: vLLM: the ep group is all ranks of one stage. SGLang: ranks range(first, end, moe_tp_size) of a tensor group,
// which holds the data and attention context ranks. TensorRT-LLM Mapping: moe_ep ranks are neighbours in a tensor group. Megatron: ep reuses ranks of cp and dp, tensor
// ranks keep their own. DeepSpeed: ep reuses ranks of dp. torchtitan: [pp, dp_replicate, efsdp, ep] over dp, cp and tp.
var expertRules = map[v1alpha1.Engine]expertRule{
	v1alpha1.EngineVLLM:        {over: []string{"tp", "cp", "dp"}, whole: true},
	v1alpha1.EngineSGLang:      {over: []string{"tp", "cp", "dp"}, strided: true},
	v1alpha1.EngineTensorRTLLM: {over: []string{"tp", "dp"}},
	v1alpha1.EngineMegatron:    {over: []string{"cp", "dp"}},
	v1alpha1.EngineDeepSpeed:   {over: []string{"dp"}},
	v1alpha1.EngineTorch:       {over: []string{"tp", "cp", "dp"}},
	v1alpha1.EngineJAX:         {over: []string{"tp", "cp", "dp"}},
	v1alpha1.EngineMPI:         {over: []string{"tp", "cp", "dp"}},
}

// ExpertGroups lists the expert-parallel groups of a size as the engine forms them from the mesh's other ranks, and the
// dimensions along which their members differ. A size of 0 means the engine's largest group. It refuses a size that the
// ranks cannot be divided into.
func (m *Mesh) ExpertGroups(engine v1alpha1.Engine, size int) ([][]int32, []string, error) {
	if engine == "" {
		engine = v1alpha1.EngineVLLM
	}
	rule, ok := expertRules[engine]
	if !ok {
		return nil, nil, fmt.Errorf("engine %q has no known expert groups", engine)
	}
	over := slices.DeleteFunc(slices.Clone(rule.over), func(name string) bool { return !slices.Contains(m.names, name) })
	wide, err := m.Groups(over...)
	if err != nil {
		return nil, nil, fmt.Errorf("expert groups of %s: %w", engine, err)
	}
	ranks := len(wide[0])
	switch {
	case size == 0:
		size = ranks
	case size < 0 || ranks%size != 0:
		return nil, nil, fmt.Errorf("expert size %d does not divide the %d ranks of %v that share the experts of a stage in %s", size, ranks, over, engine)
	case rule.whole && size != ranks:
		return nil, nil, fmt.Errorf("expert size %d: %s shares experts among all %d ranks of %v in a stage: set it to %d", size, engine, ranks, over, ranks)
	}
	groups := make([][]int32, 0, m.world/size)
	for _, group := range wide {
		groups = append(groups, divide(group, size, rule.strided)...)
	}
	// Groups of one wide group lie between those of others: listed by their first rank they follow the rule of Groups.
	slices.SortFunc(groups, func(a, b []int32) int { return int(a[0] - b[0]) })
	return groups, over, nil
}

// divide cuts a group into groups of a size: neighbours, or every len/size-th member.
func divide(group []int32, size int, strided bool) [][]int32 {
	if !strided {
		return slices.Collect(slices.Chunk(group, size))
	}
	step := len(group) / size
	groups := make([][]int32, step)
	for i, rank := range group {
		groups[i%step] = append(groups[i%step], rank)
	}
	return groups
}
