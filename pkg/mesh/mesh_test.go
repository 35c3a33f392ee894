package mesh

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

func TestNewRefuses(t *testing.T) {
	seventeen := make([]string, 17)
	for i := range seventeen {
		seventeen[i] = fmt.Sprintf("d%d", i)
	}
	for name, test := range map[string]struct {
		order string
		sizes map[string]int
		want  string
	}{
		"empty order":            {"", nil, `"" is no name of a dimension`},
		"empty name":             {"tp--pp", nil, `"" is no name of a dimension`},
		"upper case":             {"TP-pp", nil, `"TP" is no name of a dimension`},
		"long name":              {strings.Repeat("a", 33), nil, "is no name of a dimension"},
		"repeated":               {"tp-pp-tp", nil, `names dimension "tp" twice`},
		"too many dimensions":    {strings.Join(seventeen, "-"), nil, "has 17 dimensions: at most 16"},
		"zero":                   {"tp-pp", map[string]int{"tp": 0}, `size of dimension "tp" is 0: it must be at least 1`},
		"negative":               {"tp-pp", map[string]int{"pp": -4}, `size of dimension "pp" is -4`},
		"zero outside the order": {"tp", map[string]int{"dp": 0}, `size of dimension "dp" is 0`},
		"not in the order":       {"tp-pp", map[string]int{"dp": 2}, `dimension "dp" has size 2 but the order "tp-pp" lacks it`},
		"too many ranks":         {"tp-pp", map[string]int{"tp": 1024, "pp": 1025}, "tp=1024 pp=1025 has more than 1048576 ranks"},
		"overflow":               {"tp-pp-dp", map[string]int{"tp": 1 << 32, "pp": 1 << 32, "dp": 2}, "more than 1048576 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(test.order, test.sizes)
			if err == nil {
				t.Fatalf("got a mesh of %d ranks", m.WorldSize())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want it to contain %q", err, test.want)
			}
		})
	}
}

func TestNewTakesTheLargestWorld(t *testing.T) {
	m, err := New("tp-pp-dp", map[string]int{"tp": 1024, "pp": 1024, "ep": 1})
	if err != nil {
		t.Fatal(err)
	}
	if m.WorldSize() != MaxWorldSize || m.Shape() != "tp1024 pp1024" {
		t.Errorf("got %d ranks, shape %q", m.WorldSize(), m.Shape())
	}
	last, err := m.Rank(map[string]int{"tp": 1023, "pp": 1023})
	if err != nil || last != MaxWorldSize-1 {
		t.Errorf("last rank: got %d, %v", last, err)
	}
}

func TestOutsideOfTheMesh(t *testing.T) {
	m, err := New("tp-pp", map[string]int{"tp": 2, "pp": 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"rank 0 to 3":               func() error { _, err := m.Coordinates(4); return err },
		"rank -1":                   func() error { _, err := m.Coordinates(-1); return err },
		"coordinate tp=2":           func() error { _, err := m.Rank(map[string]int{"tp": 2}); return err },
		"coordinate pp=-1":          func() error { _, err := m.Rank(map[string]int{"pp": -1}); return err },
		`no dimension "dp"`:         func() error { _, err := m.Rank(map[string]int{"dp": 0}); return err },
		`has no dimension "dp"`:     func() error { _, err := m.Groups("dp"); return err },
		`"tp" is named twice`:       func() error { _, err := m.Groups("tp", "tp"); return err },
		"at least one dimension":    func() error { _, err := m.Groups(); return err },
		"expert size 3":             func() error { _, _, err := m.ExpertGroups(v1alpha1.EngineTorch, 3); return err },
		"set it to 2":               func() error { _, _, err := m.ExpertGroups(v1alpha1.EngineVLLM, 1); return err },
		"is not known":              func() error { _, _, err := m.ExpertGroups("abacus", 1); return err },
		"expert groups of Megatron": func() error { _, _, err := m.ExpertGroups(v1alpha1.EngineMegatron, 1); return err },
	} {
		err := call()
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "ranks 0 to 3", "rank 0 to 3"), name) {
			t.Errorf("got %v, want it to contain %q", err, name)
		}
	}
}

