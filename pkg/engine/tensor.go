package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// TensorDegrees returns the tensor-parallel degrees up to limit that a model splits into without padding. They divide the
// query heads, the width of every block and expert, and the key and value heads; a multiple of the key and value heads is
// possible too, since these are then replicated. 1 is always among them where limit is 1 or more. Sources:
// ModelConfig.verify_with_parallel_config, QKVParallelLinear and MergedColumnParallelLinear of vLLM, which SGLang has
// from it; Attention of TensorRT-LLM.
func TensorDegrees(a *v1alpha1.Architecture, limit int) []int {
	degrees, list := make([]int, 0, 8), shares(a)
	for d := 1; d <= min(limit, max(1, int(a.Attention.Heads))); d++ {
		if divides(&list, d) && !cutsKeys(a, d) {
			degrees = append(degrees, d)
		}
	}
	return degrees
}

// share is an amount that tensor ranks share out, with its name.
type share struct {
	name  string
	count int32
}

// keyed are the rules of recurrence whose key heads ranks share out; of the others, ranks repeat what heads have in common. Source:
// extra_groups_for_head_shards of vLLM's mamba_mixer2.py.
var keyed = map[v1alpha1.RecurrentKind]bool{v1alpha1.GatedDelta: true, v1alpha1.Lightning: true, v1alpha1.KimiDelta: true}

// shares returns the amounts that a tensor degree must divide; 0 where a model has none.
func shares(a *v1alpha1.Architecture) [8]share {
	list := [8]share{{"heads", a.Attention.Heads}, {"columns of a feed-forward block", a.MLP.IntermediateSize}}
	if r := a.Recurrent; r != nil {
		list[3] = share{"value heads of recurrent layers", r.ValueHeads}
		if keyed[r.Kind] {
			list[2] = share{"key heads of recurrent layers", r.KeyHeads}
		}
	}
	if w := a.Attention.Windowed; w != nil {
		list[7] = share{"heads of layers with a window", w.Heads}
	}
	if c := a.Attention.Compressed; c != nil {
		list[4] = share{"groups of heads", c.OutputGroups}
	}
	if moe := a.MoE; moe != nil {
		list[5], list[6] = share{"columns of an expert", moe.IntermediateSize}, share{"columns of the shared experts", moe.SharedIntermediateSize}
	}
	return list
}

// splits says whether a model can be shared out among as many tensor ranks as a degree says.
func splits(a *v1alpha1.Architecture, degree int) bool {
	list := shares(a)
	return divides(&list, degree) && !cutsKeys(a, degree)
}

func divides(list *[8]share, degree int) bool {
	for i := range list {
		if int(list[i].count)%degree != 0 {
			return false
		}
	}
	return true
}

// cutsKeys says whether key and value heads can be neither shared out nor repeated evenly. A latent is on every rank.
func cutsKeys(a *v1alpha1.Architecture, degree int) bool {
	kv := max(1, int(a.Attention.KVHeads))
	cut := func(kv int) bool { return kv%degree != 0 && degree%kv != 0 }
	if w := a.Attention.Windowed; w != nil && cut(max(1, int(w.KVHeads))) {
		return true
	}
	return a.Attention.MLA == nil && cut(kv)
}

// unsplit returns the refusal of a tensor degree that does not divide the model; it names the amount.
func unsplit(c *Case) *Refusal {
	for _, s := range shares(c.Architecture) {
		if int(s.count)%c.Tensor != 0 {
			return refuse(DegreeTensor, c.Tensor, "the %d %s of %s cannot be shared out evenly: use a divisor of %d", s.count, s.name, c.Model, s.count)
		}
	}
	kv := c.Architecture.Attention.KVHeads
	return refuse(DegreeTensor, c.Tensor, "the %d key and value heads of %s can be neither shared out nor repeated evenly: use a divisor or a multiple of %d", kv, c.Model, kv)
}
