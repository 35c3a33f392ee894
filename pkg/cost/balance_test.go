package cost

import (
	"math"
	"testing"
)

// TestFullest holds the largest of normal numbers to published expectations. Source: Harter, Expected Values of Normal Order Statistics, 1961.
func TestFullest(t *testing.T) {
	for n, want := range map[float64]float64{8: 1.4236, 32: 2.0697, 64: 2.3437} {
		if got := fullest(n); math.Abs(got/want-1) > 0.01 {
			t.Errorf("of %g: %.4f, want %.4f", n, got, want)
		}
	}
}

// TestUneven: experts that engines balance are uneven as they were measured to be, more so the more ranks share them and the fewer tokens
// each has, and not at all more than in the tables where no more ranks share them than there.
func TestUneven(t *testing.T) {
	published := 1 + fullest(36)*math.Sqrt(skew*skew+1./1024)
	if math.Abs(published-1.1154) > 0.01 {
		t.Errorf("the fullest of 36 ranks has %.4f of the mean, 1.1154 was measured", published)
	}
	over := func(ranks, each float64) float64 {
		u := unevenOver(ranks)
		return u.of(ranks * each)
	}
	if over(8, 10) != 1 || over(1, 10) != 1 {
		t.Errorf("%g and %g on as many ranks as were measured", over(8, 10), over(1, 10))
	}
	for _, pair := range [][2]float64{{over(16, 1024), over(32, 1024)}, {over(32, 1024), over(64, 1024)}, {over(32, 1024), over(32, 64)}, {1, over(9, 1e9)}} {
		if pair[0] >= pair[1] {
			t.Errorf("%g is not less than %g", pair[0], pair[1])
		}
	}
	if got := over(32, 1024); got > 1.04 {
		t.Errorf("32 ranks with 1024 visits each take %g times as long as 8", got)
	}
}
