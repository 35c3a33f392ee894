package accelerator

import "strings"

// stacks are the vendors' software stacks by the words that people use for their devices, with the vendor and the backend of detection
// that finds them.
var stacks = map[string]struct{ vendor, backend string }{
	"cuda": {"nvidia", "nvidia"}, "rocm": {"amd", "amd"}, "hip": {"amd", "amd"}, "oneapi": {"intel", "intel-gpu"}, "habana": {"intel", "gaudi"},
	"cann": {"huawei", "ascend"}, "neuron": {"aws", "neuron"},
}

// Vendor returns the vendor that a word means, in lower case: the stack's (`cuda` is nvidia, `rocm` is amd), else the word itself.
func Vendor(word string) string {
	word = strings.ToLower(word)
	if s, ok := stacks[word]; ok {
		return s.vendor
	}
	return word
}

// Backend returns the backend of detection that a word means: the one that finds the stack's devices, else the word itself.
func Backend(word string) string {
	if s, ok := stacks[strings.ToLower(word)]; ok {
		return s.backend
	}
	return word
}
