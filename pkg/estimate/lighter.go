package estimate

import (
	"fmt"
	"strings"
)

// lighterSteps are limits of a step that are tried where a model does not fit with the engine's, the largest first. An engine's
// defaults take up to 8 GiB for a large vocabulary, of which a smaller limit of sequences gives most back.
var lighterSteps = []struct{ sequences, tokens int64 }{
	{512, 0}, {256, 0}, {128, 0}, {64, 0}, {64, 2048}, {16, 2048}, {16, 1024}, {16, 512},
}

// lighter adds to the reason why a deployment does not fit the largest limits of a step with which it does, where there are any and
// none was asked for.
func (s *Serving) lighter(p *place, reason string) (string, error) {
	if s.MaxSequences > 0 || s.MaxBatchedTokens > 0 {
		return reason, nil
	}
	for _, step := range lighterSteps {
		if s.Concurrency > step.sequences*int64(s.Replicas*p.Degrees.AttentionData) {
			break
		}
		lighter := *s
		lighter.MaxSequences, lighter.MaxBatchedTokens = step.sequences, step.tokens
		l, err := lighter.look(p, p.Degrees.parallelism(p.Degrees.AttentionData, 1), p.Degrees.Devices())
		if err != nil {
			return "", err
		}
		got, err := lighter.on(p, l)
		if err != nil {
			return "", err
		}
		if got.Fits {
			return withRemedy(reason, step.sequences, step.tokens), nil
		}
	}
	return reason, nil
}

// withRemedy puts limits before the other remedies, which end a reason.
func withRemedy(reason string, sequences, tokens int64) string {
	limits := fmt.Sprintf("--max-sequences %d", sequences)
	if tokens > 0 {
		limits += fmt.Sprintf(" and --max-batched-tokens %d", tokens)
	}
	what, others, _ := strings.Cut(reason, ": ")
	return fmt.Sprintf("%s: it fits with %s; else %s", what, limits, others)
}
