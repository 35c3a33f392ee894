package plan

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// summary is degrees above 1 for people: `TP4 PP2 x2`, or `None` for a single device.
func (t *task) summary(s shape, copies int) string {
	return s.summary(make(wording, 0, 64), copies).String()
}

func (s shape) summary(text wording, copies int) wording {
	start := len(text)
	add := func(name string, degree int) {
		if degree <= 1 {
			return
		}
		if len(text) > start {
			text = text.text(" ")
		}
		text = text.text(name).number(degree)
	}
	add("TP", s.tensor)
	add("PP", s.stages)
	add("DP", s.data)
	add("CP", s.context)
	add("EP", s.expert)
	add("DCP", s.decode)
	if len(text) == start {
		text = text.text(string(v1alpha1.StrategyNone))
	}
	add("x", copies)
	return text
}

// title returns the degrees and the product of a candidate.
func (a *attempt) title(c *candidate) string {
	text := c.summary(make(wording, 0, 64), 1).text(" on ").text(a.task.cluster.Class(c.lane.class).Name())
	return words.Shorten(text.String(), 64)
}
