package shape

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestCutForFindsTheEmptiest compares the split that is chosen with all that the engine can run, on unequal devices.
func TestCutForFindsTheEmptiest(t *testing.T) {
	m := plantest.Llama(t, 8)
	m.Architecture.Layers = 9
	counted, err := memory.New(memory.Setup{
		Model: m, Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: memory.Layout{Pipeline: 4},
		Training: &v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 8},
	}, memory.Device{})
	if err != nil {
		t.Fatal(err)
	}
	f := &Footprint{Footprint: counted, amounts: counted, Layers: 9}
	whole := counted.Need(0, 9)
	for _, c := range []engine.Cuts{engine.CutEnds, engine.CutUniform, engine.CutEven} {
		for _, shares := range [][]int64{{10, 10, 10, 10}, {30, 20, 20, 20}, {50, 40, 30, 30}, {60, 35, 35, 20}, {100, 100, 100, 5}} {
			offers := make([]int64, len(shares))
			for i, percent := range shares {
				offers[i] = whole / 100 * percent
			}
			best := 2.0
			plantest.Splits(9, 4, func(ends []int) {
				if !c.Allow(ends) {
					return
				}
				needs := make([]int64, 4)
				first := 0
				for i, end := range ends {
					needs[i], first = f.Bytes(first, end), end
				}
				if worst, ok := fullest(needs, offers); ok && worst <= 1 {
					best = min(best, worst)
				}
			})
			got := f.cutFor(c, offers)
			if (got == nil) != (best > 1) {
				t.Errorf("cuts %d on %v: got %v, the best is %g", c, shares, got, best)
			}
			if got == nil {
				continue
			}
			needs := make([]int64, 4)
			first := 0
			for i, end := range got {
				needs[i], first = f.Bytes(first, end), end
			}
			if worst, ok := fullest(needs, offers); !ok || worst != best || !c.Allow(got) {
				t.Errorf("cuts %d on %v: %v is %g full, the best is %g", c, shares, got, worst, best)
			}
		}
	}
}
