package cost

import "math"

// Steps are the times of single steps of a query's instance, for whoever simulates it.
type Steps struct {
	instance instance
	pace     float64
}

// NewSteps returns the steps of a query, corrected as its times are. The query must have passed its Check; its workload does not count.
func NewSteps(q *Query, c *Constants) *Steps {
	return &Steps{newInstance(q, c), math.Exp(q.Correction.Pace)}
}

// Seconds returns the time of a step in which so many sequences get a token each, looking back a context in the mean, beside so many tokens of prompts, of which some
// prompts end. The tokens look back as many in the mean as those of whole prompts of the length. A prompt alone passes the stages one after the other; else each
// stage works on a share of the batch.
func (s *Steps) Seconds(sequences, context, prompt, length, finished float64) float64 {
	b := batch{sequences: sequences, context: context, prompt: prompt, length: length, finished: finished}
	in := &s.instance
	if sequences > 0 || finished > 1 {
		return s.pace * in.step(b)
	}
	_, sum := in.pass(b)
	return s.pace * (soft(sum, in.host(&b)) + in.c[StepSeconds])
}
