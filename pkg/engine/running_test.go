package engine

import "testing"

// TestRunningOfSGLang holds the default number of running requests to what SGLang's table gives, within its bounds.
func TestRunningOfSGLang(t *testing.T) {
	for _, test := range []struct{ tokens, context, want int64 }{
		{200_000, 40_960, 2500}, // 200,000 / 40,960 × 512
		{20_000, 40_960, 2048},
		{1_000_000, 40_960, 4096},
		{3000, 40_960, 1500}, // two tokens each
		{1, 40_960, 1},
		{1_000_000, 0, 4096},
	} {
		if got := sglang.Running.Of(test.tokens, test.context); got != test.want {
			t.Errorf("%d tokens, contexts of %d: %d run, want %d", test.tokens, test.context, got, test.want)
		}
	}
}
