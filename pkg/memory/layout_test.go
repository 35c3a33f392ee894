package memory

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

var h200 = Device{Vendor: "nvidia", Product: "NVIDIA H200", TotalBytes: 143771 * mib}

func footprint(t *testing.T, name string, s Setup) *Footprint {
	t.Helper()
	s.Model = lookup(t, name)
	f, err := New(s, h200)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func whole(f *Footprint) Use { return f.Use(0, f.Layers()) }

// TestLatentIsSharedByDataAndContext: tensor ranks all hold the latent of DeepSeek-V3, 70,272 bytes a token in 16 bits;
// attention data parallelism shares out the sequences and decode context parallelism the tokens.
func TestLatentIsSharedByDataAndContext(t *testing.T) {
	const token, tokens, sequences = 70272, 4096, 8
	for _, c := range []struct {
		name   string
		layout Layout
		want   int64
	}{
		{"one rank", Layout{}, token * tokens * sequences},
		{"tensor ranks repeat it", Layout{Tensor: 8}, token * tokens * sequences},
		{"attention data shares sequences", Layout{AttentionData: 8}, token * tokens},
		{"decode context shares tokens", Layout{Tensor: 8, DecodeContext: 8}, token * tokens},
		{"both", Layout{Tensor: 2, AttentionData: 4, DecodeContext: 2}, token * tokens},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := footprint(t, "DeepSeek-V3", Setup{Weights: v1alpha1.FP8, Layout: c.layout, Inference: &Inference{MaxModelLen: tokens, Sequences: sequences}})
			if got := whole(f).Cache; got != c.want {
				t.Errorf("the cache takes %d bytes, want %d", got, c.want)
			}
		})
	}
}

// TestExpertsAreSplitOnce: however the experts of Qwen3-235B are shared out, all ranks together hold each of them once,
// while attention data ranks repeat everything else.
func TestExpertsAreSplitOnce(t *testing.T) {
	in := &Inference{MaxModelLen: 4096}
	experts := func(l Layout) int64 {
		f := footprint(t, "Qwen3-235B-A22B", Setup{Weights: v1alpha1.FP8, Layout: l, Inference: in})
		return f.experts.of(0, f.Layers()) * int64(l.Tensor*l.AttentionData)
	}
	want := experts(Layout{Tensor: 1, AttentionData: 1})
	const blocks = 4096 / 128 * 1536 / 128 // of the published checkpoint, each with a scale of 32 bits
	if bytes := int64(94 * 128 * 3 * (4096*1536 + 4*blocks)); want != bytes {
		t.Fatalf("the experts of one rank take %d bytes, want %d", want, bytes)
	}
	for _, l := range []Layout{
		{Tensor: 8, AttentionData: 1},
		{Tensor: 8, AttentionData: 1, Expert: 8},
		{Tensor: 4, AttentionData: 2, Expert: 2},
		{Tensor: 1, AttentionData: 8, Expert: 8},
		{Tensor: 1, AttentionData: 8, Expert: 1},
	} {
		if got := experts(l); got != want {
			t.Errorf("%+v: the experts of all ranks take %d bytes, want %d", l, got, want)
		}
	}
	rest := func(l Layout) int64 {
		f := footprint(t, "Qwen3-235B-A22B", Setup{Weights: v1alpha1.FP8, Layout: l, Inference: in})
		return f.weights.of(0, f.Layers())
	}
	if alone, data := rest(Layout{}), rest(Layout{AttentionData: 8, Expert: 8}); alone != data {
		t.Errorf("an attention data rank holds %d bytes beside experts, want all %d", data, alone)
	}
}

// TestWeightsOfOneRank: one rank that holds everything holds the checkpoint, to the byte where no kernel pads.
func TestWeightsOfOneRank(t *testing.T) {
	for _, c := range []struct {
		model     string
		precision v1alpha1.Precision
	}{
		{"Llama-3.1-405B", v1alpha1.FP8},
		{"Gemma-3-27B", v1alpha1.BF16},
		{"DeepSeek-V3", v1alpha1.FP8},
		{"DBRX", v1alpha1.BF16},
		{"Qwen3-30B-A3B", v1alpha1.BF16},
		{"Falcon-40B", v1alpha1.BF16},
		{"Llama-4-Scout-17B-16E", v1alpha1.BF16},
	} {
		f := footprint(t, c.model, Setup{Weights: c.precision, Engine: v1alpha1.EngineTorch, Inference: &Inference{MaxModelLen: 128}})
		if got, want := whole(f).Weights, lookup(t, c.model).WeightBytes(c.precision); got != want {
			t.Errorf("%s in %s: %d bytes, want the checkpoint's %d", c.model, c.precision, got, want)
		}
	}
}

