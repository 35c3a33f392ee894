package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// format is how a matrix is stored: its weights, and what goes with them. A block of weights that share a scale is some rows
// (outputs) by some columns (inputs), where 0 is all of them.
type format struct {
	bits          int64
	rows, columns int64
	// perBlock is the bits of scale and zero point; 0 where there are none.
	perBlock int64
	// perInput and perMatrix are bytes that go with each column and each matrix: the order of columns, a scale for all.
	perInput, perMatrix int64
	// simple says that there are only weights, of whole bytes.
	simple bool
}

// blocks counts the blocks of a matrix.
func (f *format) blocks(out, in int64) int64 {
	count := func(size, block int64) int64 {
		if block <= 0 {
			return min(1, max(0, size))
		}
		return ceil(size, block)
	}
	return mul(count(out, f.rows), count(in, f.columns))
}

// bytes returns the bytes of some matrices.
func (f *format) bytes(count, out, in int64) int64 {
	weights := mul(count, mul(out, in))
	if f.simple {
		return mul(weights, f.bits/8)
	}
	sum := mul(weights, f.bits/8)
	if rest := f.bits % 8; rest > 0 {
		sum = add(sum, ceil(mul(weights, rest), 8))
	}
	if f.perBlock > 0 {
		sum = add(sum, ceil(mul(count, mul(f.blocks(out, in), f.perBlock)), 8))
	}
	return add(sum, mul(count, add(mul(max(0, in), f.perInput), f.perMatrix)))
}

// formats are the formats as engines apply them to a checkpoint in 16 bits, and as they are published where nothing more
// is known. Both leave out scales for each tensor or channel. INT4 has a 16-bit scale and a 4-bit zero point for each 128
// weights (GPTQ and AWQ checkpoints), MXFP4 an 8-bit scale for each 32 (OCP Microscaling Formats 1.0), NVFP4 one for each
// 16. FP4 is a rate and not a storage format: it counts as the larger of the two formats that compute at it.
var formats = map[v1alpha1.Precision]*format{
	v1alpha1.FP32:  {bits: 32, simple: true},
	v1alpha1.FP16:  {bits: 16, simple: true},
	v1alpha1.BF16:  {bits: 16, simple: true},
	v1alpha1.FP8:   {bits: 8},
	v1alpha1.INT8:  {bits: 8, simple: true},
	v1alpha1.INT4:  {bits: 4, rows: 1, columns: 128, perBlock: 20},
	v1alpha1.MXFP4: {bits: 4, rows: 1, columns: 32, perBlock: 8},
	v1alpha1.NVFP4: {bits: 4, rows: 1, columns: 16, perBlock: 8},
	v1alpha1.FP4:   {bits: 4, rows: 1, columns: 16, perBlock: 8},
}

var sixteenBits = formats[v1alpha1.BF16]

// layout is the format of every tensor of a model.
type layout struct {
	plain, quantized *format
	// expertsOnly leaves all but routed experts plain.
	expertsOnly bool
	// published overrules what the format alone would say.
	published *storage
}

// layout returns how the model is stored in a precision.
func (m *Model) layout(p v1alpha1.Precision) layout {
	quantized, ok := formats[p]
	if !ok {
		quantized = sixteenBits
	}
	l := layout{plain: quantized, quantized: quantized}
	if quantized.bits < sixteenBits.bits {
		l.plain = sixteenBits
	}
	l.expertsOnly = p == v1alpha1.MXFP4 && m.Architecture.MoE != nil
	l.published = m.published(p)
	return l
}

// of returns the format of a module in a layer.
func (l *layout) of(m module, layer int) *format {
	switch {
	case !m.quantizable():
		return l.plain
	case l.published != nil:
		return l.published.of(m, layer, l.plain)
	case l.expertsOnly && !m.routed():
		return l.plain
	default:
		return l.quantized
	}
}

// table returns the format of the embedding table.
func (l *layout) table() *format {
	if l.published != nil && l.published.embedding != nil {
		return l.published.embedding
	}
	return l.plain
}

// head returns the format of the output head.
func (l *layout) head() *format {
	if l.published != nil && l.published.head != nil {
		return l.published.head
	}
	return l.plain
}
