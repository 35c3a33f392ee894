package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// quantization is the content of a quantization_config.
type quantization struct {
	native v1alpha1.Precision
	groups []group
	// head says that the method stores the head in its format too, unless it is left out.
	head bool
	// kept says that the groups are types of a file, which name the embedding table too.
	kept bool
}

// quantizers read a quantization_config by its quant_method. Sources: the quantization configurations of Hugging Face
// transformers (QuantizationConfigMixin and its kinds), compressed-tensors, NVIDIA Model Optimizer and AMD Quark.
var quantizers = map[string]func(*fields, map[string]any) quantization{
	"fp8":                fp8,
	"fbgemm_fp8":         fbgemm,
	"mxfp4":              mxfp4,
	"gptq":               gptq,
	"auto-round":         gptq,
	"auto_round":         gptq,
	"awq":                awq,
	"compressed-tensors": compressedTensors,
	"modelopt":           modelOptimizer,
	"modelopt_fp4":       modelOptimizer,
	"nvfp4":              modelOptimizer,
	"quark":              quark,
	"bitsandbytes":       bitsAndBytes,
	"gguf":               gguf,
}

// exclusions are the fields that name what is left out.
var exclusions = []string{"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "exclude", "llm_int8_skip_modules"}

// readStorage reads how the weights of an architecture are stored, and in what precision most of them.
func readStorage(f *fields, a *v1alpha1.Architecture) (v1alpha1.Precision, *storage) {
	config, ok := f.object("quantization_config")
	if !ok {
		config, ok = f.object("compression_config")
	}
	if !ok {
		return dtype(f), nil
	}
	method, _ := config["quant_method"].(string)
	read, ok := quantizers[method]
	if !ok {
		f.assume("quantization_config.quant_method %q is not known: the checkpoint is taken for 16 bits", words.Echo(method))
		return dtype(f), nil
	}
	q := read(f, config)
	if len(q.groups) == 0 {
		return dtype(f), nil
	}
	left, unread := parsePatterns(leftOut(config))
	if unread > 0 {
		f.assume("%d names that quantization_config leaves out could not be read: their modules are counted in %s", unread, q.native)
	}
	s := &storage{cache: cacheScheme(config), kept: q.kept}
	s.assign(int(min(max(0, a.Layers), maxLayers)), q.groups, &left)
	if at := slices.IndexFunc(q.groups, func(g group) bool { return g.all || g.targets.match("lm_head") }); q.head && at >= 0 && !left.match("lm_head") {
		s.head = &s.formats[at]
	}
	if at := slices.IndexFunc(q.groups, func(g group) bool { return g.targets.match(EmbeddingTable) }); q.kept && at >= 0 {
		s.embedding = &s.formats[at]
	}
	return q.native, s
}

// leftOut returns the names of the modules that a quantization_config leaves out, also of Model Optimizer's own file within it.
func leftOut(config map[string]any) []any {
	var names []any
	inner, _ := config["quantization"].(map[string]any)
	for _, object := range []map[string]any{config, inner} {
		for _, field := range exclusions {
			list, _ := object[field].([]any)
			names = append(names, list...)
		}
	}
	return names
}

// one returns a quantization with one format for everything.
func one(native v1alpha1.Precision, f format) quantization {
	return quantization{native: native, groups: []group{{format: f, all: true}}}
}

// bound64 reads a number of a quantization_config from low to high, else a default.
func bound64(object map[string]any, name string, byDefault, low, high int64) int64 {
	if n, ok := whole(object[name]); ok && n >= low && n <= high {
		return n
	}
	return byDefault
}

func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}

// pair reads a list of two positive numbers.
func pair(object map[string]any, name string) (rows, columns int64, ok bool) {
	list, _ := object[name].([]any)
	if len(list) != 2 {
		return 0, 0, false
	}
	rows, one := whole(list[0])
	columns, two := whole(list[1])
	return rows, columns, one && two && rows > 0 && columns > 0
}

