package serving

import (
	"testing"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	testStart = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	common    = Offer{"nvidia.com/gpu", "nvidia-0"}
	inSlot    = Offer{"rankwright.dev/slot-a", "nvidia-0"}
)

func pool(offer Offer, healthy bool) []resourcePool {
	return []resourcePool{{Resource: offer.Resource, Entries: []listing{{ID: offer.ID, Device: deviceOf(offer.ID), Healthy: healthy}}}}
}

func all(Offer) bool { return true }

// answered is what the kubelet says after the start.
func answered(after time.Duration, complete bool, held, counted []Offer) usage {
	use := usage{At: testStart.Add(after), Complete: complete, Held: map[Offer]bool{}, Counted: map[Offer]bool{}}
	for _, offer := range held {
		use.Held[offer] = true
	}
	for _, offer := range counted {
		use.Counted[offer] = true
	}
	return use
}

func TestBusy(t *testing.T) {
	none, one := []Offer(nil), []Offer{common}
	withdrawn := func(l *ledger) {
		l.note(pool(common, true), testStart)
		l.note(pool(common, false), testStart)
	}
	tests := []struct {
		name string
		past func(*ledger)
		use  usage
		want bool
	}{
		{"offered to new pods", func(l *ledger) { l.note(pool(common, true), testStart) }, answered(time.Hour, true, none, none), true},
		{"withdrawn, and the kubelet not asked", withdrawn, usage{}, true},
		{"withdrawn just now", withdrawn, answered(withdrawTime-1, true, none, none), true},
		{"withdrawn, and the kubelet agrees", withdrawn, answered(withdrawTime, true, none, none), false},
		{"withdrawn, and the kubelet counts it", withdrawn, answered(time.Hour, true, none, one), true},
		{"withdrawn, and a pod holds it", withdrawn, answered(time.Hour, true, one, none), true},
		{"withdrawn, and the kubelet does not know all", withdrawn, answered(time.Hour, false, none, none), true},
		{"granted just now", func(l *ledger) { withdrawn(l); l.granted(common, testStart) }, answered(grantTime-1, true, none, none), true},
		{"granted, and the kubelet agrees", func(l *ledger) { withdrawn(l); l.granted(common, testStart) }, answered(grantTime, true, none, none), false},
		{"never offered by us, and held", func(*ledger) {}, answered(0, false, one, none), true},
		{"never offered", func(*ledger) {}, answered(0, false, none, none), false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l := newLedger()
			tc.past(l)
			l.read(tc.use)
			if got := l.busy(all)[common]; got != tc.want {
				t.Errorf("busy %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOffersOfOthersAreNotOurs(t *testing.T) {
	l := newLedger()
	l.read(answered(0, true, []Offer{common}, nil))
	if busy := l.busy(func(Offer) bool { return false }); len(busy) > 0 {
		t.Errorf("busy %v, want none", busy)
	}
}

// A new agent takes the devices to be where the one before it published them.
func TestAdopt(t *testing.T) {
	l := newLedger()
	shared := Config{Vendors: map[string]VendorConfig{"nvidia": {Serve: true, Shares: 2}}}
	l.adopt(statusOf(gpu(0, servedBy(v1alpha1.ServedByRankwright, inSlot.Resource)), gpu(1, servedBy(v1alpha1.ServedByRankwright, "nvidia.com/gpu")),
		gpu(2, servedBy(v1alpha1.ServedByDRA, "gpu.nvidia.com")), gpu(3)), shared)
	busy := l.busy(all)
	for _, offer := range []Offer{inSlot, {"nvidia.com/gpu", "nvidia-1/0"}, {"nvidia.com/gpu", "nvidia-1/1"}} {
		if !busy[offer] {
			t.Errorf("%v is not busy", offer)
		}
	}
	if len(busy) != 3 {
		t.Errorf("busy %v, want three", busy)
	}
	l.read(answered(0, true, nil, nil))
	if busy := l.busy(all); len(busy) > 0 {
		t.Errorf("busy %v though the kubelet knows of none", busy)
	}
}
