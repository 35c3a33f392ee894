package mesh

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
)

// groupTable is a table of process groups that another system forms. Groups are named by their dimensions; `ep` alone is
// the engine's expert group.
type groupTable struct {
	ID     string               `json:"id"`
	Source string               `json:"source"`
	Order  string               `json:"order"`
	Engine string               `json:"engine"`
	Sizes  map[string]int       `json:"sizes"`
	Groups map[string][][]int32 `json:"groups"`
	SameAs string               `json:"same_groups_as"`
}

type splitTable struct {
	Layers   int   `json:"layers"`
	Stages   int   `json:"pp"`
	VLLM     []int `json:"vLLM"`
	SGLang   []int `json:"SGLang"`
	TensorRT []int `json:"TensorRT-LLM"`
}

type truth struct {
	Tables []groupTable `json:"tables"`
	Splits []splitTable `json:"default_layer_splits"`
}

func sequence(first, count, step int32) []int32 {
	s := make([]int32, count)
	for i := range s {
		s[i] = first + int32(i)*step
	}
	return s
}

// runs are count groups of size ranks each, the first of each group apart by stride, its members by step.
func runs(count, size, stride, step int32) [][]int32 {
	groups := make([][]int32, count)
	for i := range groups {
		groups[i] = sequence(int32(i)*stride, size, step)
	}
	return groups
}

