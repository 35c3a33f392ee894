package views

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// What multiplies to the world differs by engine: the same numbers in the engines' own words.
func TestViewsOfEngines(t *testing.T) {
	for _, test := range []struct {
		name, engine string
		world        int
		degrees      sizes
		shape        string
		groups       map[string]string
	}{
		{"data multiplies in vLLM", "vLLM", 8, sizes{"tp": 2, "pp": 2, "dp": 2, "ep": 4}, "tp2 pp2 dp2", map[string]string{
			"dp": "[[0 4] [1 5] [2 6] [3 7]]", "ep": "[[0 1 4 5] [2 3 6 7]]", "world": "[[0 1 2 3 4 5 6 7]]", "embd": "[[0 2] [1 3] [4 6] [5 7]]",
		}},
		{"prefill context lies between tensor and pipeline in vLLM", "vLLM", 8, sizes{"tp": 2, "cp": 2, "pp": 2}, "tp2 cp2 pp2", map[string]string{
			"cp": "[[0 2] [1 3] [4 6] [5 7]]", "pp": "[[0 4] [1 5] [2 6] [3 7]]",
		}},
		{"decode context reuses tensor ranks", "vLLM", 4, sizes{"tp": 4, "dcp": 2}, "tp4", map[string]string{"dcp": "[[0 1] [2 3]]"}},
		{"data divides tensor in SGLang", "SGLang", 8, sizes{"tp": 8, "dp": 4}, "tp2 dp4", map[string]string{
			"tp": "[[0 1] [2 3] [4 5] [6 7]]", "dp": "[[0 2 4 6] [1 3 5 7]]", "tp-dp": "[[0 1 2 3 4 5 6 7]]",
		}},
		{"context divides it too", "SGLang", 8, sizes{"tp": 8, "dp": 2, "cp": 2, "ep": 8}, "tp2 cp2 dp2", map[string]string{"cp": "[[0 2] [1 3] [4 6] [5 7]]"}},
		{"attention data parallelism of TensorRT-LLM is all of tensor", "TensorRT-LLM", 8, sizes{"tp": 4, "dp": 4, "pp": 2, "ep": 2}, "dp4 pp2", map[string]string{
			"dp": "[[0 1 2 3] [4 5 6 7]]", "ep": "[[0 1] [2 3] [4 5] [6 7]]",
		}},
		{"data is what is left in Megatron", "Megatron", 16, sizes{"tp": 2, "pp": 2}, "tp2 dp4 pp2", map[string]string{"dp": "[[0 2 4 6] [1 3 5 7] [8 10 12 14] [9 11 13 15]]"}},
		{"Megatron's experts have a mesh of their own", "Megatron", 16, sizes{"tp": 2, "cp": 2, "pp": 2, "ep": 4, "etp": 1}, "tp2 cp2 dp2 pp2", map[string]string{
			"ep": "[[0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]]", "edp": "[[0 4] [1 5] [2 6] [3 7] [8 12] [9 13] [10 14] [11 15]]",
			"etp-ep": "[[0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]]", "pp": "[[0 8] [1 9] [2 10] [3 11] [4 12] [5 13] [6 14] [7 15]]",
		}},
		{"they keep the tensor degree where none is given", "Megatron", 8, sizes{"tp": 2, "ep": 2}, "tp2 dp4", map[string]string{
			"etp": "[[0 1] [2 3] [4 5] [6 7]]", "ep": "[[0 2] [1 3] [4 6] [5 7]]", "edp": "[[0 4] [1 5] [2 6] [3 7]]",
		}},
		{"torchtitan flattens what a stage has", "torchtitan", 16, sizes{"tp": 2, "cp": 2, "dp_replicate": 2, "ep": 4, "etp": 1}, "tp2 cp2 dp_shard2 dp_replicate2", map[string]string{
			"ep": "[[0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]]", "efsdp": "[[0 4] [1 5] [2 6] [3 7] [8 12] [9 13] [10 14] [11 15]]",
		}},
		{"DeepSpeed's experts reuse data ranks", "DeepSpeed", 8, sizes{"tp": 2, "ep": 2}, "tp2 dp4", map[string]string{"ep": "[[0 2] [1 3] [4 6] [5 7]]"}},
		{"JAX", "JAX", 8, sizes{"tp": 4}, "tp4 dp2", map[string]string{"dp": "[[0 4] [1 5] [2 6] [3 7]]"}},
		{"one rank", "Torch", 1, nil, "1", map[string]string{"world": "[[0]]", "ep": "[[0]]", "pos-embd": "[[0]]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			preset, err := LookupPreset(test.engine)
			if err != nil {
				t.Fatal(err)
			}
			v, err := preset.Views(test.world, test.degrees)
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Dense.Shape(); got != test.shape {
				t.Errorf("shape %s, want %s", got, test.shape)
			}
			for kind, want := range test.groups {
				if got, err := v.Groups(kind); err != nil || fmt.Sprint(got) != want {
					t.Errorf("%s: got %v, %v, want %s", kind, got, err, want)
				}
			}
		})
	}
}

