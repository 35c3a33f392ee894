package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
)

// naming is what a format calls the tensors of a decoder; %d is the layer.
type naming map[string]string

var huggingFace = naming{
	"embedding": "model.embed_tokens.weight", "head": "lm_head.weight", "final norm": "model.norm.weight",
	"norm": "model.layers.%d.norm_%d.weight", "q": "model.layers.%d.self_attn.q_proj.%s", "k": "model.layers.%d.self_attn.k_proj.%s",
	"v": "model.layers.%d.self_attn.v_proj.%s", "o": "model.layers.%d.self_attn.o_proj.%s",
	"q norm": "model.layers.%d.self_attn.q_norm.weight", "k norm": "model.layers.%d.self_attn.k_norm.weight", "sinks": "model.layers.%d.self_attn.sinks",
	"gate": "model.layers.%d.mlp.gate_proj.weight", "up": "model.layers.%d.mlp.up_proj.weight", "down": "model.layers.%d.mlp.down_proj.weight",
	"router": "model.layers.%d.mlp.router.%s", "correction": "model.layers.%d.mlp.gate.e_score_correction_bias",
	"q a": "model.layers.%d.self_attn.q_a_proj.weight", "q a norm": "model.layers.%d.self_attn.q_a_layernorm.weight",
	"q b": "model.layers.%d.self_attn.q_b_proj.weight", "kv a": "model.layers.%d.self_attn.kv_a_proj_with_mqa.weight",
	"kv a norm": "model.layers.%d.self_attn.kv_a_layernorm.weight", "kv b": "model.layers.%d.self_attn.kv_b_proj.weight",
	"shared gate": "model.layers.%d.mlp.shared_experts.gate_proj.weight", "shared up": "model.layers.%d.mlp.shared_experts.up_proj.weight",
	"shared down": "model.layers.%d.mlp.shared_experts.down_proj.weight",
}

var ggufNaming = naming{
	"embedding": "token_embd.weight", "head": "output.weight", "final norm": "output_norm.weight",
	"norm": "blk.%d.norm_%d.weight", "q": "blk.%d.attn_q.%s", "k": "blk.%d.attn_k.%s", "v": "blk.%d.attn_v.%s", "o": "blk.%d.attn_output.%s",
	"q norm": "blk.%d.attn_q_norm.weight", "k norm": "blk.%d.attn_k_norm.weight", "sinks": "blk.%d.attn_sinks.weight",
	"gate": "blk.%d.ffn_gate.weight", "up": "blk.%d.ffn_up.weight", "down": "blk.%d.ffn_down.weight",
	"router": "blk.%d.ffn_gate_inp.%s", "correction": "blk.%d.exp_probs_b.bias",
	"q a": "blk.%d.attn_q_a.weight", "q a norm": "blk.%d.attn_q_a_norm.weight", "q b": "blk.%d.attn_q_b.weight",
	"kv a": "blk.%d.attn_kv_a_mqa.weight", "kv a norm": "blk.%d.attn_kv_a_norm.weight", "kv b": "blk.%d.attn_kv_b.weight",
	"shared gate": "blk.%d.ffn_gate_shexp.weight", "shared up": "blk.%d.ffn_up_shexp.weight", "shared down": "blk.%d.ffn_down_shexp.weight",
}

// lister lists the tensors of a decoder.
type lister struct {
	names   naming
	plain   string // the type of what is not quantised
	linear  string // that of linear layers
	entries []entry
	// experts lists the routed experts of a layer.
	experts func(l *lister, a *v1alpha1.Architecture, layer int)
}

func (l *lister) add(kind, name string, shape ...int64) {
	l.entries = append(l.entries, entry{name: name, kind: kind, shape: shape})
}

