package engine

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// compositions visits every way to divide layers into stages of one layer and more, as the layer after each stage.
func compositions(layers, stages int, visit func(ends []int)) {
	var add func(ends []int)
	add = func(ends []int) {
		first := 0
		if len(ends) > 0 {
			first = ends[len(ends)-1]
		}
		if len(ends) == stages-1 {
			if first < layers {
				visit(append(ends, layers))
			}
			return
		}
		for end := first + 1; end < layers; end++ {
			add(append(slices.Clone(ends), end))
		}
	}
	add(nil)
}

// legalBy says in each engine's terms whether it can run a split.
var legalBy = map[Cuts]func(split []int) bool{
	CutAnywhere: func([]int) bool { return true },
	CutEnds: func(split []int) bool {
		return len(split) < 4 || len(slices.Compact(slices.Clone(split[1:len(split)-1]))) == 1
	},
	CutUniform: func(split []int) bool {
		return slices.IsSortedFunc(split, func(a, b int) int { return b - a }) && split[0]-split[len(split)-1] <= 1
	},
	CutEven: func(split []int) bool { return len(slices.Compact(slices.Clone(split))) == 1 },
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
					if c.Allow(ends) != ok {
						t.Errorf("cuts %d: Allow(%v) is %v", c, ends, !ok)
					}
				})
				if c == CutAnywhere {
					continue
				}
				c.Each(layers, stages, func(ends []int) bool {
					if got[fmt.Sprint(ends)] {
						t.Errorf("cuts %d visits %v twice", c, ends)
					}
					got[fmt.Sprint(ends)] = true
					return true
				})
				if fmt.Sprint(got) != fmt.Sprint(want) || c.Possible(layers, stages) != (len(want) > 0) {
					t.Errorf("cuts %d, %d layers in %d stages: got %v, want %v", c, layers, stages, got, want)
				}
			}
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range [][2]int{{4, 0}, {4, -1}, {3, 4}, {0, 0}} {
		if got := vllm.Stages.Split(c[0], c[1]); got != nil {
			t.Errorf("%d layers in %d stages: got %v", c[0], c[1], got)
		}
	}
}

// TestSplitsAreEven: by default every layer has a stage, stages differ by a layer at most where they may, and the engine takes
// the split; where it takes none so even, none that it takes has a smaller largest stage.
func TestSplitsAreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(table).Draw(t, "engine")
		layers := rapid.IntRange(1, 200).Draw(t, "layers")
		stages := rapid.IntRange(1, layers).Draw(t, "stages")
		split := e.Stages.Split(layers, stages)
		sum := 0
		for _, n := range split {
			sum += n
		}
		if len(split) != stages || sum != layers || slices.Min(split) < 1 {
			t.Fatalf("%s: %d layers in %d stages: %v", e.Name, layers, stages, split)
		}
		if !e.Stages.Cuts.Possible(layers, stages) {
			return
		}
		if r := e.RefusesSplit(split, nil); r != nil {
			t.Fatalf("%d layers in %d stages: %v", layers, stages, r)
		}
		if e.Stages.Cuts != CutEnds {
			if slices.Max(split)-slices.Min(split) > 1 {
				t.Fatalf("%s: %d layers in %d stages: %v", e.Name, layers, stages, split)
			}
			return
		}
		e.Stages.Cuts.Each(layers, stages, func(ends []int) bool {
			largest := ends[0]
			for i := range ends[1:] {
				largest = max(largest, ends[i+1]-ends[i])
			}
			if largest < slices.Max(split) {
				t.Fatalf("%s: %d layers in %d stages: %v, and stages that end at %v are smaller", e.Name, layers, stages, split, ends)
			}
			return true
		})
	})
}
