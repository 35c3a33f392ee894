package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
)

// compositions visits every way to divide layers into stages of one layer and more.
func compositions(layers, stages int, visit func(ends []int)) { splits(layers, stages, visit) }

// legalBy says in each engine's terms whether it can run a split.
var legalBy = map[cuts]func(split []int) bool{
	cutAnywhere: func([]int) bool { return true },
	cutEnds: func(split []int) bool {
		return len(split) < 4 || len(slices.Compact(slices.Clone(split[1:len(split)-1]))) == 1
	},
	cutUniform: func(split []int) bool {
		return slices.IsSortedFunc(split, func(a, b int) int { return b - a }) && split[0]-split[len(split)-1] <= 1
	},
	cutEven: func(split []int) bool { return len(slices.Compact(slices.Clone(split))) == 1 },
}

func splitOf(ends []int) []int {
	split := slices.Clone(ends)
	for i := len(split) - 1; i > 0; i-- {
		split[i] -= split[i-1]
	}
	return split
}

// TestCutsAreThoseOfTheEngine compares the ways with all ways there are.
func TestCutsAreThoseOfTheEngine(t *testing.T) {
	for c, legal := range legalBy {
		for layers := 1; layers <= 10; layers++ {
			for stages := 1; stages <= layers+1; stages++ {
				want, got := map[string]bool{}, map[string]bool{}
				compositions(layers, stages, func(ends []int) {
					ok := legal(splitOf(ends))
					if ok {
						want[fmt.Sprint(ends)] = true
					}
					if c.allow(ends) != ok {
						t.Errorf("cuts %d: allow(%v) is %v", c, ends, !ok)
					}
				})
				if c == cutAnywhere {
					continue
				}
				c.each(layers, stages, func(ends []int) bool {
					if got[fmt.Sprint(ends)] {
						t.Errorf("cuts %d visits %v twice", c, ends)
					}
					got[fmt.Sprint(ends)] = true
					return true
				})
				if fmt.Sprint(got) != fmt.Sprint(want) || c.possible(layers, stages) != (len(want) > 0) {
					t.Errorf("cuts %d, %d layers in %d stages: got %v, want %v", c, layers, stages, got, want)
				}
			}
		}
	}
}

// TestCutForFindsTheEmptiest compares the split that is chosen with all that the engine can run, on unequal devices.
func TestCutForFindsTheEmptiest(t *testing.T) {
	m := llama(t, 8)
	m.Architecture.Layers = 9
	counted, err := memory.New(memory.Setup{
		Model: m, Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: memory.Layout{Pipeline: 4},
		Training: &v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 8},
	}, memory.Device{})
	if err != nil {
		t.Fatal(err)
	}
	f := &footprint{Footprint: counted, amounts: counted, layers: 9}
	whole := counted.Need(0, 9)
	for c, legal := range legalBy {
		if c == cutAnywhere {
			continue
		}
		for _, shares := range [][]int64{{10, 10, 10, 10}, {30, 20, 20, 20}, {50, 40, 30, 30}, {60, 35, 35, 20}, {100, 100, 100, 5}} {
			offers := make([]int64, len(shares))
			for i, percent := range shares {
				offers[i] = whole / 100 * percent
			}
			best := 2.0
			compositions(9, 4, func(ends []int) {
				if !legal(splitOf(ends)) {
					return
				}
				needs := make([]int64, 4)
				first := 0
				for i, end := range ends {
					needs[i], first = f.bytes(first, end), end
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
				needs[i], first = f.bytes(first, end), end
			}
			if worst, ok := fullest(needs, offers); !ok || worst != best || !legal(splitOf(got)) {
				t.Errorf("cuts %d on %v: %v is %g full, the best is %g", c, shares, got, worst, best)
			}
		}
	}
}

// TestPlansKeepTheEnginesSplit plans pipelines of 61 and 126 layers on devices of two kinds with engines that cannot be
// given any split; checkPlan holds each to its engine's checks.
func TestPlansKeepTheEnginesSplit(t *testing.T) {
	small, large := a100, h200
	small.mib = 40960
	nodes := []fleet.Node{host("a", true, times8(large)...), host("b", true, times8(small)...), host("c", true, times8(small)...)}
	for _, e := range []v1alpha1.Engine{"Megatron", "DeepSpeed", "JAX", "Torch", "MPI"} {
		planned := 0
		for _, layers := range []int32{60, 61, 80} {
			for _, stages := range []int32{2, 3, 4, 5} {
				m := llama(t, 70)
				m.Architecture.Layers = layers
				r := ask(t, m, 1, 1, engine(e), train(v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: 60, Method: "LoRA", ActivationCheckpointing: true}),
					parallelism(v1alpha1.Parallelism{Pipeline: ptr(stages)}))
				spec, err := Plan(fleet.NewCluster(nodes), r)
				if err != nil {
					if e == "JAX" && layers%stages != 0 {
						continue
					}
					t.Errorf("%s, %d layers in %d stages: %v", e, layers, stages, err)
					continue
				}
				planned++
				checkPlan(t, nodes, r, spec)
			}
		}
		if planned < 6 {
			t.Errorf("%s: %d plans", e, planned)
		}
	}
}
