package estimate

import (
	"math"

	"github.com/rankwright/rankwright/pkg/cost"
)

// Site is what would be estimated without the measurements of a site, of all replicas, and where these are from.
type Site struct {
	TTFTMillis            float64 `json:"ttftMillis"`
	TPOTMillis            float64 `json:"tpotMillis"`
	OutputTokensPerSecond float64 `json:"outputTokensPerSecond"`
	// Ranges are those without the measurements.
	Ranges Ranges `json:"ranges"`
	// Source names the measurements.
	Source string `json:"source"`
}

// site fills in what a site's measurements changed.
func (a *Answer) site(copies float64) {
	without := a.served.Without
	if without == nil {
		return
	}
	const millis = 1e3
	a.Site = &Site{
		TTFTMillis: rounded(without.TTFT.Value * millis), TPOTMillis: rounded(without.TPOT.Value * millis),
		OutputTokensPerSecond: rounded(without.OutputTokensPerSecond.Value * copies),
		Ranges: Ranges{
			TTFTMillis: rangeOf(without.TTFT, millis), TPOTMillis: rangeOf(without.TPOT, millis), OutputTokensPerSecond: rangeOf(without.OutputTokensPerSecond, copies),
		},
		Source: a.served.Source,
	}
}

// CacheShortfall returns how many bytes of each device the cache is smaller than is counted where one instance holds so many tokens; 0 where it is not.
func (a *Answer) CacheShortfall(tokens int64) int64 {
	counted := a.CacheTokens()
	if counted <= tokens {
		return 0
	}
	least := int64(math.MaxInt64)
	for i := range a.Stages {
		least = min(least, a.Stages[i].CacheRoom)
	}
	return int64(float64(least) * (1 - float64(tokens)/float64(counted)))
}

// CacheTokens returns how many tokens of sequences of the full length the KV caches of one instance hold: as many as its tightest stage does.
func (a *Answer) CacheTokens() int64 {
	least := math.Inf(1)
	for i := range a.Stages {
		s := &a.Stages[i]
		if each := a.footprint.SequenceBytes(s.FirstLayer, s.LastLayer+1); each > 0 {
			least = min(least, float64(s.CacheRoom)/float64(each))
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	longest := a.footprint.Setup().Inference.MaxModelLen
	return int64(least * float64(longest) * float64(a.Degrees.AttentionData))
}

// Sample returns a figure that was measured of the deployment as a sample of its site; rates count the tokens of all replicas, times are in
// seconds. The answer must fit. Doubt is the variance of its logarithm beyond that of any measurement.
func (a *Answer) Sample(figure cost.Figure, measured, doubt float64) cost.Sample {
	e := a.served
	if e.Without != nil {
		e = e.Without
	}
	estimated := [...]float64{
		cost.Rate: e.OutputTokensPerSecond.Value * float64(a.Replicas), cost.PerToken: e.TPOT.Value, cost.FirstToken: e.TTFT.Value,
	}[figure]
	return cost.Sample{Family: a.family, Query: a.query, Figure: figure, Off: math.Log(measured / estimated), Doubt: doubt}
}
