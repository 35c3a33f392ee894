package estimate

import (
	"fmt"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/memory"
)

// doubted says whether a verdict is nearer to the limit than memory is known, and adds a warning where it is; what is said to leave little.
func doubted(stages []Stage, what string, warnings []string) (bool, []string) {
	spare, known := margin(stages)
	if math.Abs(spare) >= known {
		return false, warnings
	}
	warning := fmt.Sprintf("%s leaves %.1f %% of the memory that is needed, which is known to %.0f %%: it may not start", what, 100*spare, 100*known)
	if shortfall(stages) != "" {
		warning = fmt.Sprintf("%.1f %% of the memory that is needed is missing, which is known to %.0f %%: it may start all the same", math.Abs(100*spare), 100*known)
	}
	return true, append(slices.Clip(warnings), warning)
}

// tight is the share of the cache's room above which what memory may be off by is told: below it, the number of requests is as good as known.
const tight = 0.1

// doubt says between which numbers of requests the cache holds, where memory is not known well enough to say one. Groups is the number of
// groups of ranks with a cache of their own.
func (a *Answer) doubt(groups int64) {
	s := &a.Stages[0]
	for i := range a.Stages {
		if max(a.Stages[i].Sequences, a.Stages[i].Running) < max(s.Sequences, s.Running) {
			s = &a.Stages[i]
		}
	}
	room := float64(s.CacheRoom)
	off := memory.Doubt * float64(s.Memory.Total-s.Memory.Cache)
	if off <= tight*room || room <= 0 {
		return
	}
	held := max(s.Sequences, s.Running)
	low, high := int64(float64(held)*max(0, room-off)/room), int64(float64(held+1)*(room+off)/room)
	c := &a.Concurrency
	c.KVCacheRange = &Range{Low: float64(low * groups), High: float64(high * groups)}
	if c.LimitedBy == boundOfCache {
		a.Warnings = append(slices.Clip(a.Warnings), fmt.Sprintf("the cache has %.1f GiB, and memory is known to %.0f %%, %.1f GiB of it: %d to %d requests may find room",
			room/gib, 100*memory.Doubt, off/gib, low*groups, high*groups))
	}
}

const gib = 1 << 30