// Defects of an earlier mesh: a combination lacked pipeline and data groups, and ranks that no degree covered lay idle.
func TestCombinationHasAllGroups(t *testing.T) {
	m, err := New("tp-pp-dp", map[string]int{"tp": 2, "pp": 2, "dp": 2})
	if err != nil {
		t.Fatal(err)
	}
	for dimension, want := range map[string]string{"pp": "[[0 2] [1 3] [4 6] [5 7]]", "dp": "[[0 4] [1 5] [2 6] [3 7]]"} {
		if got, err := m.Groups(dimension); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, %v, want %s", dimension, got, err, want)
		}
	}
}

// rowOf is what is known of an engine.
func rowOf(t *testing.T, name v1alpha1.Engine) *engine.Engine {
	t.Helper()
	e, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExpertGroups(t *testing.T) {
	for name, test := range map[string]struct {
		engine v1alpha1.Engine
		sizes  map[string]int
		expert int
		want   string
		over   string
	}{
		"Megatron reuses data ranks":           {v1alpha1.EngineMegatron, map[string]int{"tp": 2, "dp": 4}, 2, "[[0 2] [1 3] [4 6] [5 7]]", "[cp dp]"},
		"TensorRT-LLM takes neighbours":        {v1alpha1.EngineTensorRTLLM, map[string]int{"tp": 8}, 4, "[[0 1 2 3] [4 5 6 7]]", "[tp dp]"},
		"TensorRT-LLM counts data as tensor":   {v1alpha1.EngineTensorRTLLM, map[string]int{"dp": 8, "pp": 2}, 4, "[[0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]]", "[tp dp]"},
		"SGLang strides":                       {v1alpha1.EngineSGLang, map[string]int{"tp": 8}, 4, "[[0 2 4 6] [1 3 5 7]]", "[tp dp]"},
		"SGLang counts data as tensor":         {v1alpha1.EngineSGLang, map[string]int{"tp": 2, "dp": 4, "pp": 2}, 8, "[[0 1 2 3 4 5 6 7] [8 9 10 11 12 13 14 15]]", "[tp dp]"},
		"vLLM takes all ranks of a stage":      {v1alpha1.EngineVLLM, map[string]int{"tp": 2, "dp": 2, "pp": 2}, 4, "[[0 1 4 5] [2 3 6 7]]", "[tp dp]"},
		"no engine is vLLM":                    {"", map[string]int{"tp": 2}, 2, "[[0 1]]", "[tp dp]"},
		"torchtitan flattens data and tensors": {v1alpha1.EngineTorch, map[string]int{"tp": 2, "dp": 2, "pp": 2}, 4, "[[0 1 2 3] [4 5 6 7]]", "[tp cp dp]"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(rowOf(t, test.engine).Ranks.Order, test.sizes)
			if err != nil {
				t.Fatal(err)
			}
			got, over, err := m.ExpertGroups(test.engine, test.expert)
			if err != nil || fmt.Sprint(got) != test.want || fmt.Sprint(over) != test.over {
				t.Errorf("got %v over %v, %v, want %s over %s", got, over, err, test.want, test.over)
			}
		})
	}
}

// In SGLang each data rank has consecutive ranks of the tensor degree for attention (its compute_dp_attention_world_info); with
// TensorRT-LLM's attention data parallelism every tensor rank is a data rank.
func TestDataRanksInsideTensor(t *testing.T) {
	for name, test := range map[string]struct {
		engine v1alpha1.Engine
		sizes  map[string]int
		want   map[string]string
	}{
		"SGLang tp 4 dp 2 pp 2": {v1alpha1.EngineSGLang, map[string]int{"tp": 2, "dp": 2, "pp": 2}, map[string]string{
			"tp": "[[0 1] [2 3] [4 5] [6 7]]", "dp": "[[0 2] [1 3] [4 6] [5 7]]", "pp": "[[0 4] [1 5] [2 6] [3 7]]", "tp-dp": "[[0 1 2 3] [4 5 6 7]]",
		}},
		"TensorRT-LLM tp 4 dp 4 pp 2": {v1alpha1.EngineTensorRTLLM, map[string]int{"dp": 4, "pp": 2}, map[string]string{
			"dp": "[[0 1 2 3] [4 5 6 7]]", "pp": "[[0 4] [1 5] [2 6] [3 7]]",
		}},
		"vLLM tp 2 dp 2 pp 2": {v1alpha1.EngineVLLM, map[string]int{"tp": 2, "dp": 2, "pp": 2}, map[string]string{
			"dp": "[[0 4] [1 5] [2 6] [3 7]]", "pp": "[[0 2] [1 3] [4 6] [5 7]]",
		}},
	} {
		m, err := New(rowOf(t, test.engine).Ranks.Order, test.sizes)
		if err != nil {
			t.Fatal(err)
		}
		for dimensions, want := range test.want {
			if got, err := m.Groups(strings.Split(dimensions, "-")...); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s, %s: got %v, %v, want %s", name, dimensions, got, err, want)
			}
		}
	}
	if !rowOf(t, v1alpha1.EngineSGLang).Ranks.TensorHoldsData || rowOf(t, v1alpha1.EngineVLLM).Ranks.TensorHoldsData {
		t.Error("SGLang counts data ranks among its tensor ranks, vLLM does not")
	}
}

