package engine

import "testing"

// TestTokensOfEach: an engine whose limit holds for all data ranks together divides its default among few of them, and gives none less
// than the fewest.
func TestTokensOfEach(t *testing.T) {
	divided, each := Memory{TokensOfAllData: true}, Memory{}
	for _, test := range []struct {
		memory                     Memory
		tokens, data, fewest, want int64
	}{
		{divided, 8192, 1, 2048, 8192},
		{divided, 8192, 2, 2048, 4096},
		{divided, 8192, 32, 2048, 2048},
		{divided, 1024, 8, 2048, 1024},
		{divided, 2048, 8, 1, 256},
		{divided, 2048, 4096, 1, 1},
		{each, 8192, 32, 2048, 8192},
	} {
		if got := test.memory.TokensOfEach(test.tokens, test.data, test.fewest); got != test.want {
			t.Errorf("%d tokens, %d data ranks: %d each, want %d", test.tokens, test.data, got, test.want)
		}
	}
}