// list lists the tensors in the order of the model.
func (l *lister) list(a *v1alpha1.Architecture) []entry {
	hidden, vocabulary := int64(a.HiddenSize), int64(a.VocabSize)
	l.add(l.plain, l.names["embedding"], vocabulary, hidden)
	for layer := range int(a.Layers) {
		norms := int32(2)
		if a.NormsPerLayer != nil {
			norms = *a.NormsPerLayer
		}
		for i := range norms {
			l.add(l.plain, fmt.Sprintf(l.names["norm"], layer, i), hidden)
		}
		if a.Attention.MLA != nil {
			l.latent(a, layer)
		} else {
			l.heads(a, layer)
		}
		if a.MoE == nil || layer < int(a.MoE.FirstLayer) {
			l.block(a, layer, "", int64(a.MLP.IntermediateSize))
			continue
		}
		l.experts(l, a, layer)
		l.add(l.plain, fmt.Sprintf(l.names["router"], layer, "weight"), int64(a.MoE.Experts), hidden)
		if a.MoE.RouterBias {
			name := fmt.Sprintf(l.names["router"], layer, "bias")
			if a.Attention.MLA != nil {
				name = fmt.Sprintf(l.names["correction"], layer)
			}
			l.add(l.plain, name, int64(a.MoE.Experts))
		}
		if width := int64(a.MoE.SharedIntermediateSize); width > 0 {
			l.block(a, layer, "shared ", width)
		}
	}
	l.add(l.plain, l.names["final norm"], hidden)
	if !a.TiedEmbeddings {
		l.add(l.plain, l.names["head"], vocabulary, hidden)
	}
	return l.entries
}

func (l *lister) block(a *v1alpha1.Architecture, layer int, prefix string, width int64) {
	hidden := int64(a.HiddenSize)
	l.weight(fmt.Sprintf(l.names[prefix+"gate"], layer), width, hidden)
	l.weight(fmt.Sprintf(l.names[prefix+"up"], layer), width, hidden)
	l.weight(fmt.Sprintf(l.names[prefix+"down"], layer), hidden, width)
}

// weight adds a linear layer, with DeepSeek's scales for blocks of 128 by 128 where it is in FP8.
func (l *lister) weight(name string, out, in int64) {
	l.add(l.linear, name, out, in)
	if l.linear == "F8_E4M3" {
		l.add("F32", name+"_scale_inv", (out+127)/128, (in+127)/128)
	}
}

func (l *lister) heads(a *v1alpha1.Architecture, layer int) {
	hidden, width := int64(a.HiddenSize), int64(a.Attention.HeadDim)
	heads, kv := int64(a.Attention.Heads)*width, int64(a.Attention.KVHeads)*width
	for _, p := range []struct {
		part    string
		out, in int64
		bias    bool
	}{
		{"q", heads, hidden, a.Attention.QKVBias},
		{"k", kv, hidden, a.Attention.QKVBias},
		{"v", kv, hidden, a.Attention.QKVBias},
		{"o", hidden, heads, a.Attention.OutputBias},
	} {
		l.add(l.linear, fmt.Sprintf(l.names[p.part], layer, "weight"), p.out, p.in)
		if p.bias {
			l.add(l.plain, fmt.Sprintf(l.names[p.part], layer, "bias"), p.out)
		}
	}
	if a.Attention.QKNorm {
		l.add(l.plain, fmt.Sprintf(l.names["q norm"], layer), width)
		l.add(l.plain, fmt.Sprintf(l.names["k norm"], layer), width)
	}
	if a.Attention.Sinks {
		l.add(l.plain, fmt.Sprintf(l.names["sinks"], layer), int64(a.Attention.Heads))
	}
}

func (l *lister) latent(a *v1alpha1.Architecture, layer int) {
	m, hidden, heads := a.Attention.MLA, int64(a.HiddenSize), int64(a.Attention.Heads)
	q, latent := int64(m.QLoraRank), int64(m.KVLoraRank)
	nope, rope, value := int64(m.QKNopeHeadDim), int64(m.QKRopeHeadDim), int64(m.VHeadDim)
	l.weight(fmt.Sprintf(l.names["q a"], layer), q, hidden)
	l.add(l.plain, fmt.Sprintf(l.names["q a norm"], layer), q)
	l.weight(fmt.Sprintf(l.names["q b"], layer), heads*(nope+rope), q)
	l.weight(fmt.Sprintf(l.names["kv a"], layer), latent+rope, hidden)
	l.add(l.plain, fmt.Sprintf(l.names["kv a norm"], layer), latent)
	l.weight(fmt.Sprintf(l.names["kv b"], layer), heads*(nope+value), latent)
	l.weight(fmt.Sprintf(l.names["o"], layer, "weight"), hidden, heads*value)
}

