package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// storage is how a published checkpoint stores its weights, module by module and layer by layer.
type storage struct {
	// cache is the format for whose KV cache the checkpoint carries scales; empty where it carries none.
	cache   v1alpha1.Precision
	formats []format
	// assigned is, for each module and layer, the number of its format from 1; 0 is 16 bits.
	assigned [modules][]uint8
	// kept says that a file stores each module in blocks of its own, whatever the format of most weights.
	kept bool
	// first is, for each layer, the index of the first layer that is stored like it.
	first []int
	// head is the format of the output head, embedding that of the embedding table; nil is 16 bits.
	head, embedding *format
}

// like returns the first layer that is stored like a layer; -1 for a layer that nothing is known of.
func (s *storage) like(layer int) int {
	if layer >= len(s.first) {
		return -1
	}
	return s.first[layer]
}

func (s *storage) of(m module, layer int, plain *format) *format {
	if layer >= len(s.assigned[m]) || s.assigned[m][layer] == 0 {
		return plain
	}
	return &s.formats[s.assigned[m][layer]-1]
}

// assign gives every quantizable module of every layer the first group whose targets name it, unless it is left out.
func (s *storage) assign(layers int, groups []group, left *patterns) {
	for _, g := range groups {
		s.formats = append(s.formats, g.format)
	}
	for m := query; m < modules; m++ {
		if !m.quantizable() {
			continue
		}
		s.assigned[m] = make([]uint8, layers)
		for layer := range layers {
			if left.matchModule(m, layer) {
				continue
			}
			for i, g := range groups {
				if g.applies(m, layer) {
					s.assigned[m][layer] = uint8(i + 1)
					break
				}
			}
		}
	}
	s.group(layers)
}

// group finds the layers that are stored alike.
func (s *storage) group(layers int) {
	known := map[[modules]uint8]int{}
	s.first = make([]int, layers)
	for layer := range layers {
		var formats [modules]uint8
		for m, of := range &s.assigned {
			if len(of) > 0 {
				formats[m] = of[layer]
			}
		}
		first, ok := known[formats]
		if !ok {
			first, known[formats] = layer, layer
		}
		s.first[layer] = first
	}
}

// group is a format and the modules that it applies to.
type group struct {
	format format
	// all says that targets name every module.
	all     bool
	targets patterns
	// expertsOnly restricts the format to routed experts.
	expertsOnly bool
}

func (g *group) applies(m module, layer int) bool {
	if g.expertsOnly && !m.routed() {
		return false
	}
	return g.all || g.targets.matchModule(m, layer)
}

// checkpointBytes returns the bytes of the published checkpoint: the weights in its precision and its
// multi-token-prediction modules, without file headers. A module has a layer like the last one, a projection of two
// streams into one, three norms, and copies of the embedding table and the head. Source: README_WEIGHTS.md of
// deepseek-ai/DeepSeek-V3.
func (m *Model) checkpointBytes() int64 {
	module := add(m.LayerWeightBytes(int(m.Architecture.Layers)-1, m.Native), storedPlain(m.nextTokenWeights(), m.Native))
	return add(m.WeightBytes(m.Native), mul(int64(m.NextTokenModules), module))
}

// checkpointParameters counts the weights of the published checkpoint: Parameters and the multi-token-prediction modules.
func (m *Model) checkpointParameters() int64 {
	module := add(m.layerParameters(int(m.Architecture.Layers)-1), m.nextTokenWeights())
	return add(m.Parameters(), mul(int64(m.NextTokenModules), module))
}

// nextTokenWeights counts what a multi-token-prediction module has beside its layer.
func (m *Model) nextTokenWeights() int64 {
	return add(mul(2, m.embeddingParameters()), m.nextTokenJoint())
}

// nextTokenJoint counts the projection of two streams into one and the norms around it, which a multi-token-prediction module has.
func (m *Model) nextTokenJoint() int64 {
	hidden := int64(m.Architecture.HiddenSize)
	return add(mul(2, mul(hidden, hidden)), mul(3, m.FinalNormParameters()))
}

// checkpointScales counts the scales of blocks in the published checkpoint and its modules, which hubs count as parameters.
func (m *Model) checkpointScales() int64 {
	l := m.layout(m.Native)
	if l.published == nil {
		return 0
	}
	last := m.layerScales(int(m.Architecture.Layers)-1, &l)
	return add(m.overLayers(m.Native, func(layer int) int64 { return m.layerScales(layer, &l) }), mul(int64(m.NextTokenModules), last))
}

func (m *Model) layerScales(layer int, l *layout) int64 {
	return m.overTensors(layer, func(t tensor) int64 {
		f := l.of(t.module, layer)
		if f.perBlock == 0 {
			return 0
		}
		return mul(t.count, f.blocks(t.out, t.in))
	})
}

// BlockSide returns the side of the square blocks that share a scale in a precision, in weights; 1 where a scale is for
// less than two rows. Tensor ranks cannot cut through a block.
func (m *Model) BlockSide(p v1alpha1.Precision) int {
	l := m.layout(p)
	side := int(max(1, l.quantized.rows))
	if l.published != nil {
		side = 1
		for i := range l.published.formats {
			side = max(side, int(l.published.formats[i].rows))
		}
	}
	return side
}

// CutsBlocks says whether so many tensor ranks cut through blocks that share a scale in a matrix of some layer, routed
// experts left out, whose width may be split otherwise. Source: validate_fp8_block_shape of vLLM and SGLang, which refuse
// such ranks.
func (m *Model) CutsBlocks(p v1alpha1.Precision, ranks int) bool {
	if ranks <= 1 || m.BlockSide(p) <= 1 {
		return false
	}
	l := m.layout(p)
	var buffer tensorBuffer
	for _, run := range m.LayerRuns(p) {
		list := layerTensors(&m.Architecture, run.First, &buffer)
		for i := range list {
			if t := &list[i]; !t.module.routed() && t.cut(l.of(t.module, run.First), ranks) {
				return true
			}
		}
	}
	return false
}

// cut says whether so many ranks cut through blocks of the format.
func (t *tensor) cut(f *format, ranks int) bool {
	out, in := t.perRank(ranks)
	switch t.split {
	case byOutput:
		return f.rows > 1 && out%f.rows != 0
	case byInput:
		return f.rows > 1 && f.columns > 1 && in%f.columns != 0
	default:
		return false
	}
}