func TestDecodeContextGroups(t *testing.T) {
	m, err := New("tp-pp-dp", map[string]int{"tp": 4, "pp": 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.DecodeContextGroups(2); err != nil || fmt.Sprint(got) != "[[0 1] [2 3] [4 5] [6 7]]" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, size := range []int{3, 8, 0, -1} {
		if got, err := m.DecodeContextGroups(size); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("size %d does not divide the 4", size)) {
			t.Errorf("size %d: got %v, %v", size, got, err)
		}
	}
}

func drawMesh(t *rapid.T) *Mesh {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tp", "pp", "dp", "cp", "ep", "slice", "x_2"}), 1, 6, rapid.ID).Draw(t, "names")
	sizes := map[string]int{}
	for _, name := range names {
		if size := rapid.IntRange(0, 5).Draw(t, name); size > 0 {
			sizes[name] = size
		}
	}
	m, err := New(strings.Join(names, "-"), sizes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGroupProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMesh(t)
		inside := rapid.SliceOfNDistinct(rapid.SampledFrom(m.names), 1, len(m.names), rapid.ID).Draw(t, "inside")
		size := 1
		for _, name := range inside {
			size *= m.sizes[m.index(name)]
		}
		groups, err := m.Groups(inside...)
		if err != nil {
			t.Fatal(err)
		}
		if len(groups) != m.WorldSize()/size {
			t.Fatalf("%d groups of %d in a world of %d", len(groups), size, m.WorldSize())
		}
		seen := map[int32]bool{}
		firsts := []int32{}
		for _, group := range groups {
			if len(group) != size || !slices.IsSorted(group) {
				t.Fatalf("group %v: want %d ascending ranks", group, size)
			}
			firsts = append(firsts, group[0])
			for _, rank := range group {
				if seen[rank] {
					t.Fatalf("rank %d is in two groups", rank)
				}
				seen[rank] = true
				agreeOutside(t, m, inside, int(group[0]), int(rank))
			}
		}
		if len(seen) != m.WorldSize() || !slices.IsSorted(firsts) {
			t.Fatalf("%d of %d ranks are in a group, first members %v", len(seen), m.WorldSize(), firsts)
		}
		if world := m.World(); !slices.Equal(world, sequence(0, int32(m.WorldSize()), 1)) {
			t.Fatalf("world is %v", world)
		}
	})
}

func agreeOutside(t *rapid.T, m *Mesh, inside []string, a, b int) {
	ca, errA := m.Coordinates(a)
	cb, errB := m.Coordinates(b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	for _, name := range m.names {
		if !slices.Contains(inside, name) && ca[name] != cb[name] {
			t.Fatalf("ranks %d and %d of one group differ in %s", a, b, name)
		}
	}
}

func TestRankInvertsCoordinates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMesh(t)
		rank := rapid.IntRange(0, m.WorldSize()-1).Draw(t, "rank")
		at, err := m.Coordinates(rank)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := m.Rank(at); err != nil || back != rank {
			t.Fatalf("rank %d is at %v, where rank %d is (%v)", rank, at, back, err)
		}
	})
}

func BenchmarkGroups(b *testing.B) {
	for _, world := range []int{8, 512, 8192} {
		b.Run(fmt.Sprint(world), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, err := New("tp-cp-ep-dp-pp", map[string]int{"tp": 4, "pp": 2, "dp": world / 8})
				if err != nil {
					b.Fatal(err)
				}
				for _, name := range []string{"tp", "dp", "pp"} {
					if _, err := m.Groups(name); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
