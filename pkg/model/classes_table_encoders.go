package model

import "maps"

// encoderClasses are the model_types with an encoder: those that turn a text into a vector or a score, and those whose decoder attends to
// the encoder's output.
var encoderClasses = map[string]class{
	"whisper":     {family: "Whisper", tied: true, norms: 3, normBias: true, ungated: true, names: whisperNames, extend: extensions{allBiases, whisper}},
	"bert":        {family: "BERT, BGE, E5", noHead: true, normBias: true, ungated: true, extend: extensions{allBiases, learnedPositions, uncached, bertEnds}},
	"roberta":     {family: "RoBERTa", noHead: true, normBias: true, ungated: true, extend: extensions{allBiases, learnedPositions, uncached, bertEnds}},
	"xlm-roberta": {family: "XLM-RoBERTa, BGE-M3", noHead: true, normBias: true, ungated: true, extend: extensions{allBiases, learnedPositions, uncached, bertEnds}},
	"modernbert":  {family: "ModernBERT", noHead: true, extend: extensions{uncached, modernBert}},
	"nomic_bert":  {family: "Nomic Embed", noHead: true, normBias: true, extend: extensions{uncached, tokenTypes, nomicBert}},
	"new":         {family: "GTE", noHead: true, normBias: true, extend: extensions{qkvAndOutputBias, uncached, tokenTypes, downBias}},
	"gte":         {family: "GTE", noHead: true, normBias: true, extend: extensions{qkvAndOutputBias, uncached, tokenTypes, downBias}},
	"t5":          t5Class,
	"mt5":         t5Class,
	"umt5":        t5Class,
	"bart":        {family: "BART", tied: true, norms: 3, normBias: true, ungated: true, names: whisperNames, extend: extensions{allBiases, bart}},
	"mbart":       {family: "mBART", tied: true, norms: 3, normBias: true, ungated: true, names: whisperNames, extend: extensions{allBiases, bart, finalNorms}},
	"m2m_100":     {family: "M2M-100, NLLB", tied: true, norms: 3, normBias: true, ungated: true, names: whisperNames, extend: extensions{allBiases, m2m}},
}

var t5Class = class{family: "T5, FLAN-T5, mT5, UMT5", tied: true, norms: 3, ungated: true, headDim: 64, names: t5Names, extend: extensions{t5}}

// t5Names are the names of T5's fields: num_layers is the number of the encoder's layers, and of the decoder's where those are not given.
var t5Names = map[string][]string{
	"num_hidden_layers":   {"num_decoder_layers", "num_layers"},
	"num_attention_heads": {"num_heads"},
	"intermediate_size":   {"d_ff"},
}

// classes are all model_types that are known.
var classes = func() map[string]class {
	all := map[string]class{}
	for _, table := range []map[string]class{decoderClasses, hybridClasses, encoderClasses} {
		maps.Copy(all, table)
	}
	return all
}()
