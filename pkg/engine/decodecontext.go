package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// DecodeContext is the rule for tensor ranks that share out the tokens of the cache while decoding. It takes attention that tells how much
// each rank's tokens count, so that the ranks can merge their parts.
type DecodeContext struct {
	// Vendors are those of the devices that have such attention.
	Vendors []string
	// Caches are the formats of caches that it can read.
	Caches []v1alpha1.Precision
}

// DecodeContexts returns how many of so many tensor ranks may share out the tokens of a cache in a format on a vendor's devices: divisors that
// rise from 1.
func (e *Engine) DecodeContexts(a *v1alpha1.Architecture, vendor string, cache v1alpha1.Precision, tensor int) []int {
	rule := e.Parallelism.DecodeContext
	most := 1
	if rule != nil && tensor > 1 && oneCache(a) && slices.Contains(rule.Vendors, vendor) && slices.Contains(rule.Caches, cache) {
		most = CacheCopies(a, tensor)
	}
	degrees := []int{1}
	for d := 2; d <= most; d++ {
		if tensor%d == 0 && (a.Attention.MLA != nil || int(a.Attention.Heads/a.Attention.KVHeads)%d == 0) {
			degrees = append(degrees, d)
		}
	}
	return degrees
}

// CacheCopies returns how many of so many tensor ranks would hold the same part of the cache, which bounds how many may share out its tokens:
// all ranks where it is a latent, ranks over heads otherwise. Source: vLLM 0.19, ModelConfig.verify_with_parallel_config.
func CacheCopies(a *v1alpha1.Architecture, tensor int) int {
	if a.Attention.MLA != nil {
		return tensor
	}
	return max(1, tensor/max(1, int(a.Attention.KVHeads)))
}

// oneCache says whether every layer keeps all tokens in the same way, and nothing else. Source: vLLM's KV cache coordinators take decode
// context parallelism only there; a sparse latent has an indexer's keys beside it.
func oneCache(a *v1alpha1.Architecture) bool {
	at := &a.Attention
	return (at.MLA == nil || at.MLA.Indexer == nil) && at.Compressed == nil && at.SlidingWindow == 0 && a.Recurrent == nil && a.Encoder == nil
}
