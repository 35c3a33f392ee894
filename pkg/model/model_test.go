package model

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestAnchors holds the counts to published totals: a checkpoint's index, or a safetensors header.
func TestAnchors(t *testing.T) {
	tests := map[string]struct{ parameters, active, kvPerToken int64 }{
		"Llama-2-7B":      {6_738_415_616, 6_607_343_616, 524_288},
		"Llama-3.1-8B":    {8_030_261_248, 7_504_924_672, 131_072},
		"Llama-3.1-70B":   {70_553_706_496, 69_503_033_344, 327_680},
		"Llama-3.1-405B":  {405_853_388_800, 403_752_042_496, 516_096},
		"Mixtral-8x7B":    {46_702_792_704, 12_748_853_248, 131_072},
		"Qwen3-235B-A22B": {235_093_634_560, 21_568_433_664, 192_512},
		"DeepSeek-V3":     {671_026_419_200, 36_625_618_432, 70_272},
		"Kimi-K2":         {1_026_408_232_448, 31_687_095_808, 70_272},
		"Gemma-3-27B":     {27_432_406_640, 27_009_346_304, 507_904},
		"Falcon-180B":     {179_522_565_120, 178_557_088_768, 163_840},
		"GPT-OSS-120B":    {116_829_156_672, 5_132_849_472, 73_728},
	}
	for name, want := range tests {
		m := mustLookup(t, name)
		if got := m.Parameters(); got != want.parameters {
			t.Errorf("%s: %d parameters, want %d", name, got, want.parameters)
		}
		if got := m.ActiveParameters(); got != want.active {
			t.Errorf("%s: %d active parameters, want %d", name, got, want.active)
		}
		if got := m.KVBytesPerToken(v1alpha1.BF16); got != want.kvPerToken {
			t.Errorf("%s: %d bytes of KV cache per token, want %d", name, got, want.kvPerToken)
		}
		if got := m.WeightBytes(v1alpha1.BF16); got != 2*want.parameters {
			t.Errorf("%s: %d bytes, want %d", name, got, 2*want.parameters)
		}
	}
}

// TestPublishedCheckpoints holds stored bytes to the sizes of published checkpoints.
func TestPublishedCheckpoints(t *testing.T) {
	tests := map[string]struct {
		precision v1alpha1.Precision
		bytes     int64
	}{
		"Llama-3.1-70B":   {v1alpha1.BF16, 141_107_412_992},
		"Qwen3-235B-A22B": {v1alpha1.BF16, 470_187_269_120},
		"GPT-OSS-20B":     {v1alpha1.MXFP4, 13_761_264_768},
		"GPT-OSS-120B":    {v1alpha1.MXFP4, 65_248_815_744},
	}
	for name, want := range tests {
		if got := mustLookup(t, name).WeightBytes(want.precision); got != want.bytes {
			t.Errorf("%s in %s: %d bytes, want %d", name, want.precision, got, want.bytes)
		}
	}
}

func TestFormatsUnder16BitsKeepTheRestIn16(t *testing.T) {
	m := mustLookup(t, "Llama-3.1-8B").Pinned()
	// 32 layers of norms, the final norm, the table and the head stay; the rest is halved.
	kept := int64(32*2*4096 + 4096 + 2*128256*4096)
	rest := m.Parameters() - kept
	tests := map[v1alpha1.Precision]int64{
		v1alpha1.FP32:  4 * m.Parameters(),
		v1alpha1.FP16:  2 * m.Parameters(),
		v1alpha1.FP8:   2*kept + rest,
		v1alpha1.INT8:  2*kept + rest,
		v1alpha1.INT4:  2*kept + rest*133/256,
		v1alpha1.MXFP4: 2*kept + rest*17/32,
		v1alpha1.NVFP4: 2*kept + rest*9/16,
		"":             2 * m.Parameters(),
	}
	for precision, want := range tests {
		if got := m.WeightBytes(precision); got != want {
			t.Errorf("%q: %d bytes, want %d", precision, got, want)
		}
	}
}

