package engine_test

import (
	"slices"
	"testing"

	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestTensorDegrees(t *testing.T) {
	tests := map[string]struct {
		limit int
		want  []int
	}{
		"Llama-3.1-8B":  {16, []int{1, 2, 4, 8, 16}},
		"Qwen2.5-0.5B":  {16, []int{1, 2}},   // 14 heads and a block of 4864
		"Falcon-7B":     {128, []int{1, 71}}, // 71 heads
		"Qwen3-30B-A3B": {64, []int{1, 2, 4, 8, 16, 32}},
		"DeepSeek-V3":   {32, []int{1, 2, 4, 8, 16, 32}},
		"Phi-4":         {8, []int{1, 2, 5}}, // 10 key heads
		"Llama-3.1-70B": {0, nil},
	}
	for name, test := range tests {
		m, err := model.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := engine.TensorDegrees(&m.Architecture, test.limit); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
