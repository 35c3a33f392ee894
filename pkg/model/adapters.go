package model

// adapters are LoRA adapters in all matrices of the layers.
type adapters struct {
	Count int64 `json:"count"`
	Rank  int64 `json:"rank"`
}

// AdapterWork is the weights of a LoRA adapter of rank 1 in the matrices of a layer. Routers have none.
type AdapterWork struct {
	// Layer is beside routed experts. Expert is that of each routed expert; nothing in a layer without any.
	Layer, Expert Matrices
}

// Adapter returns the weights of a LoRA adapter of rank 1 in a layer: for each matrix one for each of its inputs and outputs. Tensor
// ranks share out those that face what they share out of the matrix, and each has the others, as engines place them by default.
// Source: fully_sharded_loras of https://docs.vllm.ai/en/v0.11.0/api/vllm/config/lora.html.
func (m *Model) Adapter(layer int) AdapterWork {
	var w AdapterWork
	var buffer tensorBuffer
	list := layerTensors(&m.Architecture, layer, &buffer)
	for i := range list {
		t := &list[i]
		switch {
		case t.in == 1 || t.module == plain || t.module == router:
		case t.module.routed():
			each := *t
			each.count = t.count / max(1, int64(m.Architecture.MoE.Experts))
			w.Expert.adapt(&each)
		default:
			w.Layer.adapt(t)
		}
	}
	return w
}

// adapterParameters counts the weights of the adapters in the checkpoint.
func (m *Model) adapterParameters() int64 {
	each := m.overLayers("", func(layer int) int64 {
		w, experts := m.Adapter(layer), int64(0)
		if isMixture(&m.Architecture, layer) {
			experts = int64(m.Architecture.MoE.Experts)
		}
		return add(add(w.Layer.Split, w.Layer.Copied), mul(experts, add(w.Expert.Split, w.Expert.Copied)))
	})
	return mul(mul(m.adapters.Count, m.adapters.Rank), each)
}

func (m *Matrices) adapt(t *tensor) {
	in, out := mul(t.count, t.in), mul(t.count, t.out)
	switch t.split {
	case byOutput:
		m.Split, m.Copied = add(m.Split, out), add(m.Copied, in)
	case byInput:
		m.Split, m.Copied = add(m.Split, in), add(m.Copied, out)
	default:
		m.Copied = add(m.Copied, add(in, out))
	}
}
