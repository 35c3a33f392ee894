package checkpoint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Quantised checkpoints store their weights packed into wider integers, with tensors of scales beside them. What a tensor is
// follows from its name and type; the tables name the tool whose convention it is.

// auxiliaries are the ends of names of tensors that hold no weights of the model.
var auxiliaries = []string{
	// DeepSeek's FP8, compressed-tensors, NVIDIA ModelOpt.
	".weight_scale_inv", ".weight_scale", ".weight_scale_2", ".weight_global_scale", ".weight_zero_point", ".weight_shape",
	".input_scale", ".input_global_scale", ".output_scale", ".k_scale", ".v_scale", ".q_scale", ".kv_scale",
	// GPTQ and AWQ.
	".qzeros", ".scales", ".g_idx",
	// bitsandbytes.
	".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map", ".bitsandbytes__nf4", ".bitsandbytes__fp4", ".SCB",
	// GPT-OSS.
	"_scales",
	// ONNX Runtime's MatMulNBits and QDQ form.
	"_scale", "_zero_point", "_zero_points", "_zp",
	// Buffers that are computed from the configuration.
	".inv_freq", "rope_freqs.weight", ".masked_bias", "position_ids",
}

// packed is how a format packs weights.
type packed struct {
	// suffix ends the tensor's name, stored is its type.
	suffix, stored string
	// beside is a tensor that must be there too, with its type, in place of the suffix; nothing where none is needed.
	beside, besideType string
	// perByte is how many weights a byte holds.
	perByte   int64
	precision v1alpha1.Precision
}

// packings are tried in order.
var packings = []packed{
	// GPT-OSS: blocks of 32 values of MXFP4 with scales of 8 bits.
	{suffix: "_blocks", stored: "U8", beside: "_scales", besideType: "U8", perByte: 2, precision: v1alpha1.MXFP4},
	// GPTQ and AWQ: eight values of 4 bits in 32.
	{suffix: ".qweight", stored: "I32", perByte: 2, precision: v1alpha1.INT4},
	// compressed-tensors: nvfp4-pack-quantized and pack-quantized.
	{suffix: ".weight_packed", stored: "U8", beside: ".weight_scale", besideType: "F8_E4M3", perByte: 2, precision: v1alpha1.NVFP4},
	{suffix: ".weight_packed", stored: "U8", beside: ".weight_scale", besideType: "U8", perByte: 2, precision: v1alpha1.MXFP4},
	{suffix: ".weight_packed", stored: "I32", perByte: 2, precision: v1alpha1.INT4},
	// NVIDIA ModelOpt's NVFP4.
	{suffix: ".weight", stored: "U8", beside: ".weight_scale", besideType: "F8_E4M3", perByte: 2, precision: v1alpha1.NVFP4},
	// Microscaling with the type of its scales told, and without.
	{suffix: ".weight", stored: "I8", beside: ".scale", besideType: "F8_E8M0", perByte: 2, precision: v1alpha1.MXFP4},
	{suffix: ".weight", stored: "U8", beside: ".weight_scale", besideType: "U8", perByte: 2, precision: v1alpha1.MXFP4},
	// bitsandbytes in 4 bits.
	{suffix: ".weight", stored: "U8", beside: ".weight.absmax", perByte: 2, precision: v1alpha1.INT4},
	// ONNX Runtime's MatMulNBits.
	{suffix: "_Q4", stored: "UINT8", perByte: 2, precision: v1alpha1.INT4},
	{suffix: "_quant", stored: "UINT8", perByte: 2, precision: v1alpha1.INT4},
}

