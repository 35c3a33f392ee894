package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Feature is something that a server does beside decoding one token after the other, under the name of its field below
// workload.inference.serving.
type Feature string

// The features.
const (
	FeatureUtilization Feature = "memoryUtilizationPercent"
	FeatureTokens      Feature = "maxBatchedTokens"
	FeatureChunks      Feature = "chunkedPrefill"
	FeaturePrefixes    Feature = "prefixCache"
	FeatureOffload     Feature = "offload"
	FeatureDraft       Feature = "speculation.method Draft"
	FeatureMTP         Feature = "speculation.method MTP"
	FeatureEAGLE       Feature = "speculation.method EAGLE"
	FeatureNGram       Feature = "speculation.method NGram"
	FeatureAdapters    Feature = "adapters"
	FeatureMedia       Feature = "media"
)

// Offered is a feature that an engine has.
type Offered struct {
	Feature Feature
	// Since is the earliest version that Source shows it in.
	Since, Source string
	// By are the arguments that ask for it; none where the engine does it unasked.
	By []Purpose
	// Word is the engine's word for a method of speculation.
	Word string
	// OneData is set where it does not work with attention data parallelism.
	OneData bool
}

// Serves is what the engine's server does beside decoding one token after the other.
type Serves struct {
	Offers []Offered
	// OneStage is where it is documented that speculation works in one pipeline stage alone; empty where it does in more.
	OneStage string
	// ExpertAdapters is set where room for adapters is made in routed experts too.
	ExpertAdapters bool
	// SpareAdapters is how many adapters of a step count beside those that are served, for requests without one.
	SpareAdapters int64
	// EachRank is set where the engine is told the memory of hosts for the KV cache of each rank instead of all ranks of a data rank.
	// HostUnit is the bytes that it is counted in.
	EachRank bool
	HostUnit int64
	// HostAboveDevice is set where the engine starts only with more of that memory for a rank than the rank's cache has on its device.
	HostAboveDevice bool
}

// Offer returns a feature of the engine; nil where it has none such.
func (e *Engine) Offer(f Feature) *Offered {
	for i := range e.Serves.Offers {
		if o := &e.Serves.Offers[i]; o.Feature == f {
			return o
		}
	}
	return nil
}

// Features lists what options ask for.
func Features(o *v1alpha1.ServingOptions) []Feature {
	var list []Feature
	for _, asked := range []struct {
		feature Feature
		is      bool
	}{
		{FeatureUtilization, o.MemoryUtilizationPercent > 0},
		{FeatureTokens, o.MaxBatchedTokens > 0},
		{FeatureChunks, o.ChunkedPrefill != ""},
		{FeaturePrefixes, o.PrefixCache != nil},
		{FeatureOffload, o.Offload != nil},
		{FeatureAdapters, o.Adapters != nil},
		{FeatureMedia, o.Media != nil},
	} {
		if asked.is {
			list = append(list, asked.feature)
		}
	}
	if s := o.Speculation; s != nil {
		list = append(list, Feature("speculation.method "+string(s.Method)))
	}
	return list
}

// RefusesServing says which of some options the engine does not have, or not in the version that they name, and what to do instead; nil
// where it has all.
func (e *Engine) RefusesServing(o *v1alpha1.ServingOptions) error {
	for _, f := range Features(o) {
		offered := e.Offer(f)
		field, _, _ := strings.Cut(string(f), ".")
		switch {
		case offered == nil:
			return fmt.Errorf("%s is not known to have it: %s, or leave %s out", e.Name, having(f), field)
		case o.EngineVersion != "" && older(o.EngineVersion, offered.Since):
			return fmt.Errorf("%s is known to have it since %s (%s), and engineVersion is %s: start a later version, or leave %s out", e.Name, offered.Since, offered.Source, o.EngineVersion, field)
		}
	}
	if a := o.Adapters; a != nil && e.AdapterRank(int64(a.Rank)) == 0 {
		values := e.Arguments.For(ForAdapterRank).Values
		return fmt.Errorf("%s has room for adapters of rank %s at most: use smaller ones", e.Name, values[len(values)-1])
	}
	return nil
}

// having names the engines that have a feature.
func having(f Feature) string {
	var names []v1alpha1.Engine
	for _, e := range table {
		if e.Offer(f) != nil {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return "no engine of the table is"
	}
	return "use the engine " + alternatives(names)
}

// AdapterRank returns the rank in which the engine makes room for adapters of a rank: the next one that it can be told; 0 where it has
// none so large.
func (e *Engine) AdapterRank(rank int64) int64 {
	argument := e.Arguments.For(ForAdapterRank)
	if argument == nil || argument.Takes != Word {
		return rank
	}
	for _, value := range argument.Values {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= rank {
			return n
		}
	}
	return 0
}

// Change is defaults that a version of an engine changed.
type Change struct {
	// Since is the first version with them.
	Since string
	// Permille is the utilization; 0 where it did not change. Batches are the limits of a step; nil where they did not change.
	Permille int64
	Batches  []Batches
	// Whole are layers that keep all tokens; nil where that did not change.
	Whole *WholeLayers
	// Graphs is what recorded launches take within the utilization, in bytes; 0 where that did not change.
	Graphs int64
	// Source is where that is documented.
	Source string
}

// MemoryIn returns the defaults of a version; those of the row where it is empty.
func (e *Engine) MemoryIn(version string) *Memory {
	if version == "" {
		return &e.Memory
	}
	m := e.Memory
	for _, c := range e.Changes {
		if older(version, c.Since) {
			break
		}
		if c.Permille > 0 {
			m.Permille = c.Permille
		}
		if c.Batches != nil {
			m.Batches = c.Batches
		}
		if c.Whole != nil {
			m.Whole = *c.Whole
		}
		if c.Graphs > 0 {
			m.Graphs = c.Graphs
		}
	}
	return &m
}

// CostsIn names the constants of a version's speed; an empty one is now's.
func (e *Engine) CostsIn(version string) string {
	if e.OldCosts != "" && version != "" && older(version, "1") {
		return e.OldCosts
	}
	return string(e.Name)
}

// older says whether a version is before another one: by its numbers in order, without what follows the digits of each.
func older(version, than string) bool {
	return slices.Compare(numbersOf(version), numbersOf(than)) < 0
}

func numbersOf(version string) []int {
	var numbers []int
	for part := range strings.SplitSeq(version, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(part)
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		numbers = append(numbers, n)
	}
	return numbers
}