// TestTiedEmbeddings: a shared table is held once by one stage, and by the first and the last of two.
func TestTiedEmbeddings(t *testing.T) {
	f := footprint(t, "Llama-3.2-1B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Pipeline: 2}, Inference: &Inference{MaxModelLen: 128}})
	table := int64(128256 * 2048 * 2)
	if one, two := f.Use(0, 16).Weights, f.Use(0, 8).Weights+f.Use(8, 16).Weights; two-one != table {
		t.Errorf("two stages hold %d bytes more than one, want the table's %d", two-one, table)
	}
}

// TestWindowedCache: GPT-OSS' windowed layers keep 128 tokens of each sequence, and in vLLM those of one step beside them;
// every second layer keeps the whole context.
func TestWindowedCache(t *testing.T) {
	const token, sequences = 2 * 8 * 64 * 2, 10
	for _, c := range []struct {
		engine v1alpha1.Engine
		length int64
		step   int64
		window int64
	}{
		{v1alpha1.EngineVLLM, 100000, 1152 - 144, 144},
		{v1alpha1.EngineTensorRTLLM, 100000, 0, 144},
		{v1alpha1.EngineVLLM, 96, 0, 96},
		{v1alpha1.EngineVLLM, 640, 640 - 144, 144},
	} {
		f := footprint(t, "GPT-OSS-20B", Setup{Engine: c.engine, Weights: v1alpha1.MXFP4, Inference: &Inference{
			MaxModelLen: c.length, Sequences: sequences, BatchedTokens: 1009, BatchedSequences: 16, BlockTokens: 16,
		}})
		if got, want := f.sequenceBytes(0, f.Layers()), 12*token*(c.window+c.length); got != want {
			t.Errorf("%s: a sequence of %d tokens takes %d bytes, want %d", c.engine, c.length, got, want)
		}
		if got, want := whole(f).Cache, 12*token*(sequences*(c.window+c.length)+c.step); got != want {
			t.Errorf("%s: %d sequences of %d tokens take %d bytes, want %d", c.engine, sequences, c.length, got, want)
		}
	}
}

func TestBatchLimits(t *testing.T) {
	batch := func(tokens, sequences int64) engine.Batch { return engine.Batch{Tokens: tokens, Sequences: sequences} }
	for _, c := range []struct {
		engine  v1alpha1.Engine
		device  Device
		offline bool
		want    engine.Batch
	}{
		{v1alpha1.EngineVLLM, Device{Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib, Vendor: "nvidia"}, false, batch(8192, 1024)},
		{v1alpha1.EngineVLLM, Device{Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib, Vendor: "nvidia"}, true, batch(16384, 1024)},
		{v1alpha1.EngineVLLM, Device{Product: "NVIDIA A100-SXM4-80GB", TotalBytes: 81920 * mib, Vendor: "nvidia"}, false, batch(2048, 256)},
		{v1alpha1.EngineVLLM, Device{Product: "NVIDIA L40S", TotalBytes: 46068 * mib, Vendor: "nvidia"}, true, batch(8192, 256)},
		{v1alpha1.EngineVLLM, Device{Product: "AMD Instinct MI300X", TotalBytes: 196592 * mib, Vendor: "amd"}, false, batch(8192, 1024)},
		{v1alpha1.EngineVLLM, Device{}, false, batch(2048, 256)},
		{v1alpha1.EngineSGLang, Device{Product: "Tesla T4", TotalBytes: 15360 * mib, Vendor: "nvidia"}, false, batch(2048, 8)},
		{v1alpha1.EngineSGLang, Device{Product: "NVIDIA B200", TotalBytes: 183359 * mib, Vendor: "nvidia"}, false, batch(16384, 512)},
		{v1alpha1.EngineTensorRTLLM, Device{}, false, batch(8192, 2048)},
	} {
		of, err := engine.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		if got := Limits(&of.Memory, c.device, c.offline); got != c.want {
			t.Errorf("%s on %q, offline %t: %+v, want %+v", c.engine, c.device.Product, c.offline, got, c.want)
		}
	}
}

// TestRules: the same device leaves each engine's cache what its rule says.
func TestRules(t *testing.T) {
	d := Device{VisibleBytes: 100 * gib}
	for _, c := range []struct {
		engine v1alpha1.Engine
		want   func(u Use) int64
	}{
		{v1alpha1.EngineVLLM, func(u Use) int64 { return 90*gib - u.beside() }},
		{v1alpha1.EngineSGLang, func(u Use) int64 { return 90*gib - u.Weights }},
		{v1alpha1.EngineTensorRTLLM, func(u Use) int64 { return (100*gib - contextBytes - u.beside()) * 9 / 10 }},
		{v1alpha1.EngineTorch, func(u Use) int64 { return 100*gib - contextBytes - u.beside() }},
	} {
		f := footprint(t, "Llama-3.1-8B", Setup{Engine: c.engine, Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 4096}})
		room := f.Room(0, f.Layers(), d)
		if want := c.want(whole(f)); room.Free != want || !room.Fits() {
			t.Errorf("%s: %+v, want %d bytes free", c.engine, room, want)
		}
		if want := room.Free / f.sequenceBytes(0, f.Layers()); room.Sequences != want {
			t.Errorf("%s: %d sequences fit, want %d", c.engine, room.Sequences, want)
		}
	}
}
