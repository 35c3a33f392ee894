package model

// Parts are numbers of weights by what they are for. Publishers count some and not others: Parameters is Layers, Embedding, Head and
// Other, and ActiveParameters is ActiveLayers and the head, as OpenAI counts GPT-OSS; GLM-4.5's publisher counts Layers and NextToken.
// Sources: table 1 of arXiv 2508.10925 and of arXiv 2508.06471.
type Parts struct {
	// Layers is all layers and the final norm; of them a token visits ActiveLayers.
	Layers       int64 `json:"layers"`
	ActiveLayers int64 `json:"activeLayers"`
	// Embedding is the table in which a token is looked up. Head has no weights of its own where it shares that table.
	Embedding int64 `json:"embedding"`
	Head      int64 `json:"head"`
	// Other is learned positions, encoders of images and sound, and whatever else is in no layer.
	Other int64 `json:"other,omitempty"`
	// NextToken is the multi-token-prediction modules that the checkpoint has beside the model, without their copies of table and
	// head, as far as their form is known; of them a token visits ActiveNextToken. Parameters leaves them out.
	NextToken       int64 `json:"nextToken,omitempty"`
	ActiveNextToken int64 `json:"activeNextToken,omitempty"`
	// Adapters is LoRA adapters that the checkpoint has beside the model. Parameters leaves them out: engines merge the one that is
	// asked for into the weights.
	Adapters int64 `json:"adapters,omitempty"`
}

// Parts returns the parts of the model's parameters.
func (m *Model) Parts() Parts {
	last, modules, joint := int(m.Architecture.Layers)-1, int64(m.NextTokenModules), m.nextTokenJoint()
	return Parts{
		Layers:          add(m.FinalNormParameters(), m.overLayers("", m.layerParameters)),
		ActiveLayers:    m.activeBodyParameters(),
		Embedding:       m.embeddingParameters(),
		Head:            m.HeadParameters(),
		Other:           m.otherParameters(),
		NextToken:       mul(modules, add(m.layerParameters(last), joint)),
		ActiveNextToken: mul(modules, add(m.activeLayerParameters(last), joint)),
		Adapters:        m.adapterParameters(),
	}
}

// Parameters returns the number of weights; a shared embedding table counts once.
func (m *Model) Parameters() int64 {
	ends := add(m.embeddingParameters(), add(m.HeadParameters(), m.FinalNormParameters()))
	return add(add(ends, m.otherParameters()), m.overLayers("", m.layerParameters))
}

// ActiveParameters returns the number of weights in the arithmetic of a token: all layers, with only the routed experts
// that the token visits, the final norm and the head, a shared table too. The lookup of the embedding, the encoder and what
// lies outside of the layers do not count.
func (m *Model) ActiveParameters() int64 {
	a := &m.Architecture
	if a.NoHead {
		return m.activeBodyParameters()
	}
	return add(m.activeBodyParameters(), add(m.embeddingParameters(), headBias(a)))
}

// activeBodyParameters counts what a token visits of the layers, and the final norm.
func (m *Model) activeBodyParameters() int64 {
	return add(m.FinalNormParameters(), m.overLayers("", m.activeLayerParameters))
}

// otherParameters counts what is in no layer, and neither table nor head.
func (m *Model) otherParameters() int64 {
	a := &m.Architecture
	return add(positionWeights(a), add(m.EncoderParameters(), max(0, a.OtherParameters)))
}

// layerParameters counts the weights of a layer; 0 where there is no such layer.
func (m *Model) layerParameters(layer int) int64 { return m.overTensors(layer, tensor.weights) }

// activeLayerParameters counts the weights of a layer that a token visits.
func (m *Model) activeLayerParameters(layer int) int64 {
	return m.overTensors(layer, func(t tensor) int64 { return t.active(&m.Architecture) })
}
