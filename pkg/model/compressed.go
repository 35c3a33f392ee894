package model

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// maxGroups bounds the groups of formats that are read.
const maxGroups = 32

// compressedTensors reads the groups of compressed-tensors, in the order of their names. The model's precision is the
// precision of the group with the fewest bits, which holds most of the weights.
func compressedTensors(f *fields, config map[string]any) quantization {
	list, _ := config["config_groups"].(map[string]any)
	q := quantization{head: true}
	fewest := int64(1 << 16)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		object, _ := list[name].(map[string]any)
		weights, ok := object["weights"].(map[string]any)
		if !ok || len(q.groups) == maxGroups {
			continue
		}
		style := text(object, "format")
		if style == "" {
			style = text(config, "format")
		}
		native, stored := compressedFormat(weights, style)
		targets, _ := object["targets"].([]any)
		g := group{format: stored, all: len(targets) == 0 || slices.Contains(targets, any("Linear"))}
		var unread int
		if g.targets, unread = parsePatterns(targets); unread > 0 {
			f.assume("%d targets of quantization_config.config_groups.%s could not be read: their modules are counted in 16 bits", unread, words.Echo(name))
		}
		if stored.bits < fewest {
			fewest, q.native = stored.bits, native
		}
		q.groups = append(q.groups, g)
	}
	if len(q.groups) == 0 {
		f.assume("quantization_config.config_groups names no weights: the checkpoint is taken for 16 bits")
	}
	return q
}

// compressedFormat is the format of a group's weights. Scales have 16 bits, those of blocks and of NVFP4 and MXFP4 as they
// are defined. Packed integers carry their shape, two 64-bit numbers a matrix.
func compressedFormat(weights map[string]any, style string) (v1alpha1.Precision, format) {
	bits := bound64(weights, "num_bits", 8, 2, 16)
	if bits == 4 && text(weights, "type") == "float" {
		if style == "mxfp4-pack-quantized" || bound64(weights, "group_size", 16, 1, maxWidth) == 32 {
			return v1alpha1.MXFP4, *formats[v1alpha1.MXFP4]
		}
		return v1alpha1.NVFP4, format{bits: 4, rows: 1, columns: 16, perBlock: 8, perMatrix: 8}
	}
	f := format{bits: bits}
	switch text(weights, "strategy") {
	case "tensor":
		f.perMatrix = 2
	case "channel":
		f.rows, f.perBlock = 1, 16
	case "group":
		f.rows, f.columns, f.perBlock = 1, bound64(weights, "group_size", 128, 1, maxWidth), 16
	case "block":
		f.rows, f.columns, f.perBlock = 128, 128, 16
		if rows, columns, ok := pair(weights, "block_structure"); ok {
			f.rows, f.columns = rows, columns
		}
	}
	if symmetric, given := weights["symmetric"].(bool); given && !symmetric && f.perBlock > 0 {
		f.perBlock += bits
	}
	if style == "pack-quantized" {
		f.perMatrix += 16
	}
	switch {
	case text(weights, "type") == "float":
		return v1alpha1.FP8, f
	case bits == 8:
		return v1alpha1.INT8, f
	default:
		return v1alpha1.INT4, f
	}
}