func TestViewsRefuse(t *testing.T) {
	for want, test := range map[string]struct {
		engine  string
		world   int
		degrees sizes
	}{
		"vLLM: tp4 pp2 makes 8 ranks, and there are 12 devices: 4 would be left over":          {"vLLM", 12, sizes{"tp": 4, "pp": 2}},
		"SGLang: cp=1 x dp=3 does not divide tp=8, which counts those ranks already":           {"SGLang", 8, sizes{"tp": 8, "dp": 3}},
		"SGLang: tp4 dp2 makes 8 ranks, and there are 16 devices":                              {"SGLang", 16, sizes{"tp": 8, "dp": 2}},
		"SGLang has no degree \"etp\": use cp, dp, ep, pp, tp":                                 {"SGLang", 8, sizes{"etp": 2}},
		"TensorRT-LLM: dp=2 with tp=4: set it to 1 or to 4":                                    {"TensorRT-LLM", 4, sizes{"tp": 4, "dp": 2}},
		"SGLang: dp is 1073741824: it is a division of tp, which is 8":                         {"SGLang", 8, sizes{"tp": 8, "dp": 1 << 30}},
		"Megatron: tp4 pp2 makes 8 ranks, which do not divide the 12 devices: 4 would be left": {"Megatron", 12, sizes{"tp": 4, "pp": 2}},
		"Megatron: etp=2 x ep=3 does not divide the 8 ranks of a stage (tp=2 x cp=1 x dp=4)":   {"Megatron", 8, sizes{"tp": 2, "ep": 3}},
		"Megatron: tp is 0: it must be at least 1":                                             {"Megatron", 8, sizes{"tp": 0}},
		"vLLM: groups ep: expert size 3 does not divide the 8 ranks":                           {"vLLM", 8, sizes{"tp": 8, "ep": 3}},
		"vLLM: groups dcp: decode context size 3 does not divide the 8 tensor ranks":           {"vLLM", 8, sizes{"tp": 8, "dcp": 3}},
	} {
		preset, err := LookupPreset(test.engine)
		if err != nil {
			t.Fatal(err)
		}
		_, err = preset.Views(test.world, test.degrees)
		wantError(t, err, want)
	}
	_, err := LookupPreset("abacus")
	wantError(t, err, `engine "abacus" has no known order of ranks: use one of vLLM, SGLang`)
}

