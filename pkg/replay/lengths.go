package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Distribution is lengths of requests, of a gamma distribution each, with where they were published.
type Distribution struct {
	Name string
	// Input and Output are means of tokens, Variation the standard deviation as a share of either, Longest the most tokens of both together (0: any).
	Input, Output, Variation float64
	Longest                  int
	Source                   string
}

// ShareGPT is the lengths of conversations with ChatGPT that were shared, as load generators send them: those of more than 2048 tokens together are left out.
var ShareGPT = Distribution{
	Name: "ShareGPT", Input: 217, Output: 202, Variation: 1, Longest: 2048,
	Source: "ShareGPT_V3_unfiltered_cleaned_split, 1000 prompts of vllm bench serve: https://docs.gpustack.ai/latest/performance-lab/qwen3-14b/h100",
}

// published are the distributions that are known by name.
var published = []Distribution{ShareGPT}

// Names lists the distributions that are known by name.
func Names() []string {
	names := make([]string, len(published))
	for i := range published {
		names[i] = published[i].Name
	}
	return names
}

// Named returns a distribution by its name in any case.
func Named(name string) (Distribution, bool) {
	at := slices.IndexFunc(published, func(d Distribution) bool { return strings.EqualFold(d.Name, name) })
	if at < 0 {
		return Distribution{}, false
	}
	return published[at], true
}

// Draw returns so many requests with the distribution's lengths, all sent at once. Prompts and answers are the quantiles at points that fill the unit
// square evenly (the additive recurrence with the plastic number, Roberts 2018), so that few requests have the means of many.
func (d *Distribution) Draw(n int) *Trace {
	t := &Trace{Requests: make([]Request, n), Source: d.Source}
	const plastic = 1.32471795724474602596
	for i := range t.Requests {
		step := float64(i + 1)
		at := func(by float64) float64 { _, f := math.Modf(0.5 + step*by); return f }
		input, output := whole(d.Input, d.Variation, at(1/plastic)), whole(d.Output, d.Variation, at(1/(plastic*plastic)))
		if d.Longest > 1 {
			input = min(input, d.Longest-1)
			output = min(output, d.Longest-input)
		}
		t.Requests[i] = Request{Input: input, Output: output}
	}
	switch {
	case d.Source != "":
	case d.Variation <= 0:
		t.Source = fmt.Sprintf("each with %.0f tokens in and %.0f out", d.Input, d.Output)
	default:
		t.Source = fmt.Sprintf("lengths of a gamma distribution with means of %.0f and %.0f tokens and deviations of %.0f %%", d.Input, d.Output, 100*d.Variation)
	}
	return t
}

func whole(mean, variation, share float64) int {
	return int(min(maxTokens, max(1, math.Round(mean*Quantile(variation, share)))))
}

// Quantile returns the multiple of the mean below which a share of lengths of a gamma distribution lies whose deviation is so much of its mean.
func Quantile(deviation, share float64) float64 {
	if deviation <= 0 {
		return 1
	}
	k := 1 / (deviation * deviation)
	low, high := 0.0, 1.0
	for gamma(k, k*high) < share && high < 1e6 {
		low, high = high, 2*high
	}
	for range 60 {
		if middle := (low + high) / 2; gamma(k, k*middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// gamma returns the regularized lower incomplete gamma function, by its series below the mean and by Lentz's continued fraction above it
// (Abramowitz and Stegun 6.5.29 and 6.5.31).
func gamma(k, x float64) float64 {
	if x <= 0 {
		return 0
	}
	logarithm, _ := math.Lgamma(k)
	front := math.Exp(k*math.Log(x) - x - logarithm)
	if x < k+1 {
		sum, term := 1/k, 1/k
		for n := k + 1; term > 1e-15*sum; n++ {
			term *= x / n
			sum += term
		}
		return front * sum
	}
	const tiny = 1e-300
	b := x + 1 - k
	c, d := 1/tiny, 1/b
	f := d
	for i := 1.0; i < 1000; i++ {
		a := -i * (i - k)
		b += 2
		d = 1 / nonzero(a*d+b)
		c = nonzero(b + a/c)
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return 1 - front*f
}

func nonzero(v float64) float64 {
	if math.Abs(v) < 1e-300 {
		return 1e-300
	}
	return v
}
