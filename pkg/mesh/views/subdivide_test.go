package views

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
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
func made(t testing.TB, order string, sizes map[string]int) *mesh.Mesh {
	t.Helper()
	m, err := mesh.New(order, sizes)
	if err != nil {
		t.Fatal(err)
	}
	return m
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
		{16, sizes{"tp": 4, "pp": 2, "dp": 4}, 0, "tp4 dp4 pp2 makes 32 ranks, and there are 16 devices: 16 are missing"},
		{12, sizes{"tp": 8}, 0, "tp8 makes 8 ranks, which do not divide the 12 devices: 4 would be left over"},
		{4, sizes{"tp": 8}, 0, "tp8 makes 8 ranks, and there are 4 devices: 4 are missing"},
		{0, sizes{"tp": 8}, 0, "the number of devices is 0"},
		{8, sizes{"tp": -2}, 0, `size of dimension "tp" is -2`},
	} {
		m, err := Filling(test.world, "tp-dp-pp", "dp", test.sizes)
		if test.want != "" {
			wantError(t, err, test.want)
			continue
		}
		if err != nil || m.Size("dp") != test.dp || m.WorldSize() != test.world {
			t.Errorf("%d devices as %v: got %v, %v, want dp %d", test.world, test.sizes, m, err, test.dp)
		}
	}
	_, err := Filling(8, "tp-pp", "dp", nil)
	wantError(t, err, `dimension "dp" has size 8 but the order "tp-pp" lacks it`)
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
		part, ranks, err := Sub(m, fixed)
		if err != nil || fmt.Sprint(ranks)+" "+part.Shape() != want || part.WorldSize() != len(ranks) {
			t.Errorf("%v: got %v %v, %v, want %s", fixed, ranks, part, err, want)
		}
	}
	_, _, err := Sub(m, sizes{"pp": 2})
	wantError(t, err, "sub-mesh: coordinate pp=2 is outside of the mesh: it has pp 0 to 1")
	_, _, err = Sub(m, sizes{"ep": 0})
	wantError(t, err, `has no dimension "ep"`)
}

// A tensor degree that is cut into a grid must be the product of the grid's sizes.
func TestUnflatten(t *testing.T) {
	m := made(t, "tp-pp", sizes{"tp": 8, "pp": 2})
	type parts = []v1alpha1.MeshDimension
	grid, err := Unflatten(m, "tp", parts{{Name: "x", Size: 2}, {Name: "y", Size: 4}}...)
	if err != nil {
		t.Fatal(err)
	}
	y, err := grid.Groups("y")
	if err != nil || grid.Order() != "x-y-pp" || fmt.Sprint(y[:2]) != "[[0 2 4 6] [1 3 5 7]]" {
		t.Errorf("got %s, %v, %v", grid.Order(), y, err)
	}
	back, err := Flatten(grid, "tp", "x", "y")
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
		_, err := Unflatten(m, "tp", parts...)
		wantError(t, err, want)
	}
	_, err = Unflatten(m, "dp")
	wantError(t, err, `has no dimension "dp"`)
	three := made(t, "tp-pp-dp", sizes{"tp": 2, "pp": 2, "dp": 2})
	_, err = Flatten(three, "model", "tp", "dp")
	wantError(t, err, "do not follow one another in the order \"tp-pp-dp\"")
	_, err = Flatten(three, "dp", "tp", "pp")
	wantError(t, err, `dimension "dp" is in the order`)
	_, err = Flatten(three, "x")
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
		words, err := EmbeddingGroups(m)
		if err != nil || fmt.Sprint(words) != test.words {
			t.Errorf("%v: words %v, %v, want %s", test.sizes, words, err, test.words)
		}
		position, err := PositionEmbeddingGroups(m)
		if err != nil || fmt.Sprint(position) != test.position {
			t.Errorf("%v: positions %v, %v, want %s", test.sizes, position, err, test.position)
		}
	}
	_, err := EmbeddingGroups(made(t, "tp", nil))
	wantError(t, err, `embedding groups: the order "tp" has no dimension "pp"`)
}

// Defect: requests went to ranks that lead no copy, and the first stage's alone.
func TestLeaders(t *testing.T) {
	m := made(t, "tp-pp-dp", sizes{"tp": 2, "pp": 2, "dp": 3})
	if leaders, err := Leaders(m, "dp"); err != nil || fmt.Sprint(leaders) != "[0 4 8]" {
		t.Errorf("got %v, %v", leaders, err)
	}
	if leaders, err := Leaders(m); err != nil || fmt.Sprint(leaders) != "[0]" {
		t.Errorf("got %v, %v", leaders, err)
	}
	_, err := Leaders(m, "ep")
	wantError(t, err, `no dimension "ep"`)
}