// Every engine has a preset with the order of its plans' meshes, but for the context dimension where only some need it.
func TestPresetsAreTheEngines(t *testing.T) {
	for _, name := range engine.Names() {
		preset, err := LookupPreset(name)
		if err != nil {
			t.Fatal(err)
		}
		row, err := engine.Find(v1alpha1.Engine(name))
		if err != nil {
			t.Fatal(err)
		}
		ranks := &row.Ranks
		if with := ranks.OrderFor(2); preset.Order != with && preset.Order != ranks.Order {
			t.Errorf("%s: the preset has %s, plans %s", name, preset.Order, with)
		}
		if holds := preset.Divide != nil; holds != ranks.TensorHoldsData {
			t.Errorf("%s: tensor ranks that hold the data ranks: %t", name, holds)
		}
	}
}

// megatronGroups is what Megatron's generator does, by brute force: ranks that agree in all but the named dimensions.
func megatronGroups(order []string, sizes map[string]int, along string) [][]int32 {
	world := 1
	for _, name := range order {
		world *= sizes[name]
	}
	at := func(rank int, but string) string {
		var key string
		for _, name := range order {
			if name != but {
				key += fmt.Sprint(rank%sizes[name], " ")
			}
			rank /= sizes[name]
		}
		return key
	}
	var groups [][]int32
	number := map[string]int{}
	for rank := range world {
		key := at(rank, along)
		i, ok := number[key]
		if !ok {
			i = len(groups)
			number[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], int32(rank))
	}
	return groups
}

// Fold gives the groups of Megatron's second generator, found by brute force, and the pipelines of the first.
func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, values ...int) int { return rapid.SampledFrom(values).Draw(t, name) }
		tp, cp, dp, pp := draw("tp", 1, 2, 4), draw("cp", 1, 2), draw("dp", 1, 2, 3, 4), draw("pp", 1, 2, 3)
		etp, ep := draw("etp", 1, 2, 4, 3), draw("ep", 1, 2, 4, 8, 5)
		m, err := mesh.New("tp-cp-ep-dp-pp", sizes{"tp": tp, "cp": cp, "dp": dp, "pp": pp})
		if err != nil {
			t.Fatal(err)
		}
		folded, err := Fold(m, etp, ep)
		if divides := tp*cp*dp%(etp*ep) == 0; divides != (err == nil) {
			t.Fatalf("tp %d cp %d dp %d, etp %d ep %d: %v", tp, cp, dp, etp, ep, err)
		}
		if err != nil {
			return
		}
		order := []string{"etp", "ep", "edp", "pp"}
		expert := sizes{"etp": etp, "ep": ep, "edp": tp * cp * dp / (etp * ep), "pp": pp}
		for _, along := range order {
			got, err := folded.Groups(along)
			if want := megatronGroups(order, expert, along); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: got %v, %v, want %v", along, got, err, want)
			}
		}
		dense, err := m.Groups("pp")
		if folded, err2 := folded.Groups("pp"); err != nil || err2 != nil || fmt.Sprint(dense) != fmt.Sprint(folded) {
			t.Fatalf("pipelines: %v and %v, %v, %v", dense, folded, err, err2)
		}
		if cp*dp%ep == 0 {
			same, err := Fold(m, tp, ep)
			if err != nil {
				t.Fatal(err)
			}
			a, err := same.Groups("ep")
			b, _, err2 := m.ExpertGroups(v1alpha1.EngineMegatron, ep)
			if err != nil || err2 != nil || fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("expert groups: %v and %v, %v, %v", a, b, err, err2)
			}
		}
	})
}

// Megatron refuses an order in which stages are not the slowest where experts have another data degree.
func TestFoldKeepsPipelines(t *testing.T) {
	m := made(t, "tp-cp-ep-pp-dp", sizes{"tp": 2, "dp": 4, "pp": 2})
	_, err := Fold(m, 1, 4)
	wantError(t, err, "pp groups of the experts would not be those of the other layers (strides 4 and 2")
	if folded, err := Fold(m, 1, 2); err != nil || folded.Order() != "etp-ep-pp-edp" {
		t.Errorf("got %v, %v", folded, err)
	}
	_, err = Fold(m, 0, 1)
	wantError(t, err, "etp=0 and ep=1: both must be at least 1")
}
