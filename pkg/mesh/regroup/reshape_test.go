package regroup

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Defect: a mesh that was given another shape kept its groups and made none.
func TestReshapeMakesAllGroupsAnew(t *testing.T) {
	l := laid(t, "tp-pp-dp", sizes{"tp": 4, "pp": 2}, seatsOn("nvidia", 4, "a", "b"))
	l, err := l.WithGroup("edges", 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	change, err := l.Reshape(made(t, "tp-dp-pp", sizes{"tp": 2, "dp": 4}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"tp": "[[0 1] [2 3] [4 5] [6 7]]", "dp": "[[0 2 4 6] [1 3 5 7]]", "pp": "[[0] [1] [2] [3] [4] [5] [6] [7]]", "edges": "[[0 7]]",
	} {
		if got, err := change.Layout.Group(name); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, want)
		}
	}
	if got := fmt.Sprint(change.Moves, change.Regrouped, change.Dropped); got != "[] [dp pp tp] []" {
		t.Error(got)
	}
	if old, err := l.Group("tp"); err != nil || len(old) != 2 {
		t.Errorf("the layout itself changed: %v, %v", old, err)
	}
}

// Defect: a lost device had no consequence. Now a smaller mesh is laid out without it and its tensor group, and the change
// says what moved.
func TestReshapeWithoutLostRanks(t *testing.T) {
	l := laid(t, "tp-dp", sizes{"tp": 2, "dp": 3}, seatsOn("nvidia", 2, "a", "b", "c"))
	for name, ranks := range map[string][]int32{"first": {0, 2}, "last": {5, 4}} {
		var err error
		if l, err = l.WithGroup(name, ranks...); err != nil {
			t.Fatal(err)
		}
	}
	change, err := l.Reshape(made(t, "tp-dp", sizes{"tp": 2, "dp": 2}), l.Without(2, 3))
	if err != nil {
		t.Fatal(err)
	}
	id := []v1alpha1.DeviceID{id("nvidia", 0), id("nvidia", 1)}
	want := []Move{{"c", id[0], 4, 2}, {"c", id[1], 5, 3}, {"b", id[0], 2, NoRank}, {"b", id[1], 3, NoRank}}
	if diff := cmp.Diff(want, change.Moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(change.Regrouped, change.Dropped); got != "[dp tp] [first]" {
		t.Error(got)
	}
	if last, err := change.Layout.Group("last"); err != nil || fmt.Sprint(last) != "[[3 2]]" {
		t.Errorf("the group follows its devices: got %v, %v", last, err)
	}
	back, err := change.Layout.Reshape(made(t, "tp-dp", sizes{"tp": 2, "dp": 3}), append(change.Layout.Seats(), seatsOn("nvidia", 2, "d")...))
	if err != nil || fmt.Sprint(back.Moves) != fmt.Sprint([]Move{{"d", id[0], NoRank, 4}, {"d", id[1], NoRank, 5}}) {
		t.Errorf("a node comes: got %v, %v", back, err)
	}
}

func TestReshapeRefuses(t *testing.T) {
	l := laid(t, "tp", sizes{"tp": 4}, seatsOn("nvidia", 4, "a"))
	_, err := l.Reshape(made(t, "tp-dp", sizes{"tp": 3}), nil)
	wantError(t, err, "reshape: tp3 makes 3 ranks, and there are 4 devices: 1 would be left over")
	own, err := l.WithGroup("dp", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = own.Reshape(made(t, "tp-dp", sizes{"tp": 4}), nil)
	wantError(t, err, `reshape: group "dp" is a dimension`)
}

// The moves of a change say for every device where it is now; a change to the same mesh and devices says nothing.
func TestReshapeProperties(t *testing.T) {
	twelve := made(t, "dp", sizes{"dp": 12})
	rapid.Check(t, func(t *rapid.T) {
		seats := seatsOn("nvidia", 12, "a")
		l, err := New(twelve, seats)
		if err != nil {
			t.Fatal(err)
		}
		next := rapid.Permutation(seats).Draw(t, "seats")[:rapid.IntRange(1, 12).Draw(t, "kept")]
		m, err := mesh.New("dp", sizes{"dp": len(next)})
		if err != nil {
			t.Fatal(err)
		}
		change, err := l.Reshape(m, next)
		if err != nil {
			t.Fatal(err)
		}
		at := l.ranksBySeat()
		for _, move := range change.Moves {
			here := place{move.Node, move.Device}
			if at[here] != move.From || move.From == move.To {
				t.Fatalf("%v was at %d", move, at[here])
			}
			if at[here] = move.To; move.To == NoRank {
				delete(at, here)
			}
		}
		if !maps.Equal(at, change.Layout.ranksBySeat()) {
			t.Fatalf("moves lead to %v, not %v", at, change.Layout.ranksBySeat())
		}
		same, err := change.Layout.Reshape(m, nil)
		if err != nil || len(same.Moves)+len(same.Regrouped)+len(same.Dropped) > 0 {
			t.Fatalf("nothing changed: %+v, %v", same, err)
		}
		if slices.Equal(next, seats) != (len(change.Moves)+len(change.Regrouped) == 0) {
			t.Fatalf("%v: %+v", next, change)
		}
	})
}
