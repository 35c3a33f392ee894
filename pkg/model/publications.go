package model

import (
	"slices"
	"strings"
)

// publications returns the checkpoints of an entry's family in other precisions than its own, the first in the file's order of each
// precision. An entry has ids of models that share an architecture and not their weights. So of an id only checkpoints are returned that
// were made of it, by their names; of the catalogue's own name, which means all of them, any.
func (e *catalogued) publications(name string) []publication {
	var list []publication
	for _, member := range e.family {
		known := func(p publication) bool { return p.precision == member.Native }
		if member.Native == e.Native || slices.ContainsFunc(list, known) {
			continue
		}
		if id := member.idLike(e, name); id != "" {
			list = append(list, publication{member.Native, id, member})
		}
	}
	return list
}

// idLike returns the id of a member of the family of an entry, which a name stands for, with the weights that the name means.
func (e *catalogued) idLike(of *catalogued, name string) string {
	if spelling(name) == spelling(of.Name) {
		return e.id(of.Name)
	}
	for _, id := range e.IDs {
		if stem(id) == stem(of.id(name)) {
			return id
		}
	}
	return ""
}

// formatWords are the words of a checkpoint's name that say in which format it has been stored, and how that was made. Sources: names on
// Hugging Face of Qwen, meta-llama, google, nvidia, RedHatAI, amd and hugging-quants.
var formatWords = []string{
	"fp8", "fp4", "nvfp4", "mxfp4", "int8", "int4", "bf16", "fp16", "awq", "gptq", "quantized.w4a16", "quantized.w8a8", "quantized.w8a16",
	"w4a16", "w8a8", "4bit", "8bit", "autoround", "dynamic", "block", "kv", "qat", "ct", "v2", "preview", "marlin",
}

// stem returns the spelling of an id without its owner and the words of its format: equal for checkpoints of the same weights.
func stem(id string) string {
	words := strings.Split(withoutOwner(id), "-")
	for len(words) > 1 && slices.Contains(formatWords, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	// Meta's releases were renamed from Meta-Llama-3.1 to Llama-3.1.
	if len(words) > 1 && words[0] == "meta" {
		words = words[1:]
	}
	return spelling(strings.Join(words, "-"))
}