// precisions are the formats of types where nothing is packed. Types that hold no weights are absent. A type of GGUF has
// the narrowest format that is not narrower than the type.
var precisions = map[string]v1alpha1.Precision{
	"F64": v1alpha1.FP32, "F32": v1alpha1.FP32, "F16": v1alpha1.FP16, "BF16": v1alpha1.BF16,
	"F8_E4M3": v1alpha1.FP8, "F8_E5M2": v1alpha1.FP8, "F8_E4M3FNUZ": v1alpha1.FP8, "F8_E5M2FNUZ": v1alpha1.FP8,
	"F4": v1alpha1.NVFP4, "F6_E2M3": v1alpha1.FP8, "F6_E3M2": v1alpha1.FP8, "I8": v1alpha1.INT8, "U8": v1alpha1.INT8,

	"DOUBLE": v1alpha1.FP32, "FLOAT": v1alpha1.FP32, "FLOAT16": v1alpha1.FP16, "BFLOAT16": v1alpha1.BF16,
	"FLOAT8E4M3FN": v1alpha1.FP8, "FLOAT8E4M3FNUZ": v1alpha1.FP8, "FLOAT8E5M2": v1alpha1.FP8, "FLOAT8E5M2FNUZ": v1alpha1.FP8,
	"FLOAT4E2M1": v1alpha1.NVFP4, "INT8": v1alpha1.INT8, "UINT8": v1alpha1.INT8,
	"INT4": v1alpha1.INT4, "UINT4": v1alpha1.INT4, "INT2": v1alpha1.INT4, "UINT2": v1alpha1.INT4,

	"Q8_0": v1alpha1.INT8, "Q8_1": v1alpha1.INT8, "Q8_K": v1alpha1.INT8, "Q6_K": v1alpha1.INT8,
	"Q5_0": v1alpha1.INT8, "Q5_1": v1alpha1.INT8, "Q5_K": v1alpha1.INT8,
	"Q4_0": v1alpha1.INT4, "Q4_1": v1alpha1.INT4, "Q4_K": v1alpha1.INT4, "IQ4_NL": v1alpha1.INT4, "IQ4_XS": v1alpha1.INT4,
	"Q3_K": v1alpha1.INT4, "IQ3_S": v1alpha1.INT4, "IQ3_XXS": v1alpha1.INT4,
	"Q2_K": v1alpha1.INT4, "IQ2_S": v1alpha1.INT4, "IQ2_XS": v1alpha1.INT4, "IQ2_XXS": v1alpha1.INT4, "Q2_0": v1alpha1.INT4, "TQ2_0": v1alpha1.INT4,
	"IQ1_S": v1alpha1.INT4, "IQ1_M": v1alpha1.INT4, "TQ1_0": v1alpha1.INT4, "Q1_0": v1alpha1.INT4,
	"MXFP4": v1alpha1.MXFP4, "NVFP4": v1alpha1.NVFP4,
}

// assign counts the weights of every tensor and finds the format that most are stored in. Tensors must be sorted.
func (c *Checkpoint) assign() {
	types := make(map[string]string, len(c.Tensors))
	for i := range c.Tensors {
		types[c.Tensors[i].Name] = c.Tensors[i].Type
	}
	sums := map[v1alpha1.Precision]int64{}
	for i := range c.Tensors {
		t := &c.Tensors[i]
		var stored v1alpha1.Precision
		if t.Parameters, stored = weightsOf(t, types); t.Parameters > 0 {
			sums[stored] = add(sums[stored], t.Parameters)
		}
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b v1alpha1.Precision) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	if len(order) > 0 {
		c.Precision = order[0]
	}
}

// weightsOf counts the weights in a tensor, and says in which format they are stored.
func weightsOf(t *Tensor, types map[string]string) (int64, v1alpha1.Precision) {
	for i := range packings {
		p := &packings[i]
		stem, found := strings.CutSuffix(t.Name, p.suffix)
		if !found || t.Type != p.stored {
			continue
		}
		kind, there := types[stem+p.beside]
		if p.beside == "" || there && (p.besideType == "" || kind == p.besideType) {
			weights, _ := product([]int64{t.Bytes, p.perByte})
			return weights, p.precision
		}
	}
	precision, known := precisions[t.Type]
	if !known || isAuxiliary(t, types) {
		return 0, ""
	}
	return t.Elements, precision
}

// isAuxiliary says whether a tensor holds scales or a buffer. A name that ends in `.scale` may be a norm's weight, unless
// there is a weight beside it.
func isAuxiliary(t *Tensor, types map[string]string) bool {
	for _, suffix := range auxiliaries {
		if strings.HasSuffix(t.Name, suffix) {
			return true
		}
	}
	stem, found := strings.CutSuffix(t.Name, ".scale")
	_, beside := types[stem+".weight"]
	return found && beside
}
