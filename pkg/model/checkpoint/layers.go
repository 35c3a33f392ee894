package checkpoint

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// Layer is what the tensors of a layer take.
type Layer struct {
	// Stack is the part of the names before the layer's number: model.layers, blk, vision_tower.blocks.
	Stack string `json:"stack"`
	Index int    `json:"index"`
	Share
}

// inLayer finds the first number after a word for a stack of layers, as Hugging Face's classes, GGUF and exporters to ONNX
// name them.
var inLayer = regexp.MustCompile(`^((?:.*?[./])??(?:layers?|blk|h|blocks?))[./](\d{1,4})[./]`)

// ByLayer sums the tensors by layer, in order, and what lies outside of layers. Names that do not tell count as outside.
func (c *Checkpoint) ByLayer() (layers []Layer, outside Share) {
	for at, share := range shares(c.Tensors, placeOf) {
		if at == (place{}) {
			outside = share
			continue
		}
		layers = append(layers, Layer{Stack: at.stack, Index: at.index, Share: share})
	}
	slices.SortFunc(layers, func(a, b Layer) int { return cmp.Or(cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Index, b.Index)) })
	return layers, outside
}

// place is a layer of a stack; empty outside of layers.
type place struct {
	stack string
	index int
}

func placeOf(t *Tensor) place {
	match := inLayer.FindStringSubmatch(t.Name)
	if match == nil {
		return place{}
	}
	index, _ := strconv.Atoi(match[2])
	return place{match[1], index}
}
