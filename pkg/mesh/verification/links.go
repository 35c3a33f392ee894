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
)

// links measures the links to other pods: all of a small copy, and of a large one where something is wrong.
func (v *verifier) links(ctx context.Context) {
	if len(v.pairs[v.Place]) == 0 || len(v.Task.Pods) > maxPaired && !v.suspicious(ctx) {
		return
	}
	met := v.meetPairs(ctx)
	for i, p := range v.pairs[v.Place] {
		l := link{place: p.other(v.Place)}
		if met[i].err == nil {
			l.state |= linkMet
			met[i].err = v.probePair(ctx, p, met[i].c, &l)
		}
		if met[i].err != nil {
			l.state |= linkFailed
			l.why = whyLink(met[i].err)
		}
		v.own.links = append(v.own.links, l)
	}
	var work sync.WaitGroup
	for _, m := range met {
		if m.c != nil {
			work.Go(func() { _ = m.c.Close() }) // its probe is over
		}
	}
	work.Wait()
}

// suspicious says whether something is wrong with the groups of any pod.
func (v *verifier) suspicious(ctx context.Context) bool {
	if !v.alive() {
		return true
	}
	word := make([]byte, wordBytes)
	if v.own.troubled {
		word[0] = 1
	}
	if err := v.world.World().AllReduce(ctx, word, collective.INT64, collective.Max); err != nil {
		v.fail("", err)
		return true
	}
	return binary.LittleEndian.Uint64(word) != 0
}

// slowGroup is the first kind of groups that moves less than its share of what the plan assumes, with what is expected of it;
// nil where there is none.
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

// meeting is a communicator of a pair, or why there is none.
type meeting struct {
	c   *collective.Communicator
	err error
}

// meetPairs connects with each other pod by itself, with all at once.
func (v *verifier) meetPairs(ctx context.Context) []meeting {
	const halves = 2
	ctx, cancel := context.WithTimeout(ctx, probing(v.Task.Deadline())/halves)
	defer cancel()
	met := make([]meeting, len(v.pairs[v.Place]))
	var work sync.WaitGroup
	for i, p := range v.pairs[v.Place] {
		work.Go(func() {
			rank := 0
			if p.high == v.Place {
				rank = 1
			}
			met[i].c, met[i].err = collective.New(ctx, collective.Config{
				Rank: rank, Addresses: []string{v.Task.Pods[p.low].Address(), v.Task.Pods[p.high].Address()},
				Mesh: v.pairName(p), Key: v.Key, Listener: v.doors[p], Dial: v.Dial, Silence: v.Silence,
			})
		})
	}
	work.Wait()
	return met
}

func (v *verifier) probePair(ctx context.Context, p pair, c *collective.Communicator, l *link) error {
	sent, right, err := probe(ctx, c, uint64(p.low)<<32|uint64(p.high), v.Now)
	l.sent = sent
	if !right {
		l.state |= linkWrong
	}
	return err
}

// ceiling is what the program itself moves between two ends within the pod, in MB/s: no link can be expected to move more. It
// is 0 where that cannot be measured.
func (v *verifier) ceiling(ctx context.Context) int64 {
	var ends [2]net.Listener
	defer func() {
		for _, listener := range ends {
			if listener != nil {
				_ = listener.Close() // it may be closed already
			}
		}
	}()
	var addresses []string
	for i := range ends {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return 0
		}
		ends[i], addresses = listener, append(addresses, listener.Addr().String())
	}
	var sent [2]int64
	var work sync.WaitGroup
	for rank, listener := range ends {
		work.Go(func() {
			c, err := collective.New(ctx, collective.Config{Rank: rank, Addresses: addresses, Mesh: "within a pod", Key: v.Key, Listener: listener})
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
		// Of the two directions the one that was dialed says more.
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

// judge notes what is wrong with the pod's own links. Findings of groups that a link explains come after it.
func (v *verifier) judge(m matrix) {
	slow := map[*link]int64{}
	for _, s := range m.slow(v.Task, v.Place) {
		slow[s.link] = s.expected
	}
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
		Outcome: outcome, Kinds: v.kinds, Findings: v.found,
	}
}
