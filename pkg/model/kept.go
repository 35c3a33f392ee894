package model

import (
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Block is how a file stores weights: so many, along a row, in so many bytes with their scales.
type Block struct{ Values, Bytes int64 }

// heavier says whether a weight takes more bytes than in another block; any does than in none.
func (b Block) heavier(than Block) bool {
	return b.Bytes*than.Values > than.Bytes*b.Values || than.Values == 0
}

// format is the block as a format. A block of one value has no scale.
func (b Block) format() format {
	if b.Values <= 1 {
		return format{bits: 8 * b.Bytes, simple: true}
	}
	bits := 8 * b.Bytes / b.Values
	return format{bits: bits, rows: 1, columns: b.Values, perBlock: 8*b.Bytes - bits*b.Values}
}

// Names of the tables in Keep.
const (
	EmbeddingTable = "embed_tokens"
	OutputHead     = "lm_head"
)

// Keep says that files store the model in these blocks, each module of each layer in its own: by the names of Hugging Face's modules
// (`layers.0.self_attn.q_proj`), EmbeddingTable and OutputHead. What has no name here is in 16 bits. Native is the format that the
// weights are computed in. Where a module goes by several names, the heaviest of their blocks counts.
func (m *Model) Keep(native v1alpha1.Precision, blocks map[string]Block) {
	layers := int(min(max(0, m.Architecture.Layers), maxLayers))
	s := &storage{kept: true}
	var known []Block
	number := func(b Block) uint8 {
		at := slices.Index(known, b)
		if at < 0 && len(known) < 255 {
			at, known, s.formats = len(known), append(known, b), append(s.formats, b.format())
		}
		return uint8(at + 1)
	}
	for module := query; module < modules; module++ {
		if !module.quantizable() {
			continue
		}
		s.assigned[module] = make([]uint8, layers)
		for layer := range layers {
			if b := heaviest(blocks, module, layer); b.Values > 0 {
				s.assigned[module][layer] = number(b)
			}
		}
	}
	s.group(layers)
	s.embedding, s.head = table(blocks[EmbeddingTable]), table(blocks[OutputHead])
	if m.Architecture.TiedEmbeddings && s.head == nil {
		s.head = s.embedding
	}
	m.Native, m.storage = native, s
}

// Kept returns the formats in which a checkpoint has the attention of the first layer, for what is no routed expert, and the head: the next
// wider of its own 4 bits, INT8 and BF16, since blocks of other widths are expanded to these. It returns false where neither a file nor a
// checkpoint in 4 bits states them.
func (m *Model) Kept(p v1alpha1.Precision) (attention, head v1alpha1.Precision, known bool) {
	s := m.published(p)
	if s == nil || !s.kept && p != v1alpha1.MXFP4 && p != v1alpha1.INT4 {
		return "", "", false
	}
	var first *format
	for of := query; of <= recurrentOut && first == nil; of++ {
		first = s.of(of, 0, nil)
	}
	return wider(first, p), wider(s.head, p), true
}

// wider returns the next wider of the formats that weights are computed from.
func wider(f *format, p v1alpha1.Precision) v1alpha1.Precision {
	switch {
	case f == nil || f.bits > 8:
		return v1alpha1.BF16
	case f.bits > 4:
		return v1alpha1.INT8
	case p == v1alpha1.MXFP4:
		return p
	default:
		return v1alpha1.INT4
	}
}

func table(b Block) *format {
	if b.Values == 0 {
		return nil
	}
	f := b.format()
	return &f
}

// heaviest returns the heaviest of the blocks of a module's names in a layer; none where no name is there.
func heaviest(blocks map[string]Block, m module, layer int) Block {
	var most Block
	for _, name := range moduleNames[m] {
		if b, ok := blocks["layers."+strconv.Itoa(layer)+"."+name]; ok && b.heavier(most) {
			most = b
		}
	}
	return most
}
