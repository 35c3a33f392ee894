package serving

import (
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const (
	// grantTime is how long an offer counts as held after an Allocate, whatever the kubelet says: it notes the pod only
	// when it has the answer.
	grantTime = 10 * time.Second
	// withdrawTime is how long the kubelet gets to take in that an offer is unhealthy, before it is believed that it does
	// not count it.
	withdrawTime = time.Second
)

// ledger remembers what was offered, to say which offers must stay listed.
type ledger struct {
	// listed are the offers of the last pools, and whether they were healthy.
	listed map[Offer]bool
	// trustedFrom is, by offer, the time of the first answer of the kubelet that can say that it is free.
	trustedFrom map[Offer]time.Time
	// use is the kubelet's last answer, and known says that there was a complete one.
	use   usage
	known bool
}

func newLedger() *ledger {
	return &ledger{listed: map[Offer]bool{}, trustedFrom: map[Offer]time.Time{}}
}

// adopt takes over what an earlier agent offered, as the published inventory has it.
func (l *ledger) adopt(published *v1alpha1.AcceleratorInventoryStatus, config Config) {
	for i := range published.Devices {
		d := &published.Devices[i]
		if d.Service == nil || d.Service.Server != v1alpha1.ServedByRankwright || d.Service.Resource == v1alpha1.DRADriver {
			continue
		}
		shares := config.Vendors[d.Vendor].shares()
		if strings.HasPrefix(d.Service.Resource, v1alpha1.SlotPrefix) {
			shares = 1
		}
		for _, id := range offerIDs(d.ID, shares) {
			l.listed[Offer{d.Service.Resource, id}] = false
		}
	}
}

// granted notes that an Allocate was answered for the offer.
func (l *ledger) granted(offer Offer, now time.Time) { l.trust(offer, now.Add(grantTime)) }

func (l *ledger) trust(offer Offer, from time.Time) {
	if from.After(l.trustedFrom[offer]) {
		l.trustedFrom[offer] = from
	}
}

// read notes an answer of the kubelet.
func (l *ledger) read(use usage) {
	l.use = use
	l.known = l.known || use.Complete
}

// note remembers the pools that are offered from now on.
func (l *ledger) note(pools []resourcePool, now time.Time) {
	before := l.listed
	l.listed = map[Offer]bool{}
	for _, pool := range pools {
		for _, entry := range pool.Entries {
			offer := Offer{pool.Resource, entry.ID}
			l.listed[offer] = entry.Healthy
			if before[offer] && !entry.Healthy {
				l.trust(offer, now.Add(withdrawTime))
			}
		}
	}
	for offer, from := range l.trustedFrom {
		if _, listed := l.listed[offer]; !listed && from.Before(now) {
			delete(l.trustedFrom, offer)
		}
	}
}

// busy returns the offers that must stay listed: held by a pod, or listed now while the kubelet has not said that it neither
// counts them nor has given them to a pod. ours tells our offers from other plugins'.
func (l *ledger) busy(ours func(Offer) bool) map[Offer]bool {
	busy := map[Offer]bool{}
	for offer := range l.use.Held {
		if ours(offer) {
			busy[offer] = true
		}
	}
	for offer, healthy := range l.listed {
		if healthy || !l.free(offer) {
			busy[offer] = true
		}
	}
	return busy
}

// free says whether the kubelet is known neither to have given the offer to a pod nor to be about to.
func (l *ledger) free(offer Offer) bool {
	return l.use.Complete && !l.use.At.Before(l.trustedFrom[offer]) && !l.use.Held[offer] && !l.use.Counted[offer]
}
