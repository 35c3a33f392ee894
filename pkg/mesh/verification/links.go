package verification

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/collective"
	"github.com/rankwright/rankwright/pkg/mesh/verification/traffic"
)

// links measures the links to other pods: all of a small copy, and of a large one where something is wrong.
func (v *verifier) links(ctx context.Context) {
	if len(v.pairs[v.Place]) == 0 || len(v.Task.Pods) > maxPaired && !v.suspicious(ctx) {
		return
	}
	links := v.meetPairs(ctx)
	v.measurePairs(ctx, links)
	var work sync.WaitGroup
	for i := range links {
		if c := links[i].c; c != nil {
			work.Go(func() { _ = c.Close() }) // its probe is over
		}
		v.own.links = append(v.own.links, links[i].link)
	}
	work.Wait()
}

// measurePairs measures the links over which the pods met, in the order that all pods have. A link that no time is
// left to measure does not count as broken.
func (v *verifier) measurePairs(ctx context.Context, links []pairLink) {
	const parts = 8 // one part is kept for telling each other
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-probing(v.Task.deadline())/parts))
	defer cancel()
	for i := range links {
		l := &links[i]
		if l.state&linkFailed != 0 {
			continue
		}
		sent, right, err := probe(ctx, l.c, l.seed, v.Now)
		l.sent = sent
		if !right {
			l.state |= linkWrong
		}
		switch {
		case err == nil:
		case outOfTime(err):
			l.sent = rate{}
			v.find(Finding{Reason: v1alpha1.FindingGroupFailed, Text: "the time ended before all links were measured: give a longer deadlineSeconds"})
		default:
			l.state |= linkFailed
			l.why = whyLink(err)
		}
	}
}

