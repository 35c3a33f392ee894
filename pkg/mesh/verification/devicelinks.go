package verification

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

// maxDevicePairs bounds the copies of which every two ranks are measured: 496 pairs in 31 rounds. In larger copies, every two
// ranks of a pod are, and the ranks of the same number in consecutive pods.
const maxDevicePairs = 32

// devicePairs are pairs of places in ranks, in rounds in which each rank is in one pair at most. All pods compute the same pairs.
func devicePairs(ranks []deviceRank) [][][]int {
	var rounds [][][]int
	busy := make([]map[int]bool, 0)
	for low := range ranks {
		for high := low + 1; high < len(ranks); high++ {
			a, b := ranks[low], ranks[high]
			near := a.place == b.place || b.place == a.place+1 && a.ordinal == b.ordinal
			if len(ranks) > maxDevicePairs && !near {
				continue
			}
			at := slices.IndexFunc(busy, func(taken map[int]bool) bool { return !taken[low] && !taken[high] })
			if at < 0 {
				at = len(busy)
				busy, rounds = append(busy, map[int]bool{}), append(rounds, nil)
			}
			busy[at][low], busy[at][high] = true, true
			rounds[at] = append(rounds[at], []int{low, high})
		}
	}
	return rounds
}

// deviceLink is one direction of the link between two devices.
type deviceLink struct {
	from, to int
	state    linkState
	mbps     int64
	// why the link failed, as far as this pod knows.
	why string
}

// measurePairs measures every link in both directions and notes what is wrong with the links of the pod's own ranks. troubled says
// whether any link of any pod is wrong.
func (f *fabric) measurePairs(ctx context.Context) (troubled bool, err error) {
	var links []deviceLink
	for number, checks := range devicePairs(f.ranks) {
		results, ok, err := f.round(ctx, checks, uint64(number), false)
		if err != nil {
			return false, err
		}
		if !ok {
			f.Log.Warn("not all links between devices were measured", "why", "the time is up", "rounds", number)
			break
		}
		for _, members := range checks {
			links = append(links, f.linkOf(members[0], members[1], results), f.linkOf(members[1], members[0], results))
		}
	}
	if err := f.shareLinks(ctx, links); err != nil {
		return false, err
	}
	return f.judgeLinks(links), nil
}

// linkOf is what this pod knows of a direction of a link: how fast its own end sends, and whether it receives what was sent.
func (f *fabric) linkOf(from, to int, results map[int]devicelib.Result) deviceLink {
	sent, received := results[from], results[to] // empty but for the pod's own ranks
	l := deviceLink{from: from, to: to, mbps: sent.MBps, why: sent.Error}
	if f.ranks[from].place == f.Place {
		l.state |= linkMet
	}
	if sent.Error != "" || received.Error != "" {
		l.state |= linkFailed
	}
	if received.Wrong {
		l.state |= linkWrong
	}
	return l
}

// shareLinks adds what the other pods know.
func (f *fabric) shareLinks(ctx context.Context, links []deviceLink) error {
	numbers := make([]int64, 0, each*len(links))
	for i := range links {
		numbers = append(numbers, int64(links[i].state), links[i].mbps)
	}
	all, err := f.exchange(ctx, wordsOf(numbers))
	if err != nil || len(links) == 0 {
		return err
	}
	for said := range slices.Chunk(numbersOf(all), len(numbers)) {
		for i := range links {
			links[i].state |= linkState(said[each*i])
			links[i].mbps = max(links[i].mbps, said[each*i+1])
		}
	}
	return nil
}

// judgeLinks notes the findings of the pod's own ranks: the sender notes a slow direction, the receiver wrong bytes, and the first
// rank a broken link.
func (f *fabric) judgeLinks(links []deviceLink) (troubled bool) {
	medians := f.deviceMedians(links)
	for _, l := range links {
		sender, receiver := f.ranks[l.from], f.ranks[l.to]
		expected := medians[f.sortOf(l)]
		switch {
		case l.state&linkFailed != 0:
			if l.from < l.to && sender.place == f.Place {
				f.findBetween(v1alpha1.FindingLinkBroken, l, receiver.place, Finding{Text: cmp.Or(l.why, "the other end failed")})
			}
		case l.state&linkWrong != 0:
			if receiver.place == f.Place {
				f.findBetween(v1alpha1.FindingResultWrong, l, sender.place, Finding{})
			}
		case l.mbps*100 < expected*int64(f.Task.MinimumShare):
			if sender.place == f.Place {
				f.findBetween(v1alpha1.FindingLinkSlow, l, receiver.place, Finding{MBps: l.mbps, Expected: expected})
			}
		default:
			continue
		}
		troubled = true
	}
	f.verifier.own.troubled = f.verifier.own.troubled || troubled
	return troubled
}

// linkSort tells links apart that are of different wires.
type linkSort struct{ inPod, onNode bool }

func (f *fabric) sortOf(l deviceLink) linkSort {
	a, b := f.ranks[l.from].place, f.ranks[l.to].place
	return linkSort{a == b, f.Task.together(a, b)}
}

// deviceMedians returns the median rate of each sort of link.
func (f *fabric) deviceMedians(links []deviceLink) map[linkSort]int64 {
	rates, medians := map[linkSort][]int64{}, map[linkSort]int64{}
	for _, l := range links {
		if l.state&(linkFailed|linkWrong) == 0 && l.mbps > 0 {
			rates[f.sortOf(l)] = append(rates[f.sortOf(l)], l.mbps)
		}
	}
	for sort, of := range rates {
		medians[sort] = median(of)
	}
	return medians
}

// findBetween notes a finding about the link between two devices, with the pod at its other end where that is a different pod.
func (f *fabric) findBetween(reason v1alpha1.FindingReason, l deviceLink, other int, found Finding) {
	found.Reason, found.Ranks = reason, []int32{f.ranks[l.from].rank, f.ranks[l.to].rank}
	if other != f.Place {
		found.Peer = new(f.Task.Pods[other].Index)
	}
	found.Text = fmt.Sprintf("%s over %s", f.library, f.wire(l)) + prefixed(found.Text)
	f.find(found)
}

// wire names what joins two devices, as far as the plan knows.
func (f *fabric) wire(l deviceLink) string {
	a, b := &f.Task.Pods[f.ranks[l.from].place], &f.Task.Pods[f.ranks[l.to].place]
	switch {
	case a.Node == b.Node && a.Wire != "" && a.Wire == b.Wire:
		return a.Wire
	case a.Node == b.Node:
		return "PCI Express"
	case a.Fabric != "" && a.Fabric == b.Fabric:
		return a.Fabric
	default:
		return "the network"
	}
}

// noteGroups notes what the pod's own ranks came to when their groups of a kind added up.
func (f *fabric) noteGroups(kind string, results map[int]devicelib.Result) {
	for _, member := range f.own {
		result, took := results[member]
		switch {
		case !took:
			continue
		case result.Error != "":
			f.find(Finding{Reason: v1alpha1.FindingGroupFailed, Kind: kind, Text: f.library + ": " + result.Error})
		case result.Wrong:
			f.find(Finding{Reason: v1alpha1.FindingResultWrong, Kind: kind, Text: f.library + ": all-reduce gives a wrong result"})
		}
		for i := range f.kinds {
			if k := &f.kinds[i]; k.Kind == kind && result.MBps > 0 {
				k.DeviceMBps = least(k.DeviceMBps, result.MBps)
			}
		}
	}
}
