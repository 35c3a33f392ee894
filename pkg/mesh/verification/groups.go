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
		if err := v.noteWrong(kind, group, check(ctx, g, s)); err != nil {
			return err
		}
	}
	if !measure {
		return nil
	}
	r, err := measureGroup(ctx, g, s, v.Now)
	if err := v.noteWrong(kind, group, err); err != nil {
		return err
	}
	result.MBps, result.Micros = least(result.MBps, r.MBps), max(result.Micros, r.Micros)
	result.Planned = least(result.Planned, v.plannedFor(group))
	return nil
}

// plannedFor is what the plan assumes of the slowest pod of a group; 0 where that is not known of every pod, or the group is on one
// node.
func (v *verifier) plannedFor(group *shares) int64 {
	slowest, one := int64(0), true
	for _, place := range group.places {
		rate := v.Task.Pods[place].MBps
		if rate == 0 {
			return 0
		}
		slowest = least(slowest, rate)
		one = one && v.Task.together(place, group.places[0])
	}
	if one {
		return 0
	}
	return slowest
}

// verifyInside does the collectives of a group whose ranks are all in this pod, within the process.
func (v *verifier) verifyInside(ctx context.Context, kind string, s *session) error {
	ranks := s.ranks[0]
	world, err := collective.Local(ranks)
	if err != nil {
		return err
	}
	ones := &session{seed: s.seed, ranks: slices.Repeat([]int{1}, ranks)}
	errs := make([]error, ranks)
	var work sync.WaitGroup
	for rank, c := range world {
		work.Go(func() {
			for _, check := range checksOf(kind, ranks) {
				err := check(ctx, c.World(), ones)
				if err != nil {
					errs[rank] = err
				}
				if err != nil && !errors.As(err, new(*wrongResult)) {
					return
				}
			}
		})
	}
	work.Wait()
	for rank, c := range world {
		_ = c.Close() // all calls are over
		if errors.As(errs[rank], new(*wrongResult)) {
			v.find(Finding{Reason: v1alpha1.FindingResultWrong, Kind: kind, Text: "within the pod: " + errs[rank].Error()})
			errs[rank] = nil
		}
	}
	return errors.Join(errs...)
}

// noteWrong notes a wrong result, with the pod that it came from where that is known, and returns any other error.
func (v *verifier) noteWrong(kind string, group *shares, err error) error {
	var wrong *wrongResult
	if !errors.As(err, &wrong) {
		return err
	}
	f := Finding{Reason: v1alpha1.FindingResultWrong, Kind: kind, Text: wrong.call + " gives a wrong result"}
	if wrong.from >= 0 && group.places[wrong.from] != v.Place {
		f.Peer, f.Text = new(v.Task.Pods[group.places[wrong.from]].Index), wrong.call+" gives other bytes than were sent"
	}
	v.find(f)
	return nil
}

// find notes a finding, once for each kind of groups, peer and pair of ranks.
func (v *verifier) find(f Finding) {
	v.own.troubled = true
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
