package verification

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// taskOf is a task of so many pods of one rank, with a group of all of them.
func taskOf(t rapid.TB, places int, kinds ...Kind) *Task {
	t.Helper()
	task := &Task{Version: version, Mesh: "default/llm", Plan: "llm-1", DeadlineSeconds: 60, Kinds: kinds}
	for i := range places {
		task.Pods = append(task.Pods, Pod{Index: int32(i), Host: fmt.Sprintf("llm-%d.llm", i), Port: Port, Node: "n", Ranks: mesh.RanksOf([]int32{int32(i)})})
	}
	if err := task.complete(); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestPairsOfSmallCopies(t *testing.T) {
	for places := 1; places <= maxPaired; places++ {
		pairs := taskOf(t, places).pairs()
		for place, of := range pairs {
			if len(of) != places-1 {
				t.Fatalf("place %d of %d has %d pairs, want one with each other", place, places, len(of))
			}
			// In each round a place has one pair at most, so that the pairs of a round can be measured at the same time.
			for i := 1; i < len(of); i++ {
				if of[i].round(places) <= of[i-1].round(places) {
					t.Fatalf("place %d of %d has two pairs in round %d: %v", place, places, of[i].round(places), of)
				}
			}
		}
	}
}

// Whatever the groups are: both ends have a pair, and there is always a pair that both ends have come to.
func TestPairsNeverWaitInACircle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(maxPaired+1, 3*maxPaired).Draw(t, "places")
		var kinds []Kind
		for k := range rapid.IntRange(1, 3).Draw(t, "kinds") {
			members := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(places)-1), 2, places, rapid.ID[int32]).Draw(t, "members")
			slices.Sort(members)
			kinds = append(kinds, Kind{fmt.Sprint(k), []mesh.Ranks{mesh.RanksOf(members)}})
		}
		pairs := taskOf(t, places, kinds...).pairs()
		for place, of := range pairs {
			for _, p := range of {
				if !slices.Contains(pairs[p.other(place)], p) {
					t.Fatalf("place %d has the pair %v, and %d has not", place, p, p.other(place))
				}
			}
		}
		for {
			left, done := 0, false
			for place, of := range pairs {
				left += len(of)
				if len(of) == 0 {
					continue
				}
				if p, other := of[0], of[0].other(place); pairs[other][0] == p {
					pairs[place], pairs[other], done = of[1:], pairs[other][1:], true
				}
			}
			if left == 0 {
				return
			}
			if !done {
				t.Fatalf("every place waits: %v", pairs)
			}
		}
	})
}

func TestPairsOfLargeCopies(t *testing.T) {
	const places = 10_000
	pairs := taskOf(t, places, Kind{"world", []mesh.Ranks{"0-9999"}}).pairs()
	const most = 2 * 14 // both directions, for each power of two below the number of places
	for place, of := range pairs {
		if len(of) == 0 || len(of) > most {
			t.Fatalf("place %d has %d pairs, want 1 to %d", place, len(of), most)
		}
	}
}
