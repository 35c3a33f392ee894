package checkpoint

import (
	"cmp"
	"strings"

	"github.com/rankwright/rankwright/pkg/model"
)

// ggufModules are the names that the modules of a layer have in Hugging Face's files, by those in GGUF (gguf-py/gguf/constants.py of
// ggml-org/llama.cpp).
var ggufModules = map[string]string{
	"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_qkv": "self_attn.qkv_proj",
	"attn_output": "self_attn.o_proj", "attn_q_a": "self_attn.q_a_proj", "attn_q_b": "self_attn.q_b_proj",
	"attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa", "attn_kv_b": "self_attn.kv_b_proj", "attn_k_b": "self_attn.kv_b_proj", "attn_v_b": "self_attn.kv_b_proj",
	"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	"ffn_gate_exps": "mlp.experts.0.gate_proj", "ffn_up_exps": "mlp.experts.0.gate_proj", "ffn_gate_up_exps": "mlp.experts.0.gate_proj", "ffn_down_exps": "mlp.experts.0.down_proj",
	"ffn_gate_shexp": "mlp.shared_experts.gate_proj", "ffn_up_shexp": "mlp.shared_experts.gate_proj", "ffn_down_shexp": "mlp.shared_experts.down_proj",
	"ssm_in": "linear_attn.in_proj_qkvz", "ssm_out": "linear_attn.out_proj", "ssm_ba": "linear_attn.in_proj_ba",
	"ssm_x": "mamba.x_proj", "ssm_dt": "mamba.x_proj", "shortconv.in_proj": "conv.in_proj", "shortconv.out_proj": "conv.out_proj",
}

// ggufTables are the tables outside of layers.
var ggufTables = map[string]string{"token_embd": model.EmbeddingTable, "output": model.OutputHead}

// typeBlocks are the blocks of ggml's types by name.
var typeBlocks = func() map[string]model.Block {
	blocks := map[string]model.Block{}
	for _, b := range ggmlTypes {
		blocks[b.name] = model.Block{Values: b.values, Bytes: b.bytes}
	}
	return blocks
}()

// blocks says how a GGUF file stores each module, by the names that model.Keep knows. Vectors are left out. Of matrices that are one
// module (gate and up), the heaviest counts.
func (c *Checkpoint) blocks() map[string]model.Block {
	list := map[string]model.Block{}
	for i := range c.Tensors {
		t := &c.Tensors[i]
		stem, weight := strings.CutSuffix(t.Name, ".weight")
		if !weight || len(t.Shape) < 2 {
			continue
		}
		name := ggufTables[stem]
		if rest, layered := strings.CutPrefix(stem, "blk."); layered {
			layer, module, _ := strings.Cut(rest, ".")
			if known := ggufModules[module]; known != "" {
				name = "layers." + layer + "." + known
			}
		}
		b := typeBlocks[t.Type]
		if had, ok := list[name]; name != "" && (!ok || cmp.Compare(b.Bytes*had.Values, had.Bytes*b.Values) > 0) {
			list[name] = b
		}
	}
	return list
}
