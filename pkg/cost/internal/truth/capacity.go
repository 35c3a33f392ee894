package truth

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// What is left to a cache: a share of what weights and the engine leave free of the memory that is reported.
const (
	reported    = 0.98
	engineBytes = 4e9
	cacheShare  = 0.9
)

// capacity is how many tokens the cache of an attention-data-parallel group holds.
func capacity(m *model.Model, product *accelerator.Product, s cost.Strategy, weights, cache v1alpha1.Precision) float64 {
	tensor, stages, data := float64(max(1, s.Tensor)), float64(max(1, s.Pipeline)), float64(max(1, s.AttentionData))
	routed := 0.0
	if m.Architecture.MoE != nil {
		routed = 1 - float64(m.ActiveParameters())/float64(m.Parameters())
	}
	perRank := float64(m.WeightBytes(weights)) * (routed/data + 1 - routed) / (tensor * stages)
	free := (float64(product.MemoryMiB)*(1<<20)*reported - perRank - engineBytes) * cacheShare
	perToken := float64(m.KVBytesPerToken(cache)) / stages
	if m.Architecture.Attention.MLA == nil {
		perToken /= min(tensor, float64(m.Architecture.Attention.KVHeads))
	}
	return max(0, free) / perToken
}
