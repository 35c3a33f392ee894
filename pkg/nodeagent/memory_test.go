package nodeagent

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestSteppedUse(t *testing.T) {
	tests := []struct {
		name                       string
		published, observed, total int64
		want                       int64
	}{
		{"below 1 GiB on a small device", 0, 1023, 16384, 0},
		{"1 GiB on a small device", 0, 1024, 16384, 1024},
		{"below 5 % of a large device", 0, 4076, 81559, 0},
		{"5 % of a large device", 0, 4077, 81559, 4077},
		{"down by less than a step", 10240, 9217, 16384, 10240},
		{"down by a step", 10240, 9216, 16384, 9216},
		{"the rest of a step stays", 500, 0, 16384, 500},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := steppedUse(tc.published, tc.observed, tc.total); got != tc.want {
				t.Errorf("steppedUse(%d, %d, %d) = %d, want %d", tc.published, tc.observed, tc.total, got, tc.want)
			}
		})
	}
}

func TestSteppedUseIsNeverAStepAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(0, 1<<20).Draw(t, "total")
		use := rapid.Int64Range(0, total)
		published, observed := use.Draw(t, "published"), use.Draw(t, "observed")
		got := steppedUse(published, observed, total)
		if away := max(got, observed) - min(got, observed); away >= max(1024, total/20) {
			t.Fatalf("%d MiB are used, %d published", observed, got)
		}
		if again := steppedUse(got, observed, total); again != got {
			t.Fatalf("the same use again is published as %d after %d", again, got)
		}
	})
}

func TestMemoryUseIsPublishedInSteps(t *testing.T) {
	found := backends(backend("nvidia", v1alpha1.BackendFound))
	before := status(found, h100(0, usedByOthers(5000)))
	for observed, want := range map[int64]int64{5100: 5000, 20000: 20000} {
		got := Merge(before, status(found, h100(0, usedByOthers(observed))), later)
		if got.Devices[0].Memory.UsedByOthersMiB != want {
			t.Errorf("after 5000 MiB, %d MiB are published as %d, want %d", observed, got.Devices[0].Memory.UsedByOthersMiB, want)
		}
	}
}