var m1 = map[string][][]int32{
	"tp":    {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
	"dp":    {{0, 2}, {1, 3}, {4, 6}, {5, 7}},
	"pp":    {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
	"tp-pp": {{0, 1, 4, 5}, {2, 3, 6, 7}},
	"tp-dp": {{0, 1, 2, 3}, {4, 5, 6, 7}},
}

// known are tables from other systems' own code and documentation.
var known = truth{
	Tables: []groupTable{
		{ID: "M1", Source: "Megatron-LM RankGenerator", Order: "tp-cp-ep-dp-pp", Sizes: map[string]int{"tp": 2, "dp": 2, "pp": 2}, Groups: m1},
		{ID: "M2", Source: "Megatron-LM RankGenerator", Order: "tp-cp-ep-pp-dp", Sizes: map[string]int{"tp": 2, "dp": 2, "pp": 2}, Groups: map[string][][]int32{
			"tp": runs(4, 2, 2, 1), "pp": {{0, 2}, {1, 3}, {4, 6}, {5, 7}}, "dp": runs(4, 2, 1, 4),
		}},
		{ID: "M3", Source: "Megatron-LM parallel_state docstring", Order: "tp-cp-ep-dp-pp", Sizes: map[string]int{"tp": 2, "pp": 4, "dp": 2}, Groups: map[string][][]int32{
			"dp": {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}, "tp": runs(8, 2, 2, 1), "pp": runs(4, 4, 1, 4),
			"tp-pp": {{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}},
		}},
		{ID: "M4", Source: "Megatron-LM RankGenerator", Order: "tp-cp-ep-dp-pp", Sizes: map[string]int{"tp": 8, "pp": 2}, Groups: map[string][][]int32{
			"tp": runs(2, 8, 8, 1), "pp": runs(8, 2, 1, 8), "dp": runs(16, 1, 1, 1),
		}},
		{ID: "M5", Source: "Megatron-LM RankGenerator", Order: "tp-cp-ep-dp-pp", Sizes: map[string]int{"tp": 1, "pp": 4, "dp": 2}, Groups: map[string][][]int32{
			"pp": runs(2, 4, 1, 2), "dp": runs(4, 2, 2, 1),
		}},
		{ID: "M6", Source: "Megatron-LM docstring", Order: "tp-cp-ep-dp-pp", Sizes: map[string]int{"tp": 4, "cp": 2}, Groups: map[string][][]int32{
			"tp": runs(2, 4, 4, 1), "cp": runs(4, 2, 1, 4), "dp-cp": runs(4, 2, 1, 4), "tp-cp": runs(1, 8, 8, 1),
		}},
		{ID: "V1", Source: "vLLM layout", Engine: "vLLM", Sizes: map[string]int{"tp": 2, "pp": 2, "dp": 2}, Groups: map[string][][]int32{
			"tp": runs(4, 2, 2, 1), "pp": {{0, 2}, {1, 3}, {4, 6}, {5, 7}}, "dp": runs(4, 2, 1, 4), "ep": {{0, 1, 4, 5}, {2, 3, 6, 7}},
		}},
		{ID: "V2", Source: "vLLM docstring", Engine: "vLLM", Sizes: map[string]int{"tp": 2, "pp": 4}, Groups: map[string][][]int32{
			"tp": runs(4, 2, 2, 1), "pp": runs(2, 4, 1, 2),
		}},
		{ID: "S2", Source: "SGLang docstring", Engine: "SGLang", Sizes: map[string]int{"tp": 2, "pp": 4}, Groups: map[string][][]int32{
			"tp": runs(4, 2, 2, 1), "pp": runs(2, 4, 1, 2),
		}},
		{ID: "T1", Source: "TensorRT-LLM Mapping", Engine: "TensorRT-LLM", Sizes: map[string]int{"tp": 4, "pp": 2}, Groups: map[string][][]int32{
			"tp": runs(2, 4, 4, 1), "pp": runs(4, 2, 1, 4),
		}},
		{ID: "P1", Source: "PyTorch init_device_mesh", Order: "tp-dp", Sizes: map[string]int{"dp": 2, "tp": 4}, Groups: map[string][][]int32{
			"tp": runs(2, 4, 4, 1), "dp": runs(4, 2, 1, 4),
		}},
		{ID: "D1", Source: "DeepSpeed axes", Engine: "DeepSpeed", Sizes: map[string]int{"tp": 2, "pp": 2, "dp": 2}, SameAs: "M1"},
		{ID: "P2", Source: "torchtitan mesh", Engine: "torchtitan", Sizes: map[string]int{"tp": 2, "pp": 2, "dp": 2}, SameAs: "M1"},
	},
	Splits: []splitTable{
		{Layers: 61, Stages: 2, VLLM: []int{31, 30}, SGLang: []int{30, 31}, TensorRT: []int{31, 30}},
		{Layers: 61, Stages: 4, VLLM: []int{15, 15, 16, 15}, SGLang: []int{15, 15, 15, 16}, TensorRT: []int{16, 15, 15, 15}},
		{Layers: 80, Stages: 3, VLLM: []int{27, 27, 26}, SGLang: []int{26, 27, 27}, TensorRT: []int{27, 27, 26}},
		{Layers: 62, Stages: 4, VLLM: []int{15, 16, 16, 15}, SGLang: []int{15, 15, 16, 16}, TensorRT: []int{16, 16, 15, 15}},
	},
}

func TestKnownTables(t *testing.T) { checkTruth(t, known) }

func TestSharedTables(t *testing.T) {
	const table = "truth/rank_groups.json"
	var shared truth
	facts.Decode(t, table, &shared)
	if len(shared.Tables) < 10 || len(shared.Splits) < 4 {
		t.Fatalf("%s has %d tables and %d splits: expected at least 10 and 4", table, len(shared.Tables), len(shared.Splits))
	}
	checkTruth(t, shared)
}

func checkTruth(t *testing.T, truth truth) {
	t.Helper()
	byID := map[string]groupTable{}
	for _, table := range truth.Tables {
		byID[table.ID] = table
	}
	for _, table := range truth.Tables {
		t.Run(table.ID, func(t *testing.T) {
			of := v1alpha1.Engine(table.Engine)
			if of == "torchtitan" {
				of = v1alpha1.EngineTorch
			}
			order := table.Order
			if order == "" {
				order = rowOf(t, of).Ranks.Order
			}
			m, err := New(order, table.Sizes)
			if err != nil {
				t.Fatal(err)
			}
			want := table.Groups
			if table.SameAs != "" {
				want = byID[table.SameAs].Groups
			}
			if len(want) == 0 {
				t.Fatal("the table has no groups")
			}
			for name, groups := range want {
				got, err := m.Groups(strings.Split(name, "-")...)
				if name == "ep" {
					got, _, err = m.ExpertGroups(of, 0)
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(groups, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
	for _, split := range truth.Splits {
		for name, want := range map[v1alpha1.Engine][]int{
			v1alpha1.EngineVLLM: split.VLLM, v1alpha1.EngineSGLang: split.SGLang, v1alpha1.EngineTensorRTLLM: split.TensorRT,
		} {
			if got := rowOf(t, name).Stages.Split(split.Layers, split.Stages); !slices.Equal(got, want) {
				t.Errorf("%d layers in %d stages of %s: got %v, want %v", split.Layers, split.Stages, name, got, want)
			}
		}
	}
}