// outOfTime says whether a link's measurement ended because either end had no more time.
func outOfTime(err error) bool {
	var failure *collective.RankError
	if errors.As(err, &failure) {
		return failure.Failure == collective.TimedOut || failure.Failure == collective.Left
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// suspicious says whether something is wrong with the groups of any pod.
func (v *verifier) suspicious(ctx context.Context) bool {
	if !v.alive() {
		return true
	}
	word := make([]byte, traffic.WordBytes)
	if v.own.troubled {
		word[0] = 1
	}
	if err := v.world.World().AllReduce(ctx, word, collective.INT64, collective.Max); err != nil {
		v.fail("", err)
		return true
	}
	return binary.LittleEndian.Uint64(word) != 0
}

// slowGroup returns the first kind of groups that moves less than its share of what the plan assumes, and the rate that is
// expected of it; nil where there is none.
func (v *verifier) slowGroup() (*Measured, int64) {
	for i := range v.kinds {
		k := &v.kinds[i]
		expected := k.Planned
		if v.own.ceiling > 0 {
			expected = min(expected, v.own.ceiling)
		}
		if k.MBps*100 < expected*int64(v.Task.MinimumShare) {
			return k, expected
		}
	}
	return nil, 0
}

// pairLink is a link with the communicator of its two ends; nil where they did not meet.
type pairLink struct {
	link
	c    *collective.Communicator
	seed uint64
}

// meetPairs connects with each other pod by itself, with all at once, and sees whether bytes come over right.
func (v *verifier) meetPairs(ctx context.Context) []pairLink {
	const halves = 2
	ctx, cancel := context.WithTimeout(ctx, probing(v.Task.deadline())/halves)
	defer cancel()
	links := make([]pairLink, len(v.pairs[v.Place]))
	var work sync.WaitGroup
	for i, p := range v.pairs[v.Place] {
		work.Go(func() {
			l := &links[i]
			l.place, l.seed = p.other(v.Place), uint64(p.low)<<32|uint64(p.high)
			if err := v.meetPair(ctx, p, l); err != nil {
				l.state |= linkFailed
				l.why = whyLink(err)
			}
		})
	}
	work.Wait()
	return links
}

func (v *verifier) meetPair(ctx context.Context, p pair, l *pairLink) error {
	rank := 0
	if p.high == v.Place {
		rank = 1
	}
	var err error
	l.c, err = collective.New(ctx, collective.Config{
		Rank: rank, Addresses: []string{v.Task.Pods[p.low].Address(), v.Task.Pods[p.high].Address()},
		Mesh: v.pairName(p), Key: v.Key, Listener: v.doors[p], Dial: v.Dial, Silence: v.Silence,
	})
	if err != nil {
		return err
	}
	l.state |= linkMet
	// Small packets can pass where large ones do not. Both ends make both calls, whatever came of the first.
	for _, check := range []check{checkAllToAll, checkNeighbours} {
		switch err := check(ctx, l.c.World(), &session{seed: l.seed}); {
		case errors.As(err, new(*wrongResult)):
			l.state |= linkWrong
		case err != nil:
			return err
		}
	}
	return nil
}

// ceiling is what the program itself moves between two ends within the pod, in MB/s: no link can be expected to move more. It
// is 0 where that cannot be measured.
func (v *verifier) ceiling(ctx context.Context) int64 {
	const sides = 2
	var ends []net.Listener
	var addresses []string
	defer func() {
		for _, listener := range ends {
			_ = listener.Close() // it may be closed already
		}
	}()
	for range sides {
		listener, err := v.Listen(ctx)
		if err != nil {
			return 0
		}
		ends, addresses = append(ends, listener), append(addresses, listener.Addr().String())
	}
	var sent [sides]int64
	var work sync.WaitGroup
	for rank, listener := range ends {
		work.Go(func() {
			c, err := collective.New(ctx, collective.Config{
				Rank: rank, Addresses: addresses, Mesh: "within a pod", Key: v.Key, Listener: listener, Dial: v.Dial,
			})
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			if r, _, err := probe(ctx, c, 0, v.Now); err == nil {
				sent[rank] = r.MBps
			}
		})
	}
	work.Wait()
	return min(sent[0], sent[1])
}

// whyLink is why two pods did not meet, or lost each other, without the ranks that they have in a pair.
func whyLink(err error) string {
	var meeting *collective.MeetingError
	if errors.As(err, &meeting) && len(meeting.Missing) > 0 {
		// Of the errors of both directions, the error of the dialed one says more.
		said := slices.SortedFunc(slices.Values(meeting.Missing), func(a, b string) int {
			return cmp.Compare(strings.Count(b, "connect:"), strings.Count(a, "connect:"))
		})[0]
		if _, reason, found := strings.Cut(said, "): "); found {
			return reason
		}
		return said
	}
	var failure *collective.RankError
	if errors.As(err, &failure) {
		return fmt.Sprintf("the other end %s: %s", failure.Failure, failure.Reason)
	}
	return err.Error()
}

// judge notes what is wrong with the pod's own links. Findings of groups come after the links that explain them.
func (v *verifier) judge(m matrix) {
	slow := m.slow(v.Task, v.Place)
	for i := range v.own.links {
		l := &v.own.links[i]
		index := v.Task.Pods[l.place].Index
		if l.state&linkWrong != 0 {
			v.find(Finding{Reason: v1alpha1.FindingResultWrong, Peer: &index, Text: "it receives other bytes than the other end sends"})
		}
		if l.state&linkFailed != 0 {
			v.find(Finding{Reason: v1alpha1.FindingLinkBroken, Peer: &index, Text: l.why})
		}
		if expected, is := slow[l]; is {
			v.find(Finding{Reason: v1alpha1.FindingLinkSlow, Peer: &index, MBps: l.sent.MBps, Expected: expected})
		}
	}
	if k, expected := v.slowGroup(); k != nil && len(v.found) == 0 {
		v.find(Finding{Reason: v1alpha1.FindingGroupFailed, Kind: k.Kind, MBps: k.MBps, Expected: expected, Text: "it is slow, and none of its links is"})
	}
	slices.SortStableFunc(v.found, func(a, b Finding) int {
		return cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason))
	})
}

func (v *verifier) report(outcome Outcome) *Report {
	return &Report{
		Version: version, Plan: v.Task.Plan, Copy: v.Task.Copy, Pod: v.Task.Pods[v.Place].Index,
		Outcome: outcome, Library: v.library, Kinds: v.kinds, Findings: v.found,
	}
}
