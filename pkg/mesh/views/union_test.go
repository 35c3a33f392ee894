package views

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// Two stages with four tensor ranks and one with two: a pipeline whose stages differ.
func TestUnevenPipeline(t *testing.T) {
	u, err := Join(made(t, "tp", sizes{"tp": 4}), made(t, "tp", sizes{"tp": 4}), made(t, "tp", sizes{"tp": 2}))
	if err != nil {
		t.Fatal(err)
	}
	if tp, err := u.Groups("tp"); err != nil || fmt.Sprint(tp) != "[[0 1 2 3] [4 5 6 7] [8 9]]" {
		t.Errorf("got %v, %v", tp, err)
	}
	for part, want := range []string{"[{0 4} {1 5} {2 6} {3 7}]", "[{4 8} {5 8} {6 9} {7 9}]"} {
		if got, err := u.Transfers(part); err != nil || fmt.Sprint(got) != want {
			t.Errorf("after stage %d: got %v, %v, want %s", part, got, err, want)
		}
	}
	_, err = u.Transfers(2)
	wantError(t, err, "part 2 has no next one: the union has parts 0 to 2")
	odd, err := Join(made(t, "tp", sizes{"tp": 3}), made(t, "tp", sizes{"tp": 2}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = odd.Transfers(0)
	wantError(t, err, "stages 0 and 1 have 3 and 2 ranks: one must divide the other")
}

// Copies of different shape, one of which has a dimension that the other lacks.
func TestCopiesOfDifferentShape(t *testing.T) {
	u, err := Join(made(t, "tp", sizes{"tp": 2}), made(t, "tp-pp", sizes{"tp": 2, "pp": 2}))
	if err != nil {
		t.Fatal(err)
	}
	for want, along := range map[string][]string{
		"[[0] [1] [2 4] [3 5]]": {"pp"}, "[[0 1] [2 3] [4 5]]": {"tp"}, "[[0 1] [2 3 4 5]]": {"pp", "tp"},
	} {
		if got, err := u.Groups(along...); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v: got %v, %v, want %s", along, got, err, want)
		}
	}
	if got := fmt.Sprint(u.World(), u.WorldSize(), len(u.Parts())); got != "[0 1 2 3 4 5] 6 2" {
		t.Error(got)
	}
}

func TestJoinRefuses(t *testing.T) {
	_, err := Join()
	wantError(t, err, "a union needs at least one mesh")
	half := made(t, "tp", sizes{"tp": mesh.MaxWorldSize/2 + 1})
	_, err = Join(half, half)
	wantError(t, err, "parts[1] has 524289 ranks, and 524289 are before it")
	u, err := Join(made(t, "tp", sizes{"tp": 2}))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = u.Locate(2)
	wantError(t, err, "rank 2 is outside of the union: it has ranks 0 to 1")
	_, err = u.Rank(1, 0)
	wantError(t, err, "part 1 is outside of the union")
	_, err = u.Rank(0, 2)
	wantError(t, err, "rank 2 is outside of part 0: it has ranks 0 to 1")
	_, err = u.Groups("pp")
	wantError(t, err, `no part of the union has a dimension "pp"`)
	_, err = u.Groups("tp", "tp")
	wantError(t, err, `parts[0]: dimension "tp" is named twice`)
}

func drawMesh(t *rapid.T) *mesh.Mesh {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"tp", "pp", "dp", "cp"}), 1, 4, rapid.ID).Draw(t, "names")
	drawn := sizes{}
	for _, name := range names {
		drawn[name] = rapid.IntRange(1, 5).Draw(t, name)
	}
	m, err := mesh.New(strings.Join(names, "-"), drawn)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestUnionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Custom(drawMesh), 1, 4).Draw(t, "parts")
		u, err := Join(parts...)
		if err != nil {
			t.Fatal(err)
		}
		rank := rapid.IntRange(0, u.WorldSize()-1).Draw(t, "rank")
		part, local, err := u.Locate(rank)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := u.Rank(part, local); err != nil || back != rank {
			t.Fatalf("rank %d is %d of part %d, which is rank %d (%v)", rank, local, part, back, err)
		}
		groups, err := u.Groups(namesOf(parts[0])[0])
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int32]bool{}
		for _, group := range groups {
			for _, r := range group {
				if at, _, err := u.Locate(int(r)); err != nil || seen[r] || at != must(u.Locate(int(group[0]))) {
					t.Fatalf("rank %d of group %v", r, group)
				}
				seen[r] = true
			}
		}
		if len(seen) != u.WorldSize() {
			t.Fatalf("%d of %d ranks are in a group", len(seen), u.WorldSize())
		}
	})
}

func must(part, _ int, _ error) int { return part }
