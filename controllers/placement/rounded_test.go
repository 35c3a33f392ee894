package placement

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestEstimateIsRounded holds that the status shows no digits that the range denies, and that the plan keeps its own.
func TestEstimateIsRounded(t *testing.T) {
	exact := &v1alpha1.Estimate{TokensPerSecond: v1alpha1.Expected{Value: 1803, Low: 1502, High: 2164}, TPOTMicros: v1alpha1.Expected{Value: 41234, Low: 38765, High: 43890}}
	got := rounded(exact)
	if want := (v1alpha1.Expected{Value: 1800, Low: 1500, High: 2200}); got.TokensPerSecond != want || exact.TokensPerSecond.Value != 1803 {
		t.Errorf("got %+v of %+v, want %+v", got.TokensPerSecond, exact.TokensPerSecond, want)
	}
	if want := (v1alpha1.Expected{Value: 41200, Low: 38800, High: 43900}); got.TPOTMicros != want {
		t.Errorf("got %+v, want %+v", got.TPOTMicros, want)
	}
	if rounded(nil) != nil {
		t.Error("nothing became an estimate")
	}
}
