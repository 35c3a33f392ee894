package estimate

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/memory"
)

// TestDoubt: where the cache is a tenth of a device or less, 2 % of the rest are requests more or less.
func TestDoubt(t *testing.T) {
	stage := func(total, cache, room, sequences int64) Stage {
		return Stage{Memory: Memory{Use: memory.Use{Cache: cache * gib}, Total: total * gib}, CacheRoom: room * gib, Sequences: sequences}
	}
	for name, c := range map[string]struct {
		stages    []Stage
		groups    int64
		low, high float64
		limit     string
		warns     bool
	}{
		"little room":       {[]Stage{stage(62, 2, 10, 5)}, 1, 4, 6, boundOfCache, true},
		"of several copies": {[]Stage{stage(62, 2, 10, 5)}, 4, 16, 24, boundOfCache, true},
		"few are asked for": {[]Stage{stage(62, 2, 10, 5)}, 1, 4, 6, "concurrency", false},
		"the tightest":      {[]Stage{stage(62, 2, 40, 20), stage(62, 2, 10, 5)}, 1, 4, 6, boundOfCache, true},
		"much room":         {[]Stage{stage(22, 2, 50, 90)}, 1, 0, 0, boundOfCache, false},
		"none":              {[]Stage{stage(62, 2, 0, 0)}, 1, 0, 0, boundOfCache, false},
	} {
		a := &Answer{Stages: c.stages, Concurrency: Concurrency{LimitedBy: c.limit}}
		a.doubt(c.groups)
		got := Range{}
		if a.Concurrency.KVCacheRange != nil {
			got = *a.Concurrency.KVCacheRange
		}
		if want := (Range{c.low, c.high}); got != want || (len(a.Warnings) == 1) != c.warns || c.warns && !strings.Contains(a.Warnings[0], "1.2 GiB of it") {
			t.Errorf("%s: %+v with %q, want %+v", name, got, a.Warnings, want)
		}
	}
}

// TestDoubted: a verdict within 2 % of the limit is doubted, on either side of it.
func TestDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		total  int64
		reason string
		graphs int64
		want   string
	}{
		"fits well": {900, "", 0, ""}, "misses by far": {1100, "too large", 0, ""},
		"fits":                                   {990, "", 0, "the job leaves 1.0 % of the memory that is needed, which is known to 2 %: it may not start"},
		"misses":                                 {1010, "too large", 0, "1.0 % of the memory that is needed is missing, which is known to 2 %: it may start all the same"},
		"fits if recorded launches take no more": {960, "", 48, "the job leaves 4.2 % of the memory that is needed, which is known to 7 %: it may not start"},
	} {
		uncertain, warnings := doubted([]Stage{{Memory: Memory{Total: c.total}, Available: 1000, Reason: c.reason, graphs: c.graphs}}, "the job", nil)
		if got := strings.Join(warnings, "; "); got != c.want || uncertain != (c.want != "") {
			t.Errorf("%s: %t, %q, want %q", name, uncertain, got, c.want)
		}
	}
}