// fp8 reads one 32-bit scale for each block (8 bits where scale_fmt is ue8m0 and stored so, with experts in MXFP4), or
// one for each matrix; static activations have one more.
func fp8(f *fields, config map[string]any) quantization {
	if rows, columns, ok := pair(config, "weight_block_size"); ok {
		block := format{bits: 8, rows: rows, columns: columns, perBlock: 32}
		if f.text("expert_dtype") != "fp4" {
			return one(v1alpha1.FP8, block)
		}
		block.perBlock = 8
		experts := group{format: *formats[v1alpha1.MXFP4], all: true, expertsOnly: true}
		return quantization{native: v1alpha1.MXFP4, groups: []group{experts, {format: block, all: true}}}
	}
	scales := int64(4)
	if text(config, "activation_scheme") == "static" {
		scales = 8
	}
	return one(v1alpha1.FP8, format{bits: 8, perMatrix: scales})
}

// fbgemm reads one 32-bit scale for each output.
func fbgemm(_ *fields, _ map[string]any) quantization {
	return one(v1alpha1.FP8, format{bits: 8, rows: 1, perBlock: 32})
}

// mxfp4 reads GPT-OSS's method, which stores routed experts alone in MXFP4.
func mxfp4(_ *fields, _ map[string]any) quantization {
	q := one(v1alpha1.MXFP4, *formats[v1alpha1.MXFP4])
	q.groups[0].expertsOnly = true
	return q
}

// gptq reads 16-bit scales, zero points as wide as a weight, and with each input the 32-bit number of its group.
func gptq(f *fields, config map[string]any) quantization {
	q := grouped(f, config)
	for i := range q.groups {
		q.groups[i].format.perInput = 4
	}
	q.head, _ = config["lm_head"].(bool)
	return q
}

func awq(f *fields, config map[string]any) quantization { return grouped(f, config) }

// grouped reads integers with a 16-bit scale and a zero point for each group of inputs; group_size -1 means one group.
func grouped(f *fields, config map[string]any) quantization {
	bits := bound64(config, "bits", bound64(config, "w_bit", 4, 2, 8), 2, 8)
	columns := bound64(config, "group_size", bound64(config, "q_group_size", 128, -1, maxWidth), -1, maxWidth)
	native := v1alpha1.INT4
	switch {
	case bits == 8:
		native = v1alpha1.INT8
	case bits != 4:
		f.assume("quantization_config.bits is %d: its bytes are counted as they are, its arithmetic as that of INT4", bits)
	}
	return one(native, format{bits: bits, rows: 1, columns: max(0, columns), perBlock: 16 + bits})
}

// modelOptimizer reads NVIDIA's method: one algorithm for everything, or one for each module that quantized_layers names.
func modelOptimizer(f *fields, config map[string]any) quantization {
	if inner, ok := config["quantization"].(map[string]any); ok {
		config = inner
	}
	algorithm := strings.ToUpper(text(config, "quant_algo"))
	if algorithm == "MIXED_PRECISION" {
		return mixedOptimizer(f, config)
	}
	native, stored, ok := optimizerFormat(algorithm)
	if !ok {
		f.assume("quantization_config.quant_algo %q is not known: counted as NVFP4", words.Echo(algorithm))
	}
	q := one(native, stored)
	q.head = true
	return q
}

