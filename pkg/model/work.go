package model

// Matrices counts the weights of matrices that a token is multiplied with: Split those that tensor ranks share out, Copied
// those that every tensor rank has whole.
type Matrices struct{ Split, Copied int64 }

// Work is the weights in the matrices of a layer. Vectors are left out: norms, biases, convolutions and sinks.
type Work struct {
	// Mixer is attention or recurrence, Block a dense feed-forward block or the shared experts of a mixture with its router.
	Mixer, Block Matrices
	// Expert is one routed expert; 0 in a layer without any.
	Expert int64
}

// Work returns the matrices of a layer; none where there is no such layer.
func (m *Model) Work(layer int) Work {
	var w Work
	var buffer tensorBuffer
	list := layerTensors(&m.Architecture, layer, &buffer)
	for i := range list {
		t := &list[i]
		switch {
		case t.in == 1:
		case t.module.routed():
			w.Expert = add(w.Expert, t.weights()/max(1, int64(m.Architecture.MoE.Experts)))
		case t.module == router || t.module >= blockIn:
			w.Block.add(t)
		default:
			w.Mixer.add(t)
		}
	}
	return w
}

func (m *Matrices) add(t *tensor) {
	if t.split == replicated {
		m.Copied = add(m.Copied, t.weights())
	} else {
		m.Split = add(m.Split, t.weights())
	}
}
