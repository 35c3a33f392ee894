package remedy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

const (
	// maxMoved is how many placements are asked to move at most.
	maxMoved = 8
	// maxTrials bounds the sets of placements that are planned without, for each size of a set.
	maxTrials = 12
	// maxMovers is how many placements pairs are made of: those with the most to give.
	maxMovers = 64
)

// moves is the smallest set of placements without which the request fits: one, else two, else so many that none of them
// can stay. Of equal sets it is one whose placements fit elsewhere in their shapes, then one with the fewest devices.
func moves(t *shape.Problem, _ []search.Family) []Remedy {
	n := findHolders(t)
	if len(n.holders) == 0 {
		return nil
	}
	for _, sets := range []func() [][]*holder{n.singles, n.pairs, n.several} {
		if r := n.best(sets()); r != nil {
			return []Remedy{*r}
		}
	}
	return nil
}

// needed returns the holders of a set that must go: it puts back those that can stay, the largest first.
func needed(t *shape.Problem, set []*holder) []*holder {
	for i := len(set) - 1; i >= 0 && len(set) > 1; i-- {
		if rest := slices.Delete(slices.Clone(set), i, i+1); fitsOn(t, t.Cluster.Without(namesOf(rest)...)) {
			set = rest
		}
	}
	return set
}

// best returns the remedy of the first set without which the request fits. A set whose placements all fit elsewhere goes
// before others.
func (n *holders) best(sets [][]*holder) *Remedy {
	t := n.asked
	var first *Remedy
	for _, set := range sets[:min(len(sets), maxTrials)] {
		if t.Stopped() || !n.enough.May(n.freed(set)...) || !fitsOn(t, t.Cluster.Without(namesOf(set)...)) {
			continue
		}
		if len(set) > 1 {
			slices.SortFunc(set, compareHolders)
			set = needed(t, set)
		}
		without := t.Cluster.Without(namesOf(set)...)
		other := t.On(without)
		if other == nil {
			continue
		}
		elsewhere, ok := elsewhere(other, set)
		if !ok {
			continue
		}
		r := &Remedy{Kind: KindMove, Change: moved(t, set, elsewhere), Cluster: without}
		if !slices.Contains(elsewhere, false) {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

func namesOf(set []*holder) []string {
	var names []string
	for _, h := range set {
		names = append(names, h.name)
	}
	return names
}

// moved says which placements have to move, and whether they fit elsewhere.
func moved(t *shape.Problem, set []*holder, elsewhere []bool) string {
	var parts []string
	for i, h := range set {
		could := "no other free devices hold it in its shape"
		if elsewhere[i] {
			could = "it fits elsewhere in its shape"
		}
		parts = append(parts, fmt.Sprintf("%s (%s; %s)", t.Named(h.name), devicesText(t.Cluster, h), could))
	}
	return "the devices of " + strings.Join(parts, " and ")
}

// devicesText names the devices of a holder by product.
func devicesText(c *fleet.Cluster, h *holder) string {
	counts := map[string]int{}
	for _, group := range h.groups {
		counts[c.Class(c.Island(group.at).Class).Name()] += group.devices
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

// elsewhere plans the request without a set of placements, and says for each of them whether the remaining devices hold
// it in its shape: as many devices of the same kind in one island, with no less memory. The second result is false where
// the request does not fit.
func elsewhere(t *shape.Problem, set []*holder) ([]bool, bool) {
	found, _ := search.Best(t)
	if found == nil {
		return nil, false
	}
	left := t.Cluster.Clone()
	left.TakeDevices(found.Devices())
	result := make([]bool, len(set))
	rest := freeRunsOf(left)
	for i, h := range set {
		result[i] = rest.take(left, h)
	}
	return result, true
}

// freeRuns are the free devices of single nodes, by kind of island.
type freeRuns map[runsKey][]freeRun

// runsKey identifies a kind of island: a group can move between islands of equal keys.
type runsKey struct {
	class int32
	link  bool
}

// freeRun is a number of islands with the same free devices.
type freeRun struct {
	runs    []fleet.Run
	islands int
}

func freeRunsOf(c *fleet.Cluster) freeRuns {
	rest := freeRuns{}
	for _, k := range c.Kinds() {
		key := runsKey{k.Class, k.Wires.Link}
		rest[key] = append(rest[key], freeRun{k.Runs, len(k.Members)})
	}
	return rest
}

// take takes devices for all groups of a holder, the largest group first, each from the islands with the least room for
// it. It says whether there were enough.
func (r freeRuns) take(c *fleet.Cluster, h *holder) bool {
	groups := slices.Clone(h.groups)
	slices.SortStableFunc(groups, func(a, b heldIsland) int { return cmp.Compare(b.devices, a.devices) })
	for _, g := range groups {
		is := c.Island(g.at)
		key := runsKey{is.Class, is.Wires.Link}
		best, size := -1, 0
		for i, f := range r[key] {
			if n := f.atLeast(g.free); f.islands > 0 && n >= g.devices && (best < 0 || n < size) {
				best, size = i, n
			}
		}
		if best < 0 {
			return false
		}
		r[key][best].islands--
		r[key] = append(r[key], freeRun{r[key][best].without(g.devices), 1})
	}
	return true
}

// atLeast is how many devices have at least so many free bytes.
func (f *freeRun) atLeast(free int64) int {
	n := 0
	for _, r := range f.runs {
		if r.FreeBytes >= free {
			n += int(r.Count)
		}
	}
	return n
}

// without returns the free devices of an island less its first ones, which have the most room.
func (f *freeRun) without(devices int) []fleet.Run {
	var left []fleet.Run
	for _, r := range f.runs {
		taken := min(devices, int(r.Count))
		devices -= taken
		if int(r.Count) > taken {
			left = append(left, fleet.Run{FreeBytes: r.FreeBytes, Count: r.Count - int32(taken)})
		}
	}
	return left
}

// holder is a placement that holds devices which the request could use.
type holder struct {
	name    string
	groups  []heldIsland // by island
	devices int
}

// heldIsland is the devices that a holder holds on an island.
type heldIsland struct {
	at      fleet.IslandRef
	devices int
	free    int64 // bytes of the device with the most
	usable  bool  // by the request
}

// compareHolders orders holders by what moving them costs: fewest devices, then name.
func compareHolders(a, b *holder) int {
	return cmp.Or(cmp.Compare(a.devices, b.devices), cmp.Compare(a.name, b.name))
}
