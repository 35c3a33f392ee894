package health

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var observations = []v1alpha1.DeviceHealth{well, lost, reset, hot, noAnswer, failed, notSeen, noDriver, unwatched}

func usable(h v1alpha1.DeviceHealth) bool { return (&v1alpha1.Device{Health: h}).Usable() }

// A device with a fatal XID is not usable before what clears it was seen: evidence, a boot, or that it was gone or lost.
func TestFatalStaysUntilCleared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]int64{48, 64, 74, 79, 95, 119, 140}).Draw(t, "xid")
		signal, _ := XID(number)
		published := DefaultRules.Fault(v1alpha1.DeviceHealth{}, signal, at(0))
		cleared, now := false, 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.IntRange(0, 400).Draw(t, "pause")
			if rapid.Bool().Draw(t, "event") {
				other := rapid.SampledFrom([]int64{13, 31, 43, 45, 63, 94, 4711}).Draw(t, "other")
				if signal, ok := XID(other); ok {
					published = DefaultRules.Fault(published, signal, at(now))
				}
			} else {
				seen := Observation{Health: rapid.SampledFrom(observations).Draw(t, "seen"), Again: rapid.Bool().Draw(t, "again")}
				if rapid.IntRange(0, 9).Draw(t, "proof") == 0 {
					seen.Evidence = rapid.SampledFrom([]Evidence{NoActionNeeded, CountersAnew}).Draw(t, "evidence")
				}
				cleared = cleared || seen.Evidence != 0 || reasonsGone[seen.Health.Reason] || reasonsLost[seen.Health.Reason]
				published = DefaultRules.Next(published, seen, at(now))
			}
			if usable(published) && !cleared {
				t.Fatalf("usable at %d s without a proof: %+v", now, published)
			}
		}
	})
}

// However the observations alternate, a device becomes usable at most once in the time that Unknown is held, and after a
// fault that was seen no sooner than the rules say, unless the device or its driver was gone in between.
func TestNoFlapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		published := DefaultRules.Next(v1alpha1.DeviceHealth{}, Observation{Health: well}, at(0))
		now, flips := 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.IntRange(0, 30).Draw(t, "pause")
			before := published
			published = DefaultRules.Next(before, Observation{
				Health:   rapid.SampledFrom(observations).Draw(t, "seen"),
				Evidence: rapid.SampledFrom([]Evidence{0, NoActionNeeded}).Draw(t, "evidence"),
			}, at(now))
			if usable(before) != usable(published) {
				flips++
			}
			held := at(now).Sub(before.Since.Time)
			switch {
			case usable(before) || !usable(published):
			case held < DefaultRules.Hold:
				t.Fatalf("usable %s after it was not: %+v", held, published)
			case before.State == v1alpha1.Unhealthy && held < DefaultRules.Time:
				t.Fatalf("usable %s after a fault: %+v", held, published)
			}
		}
		if most := 2 + 2*now/int(DefaultRules.Hold/time.Second); flips > most {
			t.Fatalf("%d changes between usable and not in %d s, at most %d are allowed", flips, now, most)
		}
	})
}