// eachExpert lists every expert by itself, as most publishers do.
func eachExpert(l *lister, a *v1alpha1.Architecture, layer int) {
	hidden, width := int64(a.HiddenSize), int64(a.MoE.IntermediateSize)
	for e := range a.MoE.Experts {
		stem := fmt.Sprintf("model.layers.%d.mlp.experts.%d.", layer, e)
		l.weight(stem+"gate_proj.weight", width, hidden)
		l.weight(stem+"up_proj.weight", width, hidden)
		l.weight(stem+"down_proj.weight", hidden, width)
	}
}

// packedExperts lists all experts in one, in blocks of MXFP4, as GPT-OSS does.
func packedExperts(l *lister, a *v1alpha1.Architecture, layer int) {
	n, hidden, width := int64(a.MoE.Experts), int64(a.HiddenSize), int64(a.MoE.IntermediateSize)
	stem := fmt.Sprintf("model.layers.%d.mlp.experts.", layer)
	l.add("U8", stem+"gate_up_proj_blocks", n, 2*width, hidden/32, 16)
	l.add("U8", stem+"gate_up_proj_scales", n, 2*width, hidden/32)
	l.add("BF16", stem+"gate_up_proj_bias", n, 2*width)
	l.add("U8", stem+"down_proj_blocks", n, hidden, width/32, 16)
	l.add("U8", stem+"down_proj_scales", n, hidden, width/32)
	l.add("BF16", stem+"down_proj_bias", n, hidden)
}

// mergedExperts lists all experts in one, as llama.cpp does.
func mergedExperts(l *lister, a *v1alpha1.Architecture, layer int) {
	n, hidden, width := int64(a.MoE.Experts), int64(a.HiddenSize), int64(a.MoE.IntermediateSize)
	for _, part := range []struct {
		name    string
		out, in int64
	}{{"gate", width, hidden}, {"up", width, hidden}, {"down", hidden, width}} {
		l.add(l.linear, fmt.Sprintf("blk.%d.ffn_%s_exps.weight", layer, part.name), n, part.out, part.in)
		if a.MoE.ExpertBias {
			l.add(l.plain, fmt.Sprintf("blk.%d.ffn_%s_exps.bias", layer, part.name), n, part.out)
		}
	}
}

// sparse writes a file of any size that takes no room: its data is a hole.
func sparse(t *testing.T, path string, head []byte, size int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path, head, 0o600), os.Truncate(path, int64(len(head))+size)); err != nil {
		t.Skipf("this file system has no files with holes of %d bytes: %v", size, err)
	}
}

