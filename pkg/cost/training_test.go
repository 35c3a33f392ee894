package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestContextByHand holds context ranks to their share of the tokens, and to passing keys and values of 8 heads of 128 on
// to the others in each of the 32 layers and both passes.
func TestContextByHand(t *testing.T) {
	c := ideal()
	job := Training{
		Profile: profile(t, "Llama-3.1-8B", v1alpha1.BF16), Device: product(t, "NVIDIA H200"), Batch: 4, MicroBatch: 1, Sequence: 65536,
		Frozen: true, ContextRate: 4e11,
	}
	alone := job.Step(&c)
	for _, context := range []int{2, 4, 8} {
		job.Context = context
		n := float64(context)
		sent := 4 * 2 * 32 * (n - 1) * 65536 / n * 8 * 2 * 128 * 2 / 4e11
		if want := alone/n + sent; math.Abs(job.Step(&c)/want-1) > 1e-9 {
			t.Errorf("context %d: %g s, want %g", context, job.Step(&c), want)
		}
	}
	job.ContextRate = math.Inf(1)
	if err := job.Check(); err == nil || !strings.Contains(err.Error(), "contextRate") {
		t.Errorf("an infinite rate: %v", err)
	}
}
