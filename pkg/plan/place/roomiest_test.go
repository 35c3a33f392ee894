package place

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/shape"
)

// TestSitesAreInOrderWhateverIsTaken takes devices of a few sites again and again: the sites are in the order that sorting all of them anew gives,
// and so are the largest groups.
func TestSitesAreInOrderWhateverIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &placer{problem: &shape.Problem{}, pool: &shape.Pool{}, copies: 1, taken: new(Taken)}
		w.shape = shape.Shape{Tensor: rapid.IntRange(1, 2).Draw(t, "tensor"), Stages: rapid.IntRange(2, 4).Draw(t, "stages"), Data: 1}
		next := int32(0)
		for i := range rapid.IntRange(1, 6).Draw(t, "sites") {
			part := shape.Part{Site: int32(i), Kind: int32(i), Limit: 8}
			for range rapid.IntRange(1, 6).Draw(t, "devices") {
				part.Devices, part.Caps = append(part.Devices, next), append(part.Caps, rapid.Int64Range(1, 4).Draw(t, "bytes"))
				next++
			}
			slices.Sort(part.Caps)
			slices.Reverse(part.Caps)
			w.pool.Parts, w.pool.Kinds = append(w.pool.Parts, part), append(w.pool.Kinds, []int32{int32(i)})
		}
		l := newSites(w, w.pool.Kinds, -1)
		for range 4 {
			got := slices.Clone(l.roomiest())
			anew := make([]int32, len(l.sites))
			for i := range l.sites {
				anew[i] = int32(i)
			}
			slices.SortFunc(anew, func(a, b int32) int { return roomier(&l.sites[a], &l.sites[b]) })
			if !slices.Equal(got, anew) {
				t.Fatal("sites are not in the order of their room")
			}
			all := l.largest(fewGroups + 1)
			same := func(a, b group) bool { return reflect.DeepEqual(a, b) }
			if most := rapid.IntRange(1, 9).Draw(t, "most"); !slices.EqualFunc(l.largest(most), all[:min(most, len(all))], same) {
				t.Fatalf("%d groups are not the first of all by their capacity", most)
			}
			for range rapid.IntRange(0, 3).Draw(t, "changed") {
				s := &l.sites[rapid.IntRange(0, len(l.sites)-1).Draw(t, "site")]
				for _, at := range w.pool.Parts[s.parts[0]].Devices {
					w.taken.remove([]int32{at})
					if rapid.Bool().Draw(t, "taken") {
						w.taken.Add(at)
					}
				}
				l.refresh(s)
			}
		}
	})
}
