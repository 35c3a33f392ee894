package shape

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Summary is degrees above 1 for people: `TP4 PP2 x2`, or `None` for a single device.
func (t *Problem) Summary(s Shape, copies int) string {
	return s.summary(make(words.Wording, 0, 64), copies).String()
}

func (s Shape) summary(text words.Wording, copies int) words.Wording {
	start := len(text)
	add := func(name string, degree int) {
		if degree <= 1 {
			return
		}
		if len(text) > start {
			text = text.Text(" ")
		}
		text = text.Text(name).Number(degree)
	}
	add("TP", s.Tensor)
	add("PP", s.Stages)
	add("DP", s.Data)
	add("CP", s.Context)
	add("EP", s.Expert)
	add("DCP", s.Decode)
	if len(text) == start {
		text = text.Text(string(v1alpha1.StrategyNone))
	}
	add("x", copies)
	return text
}

// Title returns the degrees and the product of a candidate.
func (a *Tier) Title(c *Candidate) string {
	text := c.summary(make(words.Wording, 0, 64), 1).Text(" on ").Text(a.Problem.Cluster.Class(c.Flavor.Class).Name())
	return words.Shorten(text.String(), 64)
}