func TestKVCacheIsCappedByTheWindow(t *testing.T) {
	gemma, mistral, llama := mustLookup(t, "Gemma-3-27B"), mustLookup(t, "Mistral-7B-v0.1"), mustLookup(t, "Llama-3.1-8B")
	const perToken = 2 * 16 * 128 * 2
	tests := map[string]struct{ got, want int64 }{
		"local layer":             {gemma.layerKVBytes(0, 8192, v1alpha1.BF16), 1024 * perToken},
		"local layer, short":      {gemma.layerKVBytes(0, 100, v1alpha1.BF16), 100 * perToken},
		"global layer":            {gemma.layerKVBytes(5, 8192, v1alpha1.BF16), 8192 * perToken},
		"global layer in FP8":     {gemma.layerKVBytes(5, 8192, v1alpha1.FP8), 8192 * perToken / 2},
		"window on every layer":   {mistral.layerKVBytes(31, 32768, v1alpha1.BF16), 4096 * 4096},
		"no window":               {llama.layerKVBytes(31, 32768, v1alpha1.BF16), 32768 * 4096},
		"no such layer":           {llama.layerKVBytes(32, 32768, v1alpha1.BF16), 0},
		"negative layer":          {llama.layerKVBytes(-1, 32768, v1alpha1.BF16), 0},
		"no tokens":               {llama.layerKVBytes(0, 0, v1alpha1.BF16), 0},
		"more than can be stored": {llama.layerKVBytes(0, 1<<62, v1alpha1.BF16), 1<<63 - 1},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, test.got, test.want)
		}
	}
}

func mustLookup(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// models draws a model of the catalogue or a synthetic one.
func models(t *rapid.T) *Model {
	if rapid.Bool().Draw(t, "synthetic") {
		m, err := FromParameters(rapid.Int64Range(minParameters, maxParameters).Draw(t, "parameters"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, err := Lookup(rapid.SampledFrom(Names()).Draw(t, "name"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTheWholeIsTheSumOfItsLayers adds every layer one by one, which the methods for the whole model do not.
func TestTheWholeIsTheSumOfItsLayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := models(t)
		p := rapid.SampledFrom(precisions).Draw(t, "precision")
		parameters := m.embeddingParameters() + m.HeadParameters() + m.FinalNormParameters() + m.EncoderParameters() +
			int64(m.Architecture.Positions)*int64(m.Architecture.HiddenSize) + m.Architecture.OtherParameters
		bytes := m.embeddingBytes(p) + m.FinalNormBytes(p)
		if !m.Architecture.TiedEmbeddings {
			bytes += m.headBytes(p)
		}
		var kv int64
		for layer := range int(m.Architecture.Layers) {
			parameters += m.layerParameters(layer)
			bytes += m.LayerWeightBytes(layer, p)
			if m.Architecture.Attention.Compressed == nil {
				kv += m.layerCacheBytesPerRank(layer, 1, 1, p)
			} else {
				kv += stored(widthPerToken(&m.Architecture, layer), p)
			}
		}
		if parameters != m.Parameters() || bytes != m.WeightBytes(p) || kv != m.KVBytesPerToken(p) {
			t.Fatalf("%s in %s: layers sum to %d parameters, %d bytes, %d of cache; the whole has %d, %d, %d",
				m.Name, p, parameters, bytes, kv, m.Parameters(), m.WeightBytes(p), m.KVBytesPerToken(p))
		}
		if m.WeightBytes(m.Native) > m.checkpointBytes() || m.Parameters() > m.checkpointParameters() {
			t.Fatalf("%s: the checkpoint is smaller than the model", m.Name)
		}
		if m.ActiveParameters() > m.Parameters()+m.embeddingParameters() {
			t.Fatalf("%s: more active parameters than there are", m.Name)
		}
	})
}

var precisions = []v1alpha1.Precision{
	v1alpha1.FP32, v1alpha1.FP16, v1alpha1.BF16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4, v1alpha1.NVFP4,
}