// mixedOptimizer reads the algorithm of each module in quantized_layers; what has none there keeps 16 bits. The model's precision is that of
// the fewest bits, which holds most of the weights. Where the names are in config_groups alone, they are read as compressed-tensors has them.
func mixedOptimizer(f *fields, config map[string]any) quantization {
	layers, ok := config["quantized_layers"].(map[string]any)
	if !ok {
		return compressedTensors(f, config)
	}
	names := map[string][]any{}
	for name, v := range layers {
		object, _ := v.(map[string]any)
		algorithm := strings.ToUpper(text(object, "quant_algo"))
		names[algorithm] = append(names[algorithm], name)
	}
	q := quantization{head: true}
	fewest := int64(sixteenBits.bits)
	for _, algorithm := range slices.Sorted(maps.Keys(names)) {
		native, stored, ok := optimizerFormat(algorithm)
		if !ok || len(q.groups) == maxGroups {
			f.assume("quantization_config.quantized_layers has quant_algo %q, which is not known: its modules are counted in 16 bits", words.Echo(algorithm))
			continue
		}
		targets, unread := parsePatterns(names[algorithm])
		if unread > 0 {
			f.assume("%d names of quantization_config.quantized_layers could not be read: their modules are counted in 16 bits", unread)
		}
		if stored.bits < fewest {
			fewest, q.native = stored.bits, native
		}
		q.groups = append(q.groups, group{format: stored, targets: targets})
	}
	return q
}

// optimizerFormat is how an algorithm of Model Optimizer stores a matrix: NVFP4 with two 32-bit scales beside the scales of its blocks, FP8 with
// two scales, MXFP4 and MXFP8 with the scales of their blocks. It is NVFP4 where the algorithm is not known, and where none is named.
func optimizerFormat(algorithm string) (native v1alpha1.Precision, stored format, ok bool) {
	switch {
	case strings.Contains(algorithm, "MXFP4"):
		return v1alpha1.MXFP4, *formats[v1alpha1.MXFP4], true
	case strings.HasPrefix(algorithm, "MXFP8"):
		return v1alpha1.FP8, format{bits: 8, rows: 1, columns: 32, perBlock: 8}, true
	case strings.HasPrefix(algorithm, "FP8"):
		return v1alpha1.FP8, format{bits: 8, perMatrix: 8}, true
	default:
		known := strings.Contains(algorithm, "NVFP4") || algorithm == ""
		return v1alpha1.NVFP4, format{bits: 4, rows: 1, columns: 16, perBlock: 8, perMatrix: 8}, known
	}
}

// quark reads AMD's method: the weights of global_quant_config.
func quark(f *fields, config map[string]any) quantization {
	global, _ := config["global_quant_config"].(map[string]any)
	weight, _ := global["weight"].(map[string]any)
	switch kind := text(weight, "dtype"); kind {
	case "fp4":
		return one(v1alpha1.MXFP4, *formats[v1alpha1.MXFP4])
	case "fp8_e4m3":
		return one(v1alpha1.FP8, format{bits: 8, perMatrix: 8})
	default:
		f.assume("quantization_config.global_quant_config.weight.dtype %q is not known: counted as FP8", words.Echo(kind))
		return one(v1alpha1.FP8, *formats[v1alpha1.FP8])
	}
}

// bitsAndBytes reads 4-bit blocks of 64 weights with a 32-bit scale, or with an 8-bit scale and one 32-bit scale for 256
// of those; or 8 bits with a 32-bit scale for each output.
func bitsAndBytes(_ *fields, config map[string]any) quantization {
	if four, _ := config["load_in_4bit"].(bool); !four {
		return one(v1alpha1.INT8, format{bits: 8, rows: 1, perBlock: 32})
	}
	scale := int64(32)
	if double, _ := config["bnb_4bit_use_double_quant"].(bool); double {
		scale = 8
	}
	return one(v1alpha1.INT4, format{bits: 4, rows: 1, columns: 64, perBlock: scale})
}

// dtype returns the precision of weights that no method stores.
func dtype(f *fields) v1alpha1.Precision {
	for _, field := range []string{"torch_dtype", "dtype"} {
		if p, ok := nativeByDtype[f.text(field)]; ok {
			return p
		}
	}
	f.assume("torch_dtype is not given: the checkpoint is taken for BF16")
	return v1alpha1.BF16
}

var nativeByDtype = map[string]v1alpha1.Precision{
	"bfloat16": v1alpha1.BF16, "float16": v1alpha1.FP16, "float32": v1alpha1.FP32,
}