func lookup(t *testing.T, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPublishedCheckpoints holds what is read from files as large as the published ones to the published counts: the sums of
// the hub's safetensors headers and total_size of the publishers' indexes.
func TestPublishedCheckpoints(t *testing.T) {
	bf16 := func(experts func(*lister, *v1alpha1.Architecture, int)) lister {
		return lister{names: huggingFace, plain: "BF16", linear: "BF16", experts: experts}
	}
	tests := []struct {
		model      string
		lister     lister
		parameters int64
		bytes      int64 // 0 where no count is published
		precision  v1alpha1.Precision
	}{
		{"Llama-3.1-8B", bf16(nil), 8_030_261_248, 16_060_522_496, v1alpha1.BF16},
		{"Llama-3.1-70B", bf16(nil), 70_553_706_496, 141_107_412_992, v1alpha1.BF16},
		{"Llama-3.2-1B", bf16(nil), 1_235_814_400, 2_471_628_800, v1alpha1.BF16},
		{"Qwen3-235B-A22B", bf16(eachExpert), 235_093_634_560, 470_187_269_120, v1alpha1.BF16},
		{"GPT-OSS-20B", bf16(packedExperts), 20_914_757_184, 13_761_264_768, v1alpha1.MXFP4},
		{"GPT-OSS-120B", bf16(packedExperts), 116_829_156_672, 65_248_815_744, v1alpha1.MXFP4},
		{"DeepSeek-V3", lister{names: huggingFace, plain: "BF16", linear: "F8_E4M3", experts: eachExpert}, 671_026_419_200, 0, v1alpha1.FP8},
	}
	for _, test := range tests {
		t.Run(test.model, func(t *testing.T) {
			folder := t.TempDir()
			head, data := safetensorsHeader(test.lister.list(&lookup(t, test.model).Architecture))
			sparse(t, filepath.Join(folder, "any.name"), head, data)
			c, err := Open(os.DirFS(folder), ".")
			if err != nil {
				t.Fatal(err)
			}
			if c.Format != Safetensors || c.Parameters() != test.parameters || c.Precision != test.precision {
				t.Errorf("%s with %d parameters in %s; want %d in %s", c.Format, c.Parameters(), c.Precision, test.parameters, test.precision)
			}
			if test.bytes > 0 && c.Bytes() != test.bytes {
				t.Errorf("%d bytes, want %d", c.Bytes(), test.bytes)
			}
			layers, outside := c.ByLayer()
			if want := lookup(t, test.model).Architecture.Layers; len(layers) != int(want) {
				t.Errorf("%d layers, want %d", len(layers), want)
			}
			sum := outside.Bytes
			for _, l := range layers {
				sum += l.Bytes
			}
			if sum != c.Bytes() {
				t.Errorf("layers and the rest take %d bytes, all %d", sum, c.Bytes())
			}
		})
	}
}

// ggufValues writes the metadata of a decoder as llama.cpp's converter does.
func ggufValues(architecture string, a *v1alpha1.Architecture) map[string]any {
	values := map[string]any{"general.architecture": architecture, "general.name": "Some Model"}
	set := func(key string, n int32) {
		if n > 0 {
			values[architecture+"."+key] = uint32(n)
		}
	}
	set("block_count", a.Layers)
	set("context_length", a.MaxContext)
	set("embedding_length", a.HiddenSize)
	set("feed_forward_length", a.MLP.IntermediateSize)
	set("attention.head_count", a.Attention.Heads)
	set("attention.head_count_kv", a.Attention.KVHeads)
	set("attention.key_length", a.Attention.HeadDim)
	set("attention.sliding_window", a.Attention.SlidingWindow)
	if m := a.Attention.MLA; m != nil {
		set("attention.q_lora_rank", m.QLoraRank)
		set("attention.kv_lora_rank", m.KVLoraRank)
		set("attention.head_count_kv", 1)
		set("attention.key_length", m.KVLoraRank+m.QKRopeHeadDim)
		set("attention.value_length", m.KVLoraRank)
		set("attention.key_length_mla", m.QKNopeHeadDim+m.QKRopeHeadDim)
		set("attention.value_length_mla", m.VHeadDim)
		set("rope.dimension_count", m.QKRopeHeadDim)
	}
	if m := a.MoE; m != nil {
		set("expert_count", m.Experts)
		set("expert_used_count", m.ActiveExperts)
		set("expert_feed_forward_length", m.IntermediateSize)
		set("leading_dense_block_count", m.FirstLayer)
		set("expert_shared_count", m.SharedIntermediateSize/m.IntermediateSize)
		set("feed_forward_length", max(a.MLP.IntermediateSize, m.IntermediateSize))
	}
	return values
}

// TestGGUFSaysTheArchitecture holds what GGUF's metadata and tensors say to the catalogue, field by field.
func TestGGUFSaysTheArchitecture(t *testing.T) {
	tests := map[string]string{
		"Llama-3.1-8B": "llama", "Llama-3.2-1B": "llama", "Mixtral-8x7B": "llama", "Qwen2.5-7B": "qwen2", "Qwen3-8B": "qwen3",
		"Qwen3-30B-A3B": "qwen3moe", "Gemma-3-27B": "gemma3", "GPT-OSS-20B": "gpt-oss", "DeepSeek-V3": "deepseek2",
	}
	for name, architecture := range tests {
		t.Run(name, func(t *testing.T) {
			known := lookup(t, name)
			a := &known.Architecture
			a.OtherParameters = 0 // an encoder lies in a file of its own
			l := lister{names: ggufNaming, plain: "F32", linear: "F16", experts: mergedExperts}
			w := ggufWriter{values: ggufValues(architecture, a), entries: l.list(a)}
			path := filepath.Join(t.TempDir(), "model.bin")
			sparse(t, path, w.header(), w.size())
			c, err := Open(os.DirFS(filepath.Dir(path)), "model.bin")
			if err != nil {
				t.Fatal(err)
			}
			if c.Format != GGUF || c.Name != "Some Model" || c.Parameters() != known.Parameters() {
				t.Errorf("%s %q with %d parameters, want %d", c.Format, c.Name, c.Parameters(), known.Parameters())
			}
			m, err := c.Model()
			if err != nil {
				t.Fatalf("%v in %s", err, c.Config)
			}
			got, want := m.Architecture, *a
			if diff := cmp.Diff(filled(want), filled(got)); diff != "" {
				t.Errorf("(-catalogue +file):\n%s", diff)
			}
			for _, assumption := range m.Assumptions {
				if strings.Contains(assumption, "not known") || strings.Contains(assumption, "architecture says") {
					t.Errorf("assumed: %s", assumption)
				}
			}
		})
	}
}

// filled is an architecture without what only says the same in other words: experts of every layer leave the dense width
// unused.
func filled(a v1alpha1.Architecture) v1alpha1.Architecture {
	if a.NormsPerLayer == nil {
		two := int32(2)
		a.NormsPerLayer = &two
	}
	if a.MoE != nil && a.MoE.FirstLayer == 0 {
		a.MLP.IntermediateSize = 0
	}
	return a
}

// TestPublishedSums holds the sums over a file's tensors to what was published of the models.
func TestPublishedSums(t *testing.T) {
	held := 0
	for _, row := range facts.Table(t, "../testdata/published.csv") {
		m := lookup(t, row.Text("model"))
		a := &m.Architecture
		// The lister names attention with gated blocks without biases and mixtures from a layer on; the largest mixtures are held above.
		if a.Recurrent != nil || a.Encoder != nil || a.MoE != nil && a.MoE.Experts*a.Layers > 5000 || a.NormBias || a.MLP.Bias || a.MLP.Ungated || a.MoE != nil && (a.MoE.ExpertBias || a.MoE.Interval > 1) {
			continue
		}
		held++
		t.Run(row.Text("model"), func(t *testing.T) {
			l := lister{names: huggingFace, plain: "BF16", linear: "BF16", experts: eachExpert}
			head, data := safetensorsHeader(l.list(a))
			path := filepath.Join(t.TempDir(), "w")
			sparse(t, path, head, data)
			c, err := Open(os.DirFS(filepath.Dir(path)), "w")
			if err != nil {
				t.Fatal(err)
			}
			// The lister names the language model alone.
			beside := a.OtherParameters
			parameters, bytes := row.Whole("parameters")-beside, row.Whole("weights_bytes_bf16")-2*beside
			if c.Parameters() != parameters || c.Bytes() != bytes {
				t.Errorf("%d parameters in %d bytes, want %d in %d", c.Parameters(), c.Bytes(), parameters, bytes)
			}
		})
	}
	if held < 15 {
		t.Errorf("%d models were held to the table: it has another shape than expected", held)
	}
}
