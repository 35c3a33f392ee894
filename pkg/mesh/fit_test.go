package mesh

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

type sizes = map[string]int

// wantError fails unless the error says something.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to contain %q", err, want)
	}
}

// made is a mesh that must be possible.
func made(t testing.TB, order string, sizes map[string]int) *Mesh {
	t.Helper()
	m, err := New(order, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestForWorld(t *testing.T) {
	for _, test := range []struct {
		world int
		sizes sizes
		want  string
	}{
		{8, sizes{"tp": 4, "pp": 2}, ""},
		{12, sizes{"tp": 4, "pp": 2}, "tp=4 x pp=2 makes 8 ranks, and there are 12 devices: 4 would be left over; use sizes whose product is 12, or 8 devices"},
		{16, sizes{"tp": 4, "pp": 2}, "tp=4 x pp=2 makes 8 ranks, and there are 16 devices: 8 would be left over; make one of the sizes 2 times as large"},
		{6, sizes{"tp": 4, "pp": 2}, "tp=4 x pp=2 makes 8 ranks, and there are 6 devices: 2 are missing; use sizes whose product is 6, or 8 devices"},
		{2, nil, "a size of 1 in every dimension makes 1 rank, and there are 2 devices: 1 would be left over"},
		{0, sizes{"tp": 4}, "the number of devices is 0: it must be 1 to 1048576"},
		{-8, nil, "the number of devices is -8"},
		{MaxWorldSize + 1, nil, "the number of devices is 1048577"},
		{8, sizes{"tp": 0}, `size of dimension "tp" is 0`},
		{8, sizes{"tp": math.MaxInt, "pp": math.MaxInt}, "more than 1048576 ranks"},
	} {
		m, err := ForWorld(test.world, "tp-pp-dp", test.sizes)
		if test.want != "" {
			wantError(t, err, test.want)
		} else if err != nil || m.WorldSize() != test.world {
			t.Errorf("%d devices as %v: %v", test.world, test.sizes, err)
		}
	}
}

func TestFilling(t *testing.T) {
	for _, test := range []struct {
		world int
		sizes sizes
		dp    int
		want  string
	}{
		{16, sizes{"tp": 4, "pp": 2}, 2, ""},
		{8, sizes{"tp": 4, "pp": 2}, 1, ""},
		{16, sizes{"tp": 4, "pp": 2, "dp": 2}, 2, ""},
		{16, sizes{"tp": 4, "pp": 2, "dp": 4}, 0, "tp=4 x dp=4 x pp=2 makes 32 ranks, and there are 16 devices: 16 are missing"},
		{12, sizes{"tp": 8}, 0, "tp=8 makes 8 ranks, which do not divide the 12 devices: 4 would be left over"},
		{4, sizes{"tp": 8}, 0, "tp=8 makes 8 ranks, and there are 4 devices: 4 are missing"},
		{0, sizes{"tp": 8}, 0, "the number of devices is 0"},
		{8, sizes{"tp": -2}, 0, `size of dimension "tp" is -2`},
	} {
		m, err := Filling(test.world, "tp-dp-pp", "dp", test.sizes)
		if test.want != "" {
			wantError(t, err, test.want)
			continue
		}
		if err != nil || m.size("dp") != test.dp || m.WorldSize() != test.world {
			t.Errorf("%d devices as %v: got %v, %v, want dp %d", test.world, test.sizes, m, err, test.dp)
		}
	}
	_, err := Filling(8, "tp-pp", "dp", nil)
	wantError(t, err, `the order "tp-pp" has no dimension "dp"`)
}

// PyTorch: init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp")) has rows of tp.
func TestRowMajor(t *testing.T) {
	m, err := RowMajor([]string{"dp", "tp"}, []int{2, 4})
	if err != nil {
		t.Fatal(err)
	}
	tp, err := m.Groups("tp")
	if err != nil || fmt.Sprint(tp) != "[[0 1 2 3] [4 5 6 7]]" {
		t.Errorf("got %v, %v", tp, err)
	}
	_, err = RowMajor([]string{"dp", "tp"}, []int{2})
	wantError(t, err, "2 names of dimensions and 1 sizes")
	_, err = RowMajor([]string{"dp", "dp"}, []int{2, 2})
	wantError(t, err, `names dimension "dp" twice`)
}

func TestSub(t *testing.T) {
	m := made(t, "tp-pp-dp", sizes{"tp": 2, "pp": 2, "dp": 2})
	for want, fixed := range map[string]sizes{
		"[0 1 4 5] tp2 dp2":             {"pp": 0},
		"[2 3 6 7] tp2 dp2":             {"pp": 1},
		"[7] 1":                         {"tp": 1, "pp": 1, "dp": 1},
		"[0 1 2 3 4 5 6 7] tp2 pp2 dp2": nil,
	} {
		part, ranks, err := m.Sub(fixed)
		if err != nil || fmt.Sprint(ranks)+" "+part.Shape() != want || part.WorldSize() != len(ranks) {
			t.Errorf("%v: got %v %v, %v, want %s", fixed, ranks, part, err, want)
		}
	}
	_, _, err := m.Sub(sizes{"pp": 2})
	wantError(t, err, "sub-mesh: coordinate pp=2 is outside of the mesh: it has pp 0 to 1")
	_, _, err = m.Sub(sizes{"ep": 0})
	wantError(t, err, `has no dimension "ep"`)
}

// A tensor degree over a grid must be that of the grid.
func TestUnflatten(t *testing.T) {
	m := made(t, "tp-pp", sizes{"tp": 8, "pp": 2})
	type parts = []v1alpha1.MeshDimension
	grid, err := m.Unflatten("tp", parts{{Name: "x", Size: 2}, {Name: "y", Size: 4}}...)
	if err != nil {
		t.Fatal(err)
	}
	y, err := grid.Groups("y")
	if err != nil || grid.Order() != "x-y-pp" || fmt.Sprint(y[:2]) != "[[0 2 4 6] [1 3 5 7]]" {
		t.Errorf("got %s, %v, %v", grid.Order(), y, err)
	}
	back, err := grid.Flatten("tp", "x", "y")
	if err != nil || back.Order() != "tp-pp" || back.Shape() != "tp8 pp2" {
		t.Errorf("flattened: got %v, %v", back, err)
	}
	for want, parts := range map[string]parts{
		"x=2 x y=2 is 4, and tp is 8":                        {{Name: "x", Size: 2}, {Name: "y", Size: 2}},
		" is 1, and tp is 8":                                 nil,
		"x=0 of dimension \"tp\": a part":                    {{Name: "x", Size: 0}, {Name: "y", Size: 8}},
		"y=2147483647 of dimension":                          {{Name: "x", Size: 8}, {Name: "y", Size: math.MaxInt32}},
		`dimension "pp" is in the order`:                     {{Name: "pp", Size: 8}},
		`dimension "x" is in the order "tp-pp` + `" already`: {{Name: "x", Size: 2}, {Name: "x", Size: 4}},
	} {
		_, err := m.Unflatten("tp", parts...)
		wantError(t, err, want)
	}
	_, err = m.Unflatten("dp")
	wantError(t, err, `has no dimension "dp"`)
	three := made(t, "tp-pp-dp", sizes{"tp": 2, "pp": 2, "dp": 2})
	_, err = three.Flatten("model", "tp", "dp")
	wantError(t, err, "do not follow one another in the order \"tp-pp-dp\"")
	_, err = three.Flatten("dp", "tp", "pp")
	wantError(t, err, `dimension "dp" is in the order`)
	_, err = three.Flatten("x")
	wantError(t, err, "at least one dimension")
}

func TestEmbeddingGroups(t *testing.T) {
	for _, test := range []struct {
		sizes           sizes
		words, position string
	}{
		// Megatron-LM's docstring: 16 ranks, tp 2, pp 4.
		{sizes{"tp": 2, "dp": 2, "pp": 4}, "[[0 12] [1 13] [2 14] [3 15]]", "[[0] [1] [2] [3]]"},
		{sizes{"tp": 2, "pp": 2}, "[[0 2] [1 3]]", "[[0] [1]]"},
		{sizes{"tp": 2}, "[[0] [1]]", "[[0] [1]]"},
	} {
		m := made(t, "tp-cp-ep-dp-pp", test.sizes)
		words, err := m.EmbeddingGroups()
		if err != nil || fmt.Sprint(words) != test.words {
			t.Errorf("%v: words %v, %v, want %s", test.sizes, words, err, test.words)
		}
		position, err := m.PositionEmbeddingGroups()
		if err != nil || fmt.Sprint(position) != test.position {
			t.Errorf("%v: positions %v, %v, want %s", test.sizes, position, err, test.position)
		}
	}
	_, err := made(t, "tp", nil).EmbeddingGroups()
	wantError(t, err, `embedding groups: the order "tp" has no dimension "pp"`)
}

func TestCheckLayerSplit(t *testing.T) {
	for want, split := range map[string][]int{
		"": {20, 20, 22},
		"the split [20 20 20] has 60 layers in all, and the model has 62: 2 have no stage": {20, 20, 20},
		"stage 1 of the split [62 0] has 0 layers":                                         {62, 0},
		"stage 1 of the split [40 40] has 40 layers, with 40 of 62 before it":              {40, 40},
		"stage 0 of the split [-1 63] has -1 layers":                                       {-1, 63},
		"stage 1 of the split [1 9223372036854775807]":                                     {1, math.MaxInt},
	} {
		if err := CheckLayerSplit(62, split); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, want %q", split, err, want)
		}
	}
}
