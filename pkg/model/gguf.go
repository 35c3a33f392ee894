package model

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// ggufTypes are the types of GGUF that the catalogue's files have, as the blocks that they are stored in, and the format that they are
// computed in. Source: the quantisation blocks of ggml-common.h in ggml-org/ggml.
var ggufTypes = map[string]struct {
	native v1alpha1.Precision
	block  Block
}{
	"MXFP4": {v1alpha1.MXFP4, Block{32, 17}},
	"Q8_0":  {v1alpha1.INT8, Block{32, 34}},
}

// gguf reads what the catalogue says of a GGUF file, which has no quantization_config: for each type the modules that are stored in it,
// the embedding table and the head among them. The type of the fewest bits is that of most weights.
func gguf(f *fields, config map[string]any) quantization {
	types, _ := config["types"].(map[string]any)
	q, fewest := quantization{head: true, kept: true}, Block{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		of, known := ggufTypes[name]
		targets, _ := types[name].([]any)
		read, unread := parsePatterns(targets)
		if !known || unread > 0 {
			f.assume("quantization_config.types.%s could not be read: its modules are counted in 16 bits", words.Echo(name))
			continue
		}
		q.groups = append(q.groups, group{format: of.block.format(), targets: read})
		if fewest == (Block{}) || fewest.heavier(of.block) {
			fewest, q.native = of.block, of.native
		}
	}
	return q
}
