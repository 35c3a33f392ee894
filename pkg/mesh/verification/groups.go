package verification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/collective"
)

// verifyKind verifies the groups of a kind that the pod has ranks in, together with the other pods that have. An error
// means that a collective failed, after which no other collective is possible; wrong results are noted as findings.
func (v *verifier) verifyKind(ctx context.Context, number uint64, kind *kindShares) error {
	if v.world != nil {
		if err := v.world.World().Barrier(ctx); err != nil {
			return err
		}
	}
	result := Measured{Kind: kind.name}
	measured := map[string]bool{}
	for at := range kind.groups {
		group := &kind.groups[at]
		member := slices.Index(group.places, v.Place)
		if member < 0 {
			continue
		}
		s := &session{seed: number<<32 | uint64(at), ranks: group.ranks}
		if len(group.places) == 1 {
			result.Inside++
			if err := v.verifyInside(ctx, kind.name, s); err != nil {
				return err
			}
			continue
		}
		result.Groups++
		// Groups of the same pods go over the same links: each is checked, and the first one measured.
		pods := fmt.Sprint(group.places)
		if err := v.verifyGroup(ctx, kind.name, group, s, &result, !measured[pods]); err != nil {
			return err
		}
		measured[pods] = true
	}
	if result.Groups+result.Inside > 0 {
		v.kinds = append(v.kinds, result)
		v.Log.Info("verified", "groups", kind.name, "between", result.Groups, "inside", result.Inside, "mbps", result.MBps)
	}
	return nil
}

func (v *verifier) verifyGroup(ctx context.Context, kind string, group *shares, s *session, result *Measured, measure bool) error {
	g, err := v.world.Group(group.places)
	if err != nil {
		return err
	}
	for _, check := range checksOf(kind, g.Size()) {
		wrong, err := check(ctx, g, s)
		if err != nil {
			return err
		}
		v.noteWrong(kind, group, wrong)
	}
	if !measure {
		return nil
	}
	r, wrong, err := measureGroup(ctx, g, s, v.Now)
	if err != nil {
		return err
	}
	v.noteWrong(kind, group, wrong)
	if result.MBps == 0 || r.MBps < result.MBps {
		result.MBps = r.MBps
	}
	result.Micros = max(result.Micros, r.Micros)
	if planned := v.plannedFor(group); planned > 0 && (result.Planned == 0 || planned < result.Planned) {
		result.Planned = planned
	}
	return nil
}

// plannedFor is what the plan assumes of the slowest pod of a group; 0 where that is not known of every pod, or the group is on one
// node.
func (v *verifier) plannedFor(group *shares) int64 {
	least, one := int64(0), true
	for _, place := range group.places {
		rate := v.Task.Pods[place].MBps
		if rate == 0 {
			return 0
		}
		if least == 0 || rate < least {
			least = rate
		}
		one = one && v.Task.together(place, group.places[0])
	}
	if one {
		return 0
	}
	return least
}

// verifyInside does the collectives of a group whose ranks are all in this pod, within the process.
func (v *verifier) verifyInside(ctx context.Context, kind string, s *session) error {
	ranks := s.ranks[0]
	world, err := collective.Local(ranks)
	if err != nil {
		return err
	}
	ones := &session{seed: s.seed, ranks: slices.Repeat([]int{1}, ranks)}
	wrongs, errs := make([]*wrongResult, ranks), make([]error, ranks)
	var work sync.WaitGroup
	for rank, c := range world {
		work.Go(func() {
			for _, check := range checksOf(kind, ranks) {
				wrong, err := check(ctx, c.World(), ones)
				if wrong != nil {
					wrongs[rank] = wrong
				}
				if err != nil {
					errs[rank] = err
					return
				}
			}
		})
	}
	work.Wait()
	for rank, c := range world {
		_ = c.Close() // all calls are over
		if wrongs[rank] != nil {
			v.find(Finding{Reason: v1alpha1.FindingResultWrong, Kind: kind, Text: "within the pod: " + wrongs[rank].String()})
			v.own.troubled = true
		}
	}
	return errors.Join(errs...)
}

// noteWrong notes a wrong result, with the pod that it came from where that is known.
func (v *verifier) noteWrong(kind string, group *shares, wrong *wrongResult) {
	if wrong == nil {
		return
	}
	v.own.troubled = true
	f := Finding{Reason: v1alpha1.FindingResultWrong, Kind: kind, Text: wrong.call + " gives a wrong result"}
	if wrong.from >= 0 && group.places[wrong.from] != v.Place {
		index := v.Task.Pods[group.places[wrong.from]].Index
		f.Peer, f.Text = &index, wrong.call+" gives other bytes than were sent"
	}
	v.find(f)
}

// find notes a finding, once for each kind of groups, peer and pair of ranks.
func (v *verifier) find(f Finding) {
	same := func(o Finding) bool {
		return o.Reason == f.Reason && o.Kind == f.Kind && (o.Peer == nil) == (f.Peer == nil) && (f.Peer == nil || *o.Peer == *f.Peer) &&
			slices.Equal(o.Ranks, f.Ranks)
	}
	if !slices.ContainsFunc(v.found, same) {
		v.found = append(v.found, f)
	}
}

// fail notes that a collective failed, after which no other collective is possible.
func (v *verifier) fail(kind string, err error) {
	v.own.troubled = true
	v.Log.Warn("collectives ended", "groups", kind, "error", err.Error())
	v.find(Finding{Reason: v1alpha1.FindingGroupFailed, Kind: kind, Text: v.inPods(err)})
}

// inPods says an error of the copy's communicator in words of pods.
func (v *verifier) inPods(err error) string {
	var failure *collective.RankError
	if errors.As(err, &failure) && failure.Rank < len(v.Task.Pods) && failure.Reporter < len(v.Task.Pods) {
		return fmt.Sprintf("pod %d %s, says pod %d: %s", v.Task.Pods[failure.Rank].Index, failure.Failure, v.Task.Pods[failure.Reporter].Index, failure.Reason)
	}
	if errors.As(err, new(*collective.MeetingError)) {
		return "the pods did not all meet"
	}
	return err.Error()
}
