package verification

import (
	"errors"
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// kindShares are the groups of a kind by the pods that have ranks in them.
type kindShares struct {
	name   string
	groups []shares
}

// shares are what pods have of a group.
type shares struct {
	// places are the group's pods, in order of their first rank in the group, and ranks the number of ranks that each has.
	places []int
	ranks  []int
}

// complete checks a task and finds out which pods are in which groups.
func (t *Task) complete() error {
	switch {
	case t.Version != version:
		return fmt.Errorf("version is %d: this program reads %d; use the operator's version of it", t.Version, version)
	case t.Mesh == "" || t.Plan == "":
		return errors.New("mesh and plan must not be empty")
	case t.Copy < 0:
		return fmt.Errorf("copy is %d: it must be 0 or more", t.Copy)
	case t.DeadlineSeconds < 1:
		return fmt.Errorf("deadlineSeconds is %d: it must be at least 1", t.DeadlineSeconds)
	case t.MinimumShare < 0 || t.MinimumShare > 100:
		return fmt.Errorf("minimumShare is %d: it must be 0 to 100", t.MinimumShare)
	case len(t.Pods) == 0:
		return errors.New("pods must not be empty")
	}
	placeOf := map[int32]int{}
	for place := range t.Pods {
		if err := t.seat(place, placeOf); err != nil {
			return fmt.Errorf("pods[%d]: %w", place, err)
		}
	}
	t.shares = make([]kindShares, 0, len(t.Kinds))
	for i := range t.Kinds {
		k, err := t.Kinds[i].share(placeOf)
		if err != nil {
			return fmt.Errorf("groups[%d]: %w", i, err)
		}
		t.shares = append(t.shares, k)
	}
	return nil
}

// seat checks a pod and notes its place for each of its ranks.
func (t *Task) seat(place int, placeOf map[int32]int) error {
	p := &t.Pods[place]
	switch {
	case p.Index < 0 || place > 0 && p.Index <= t.Pods[place-1].Index:
		return fmt.Errorf("index is %d: indices must be 0 or more, and ascend", p.Index)
	case p.Host == "" || p.Port < 1 || p.Port > 65535:
		return fmt.Errorf("host is %q and port %d: give a host and a port from 1 to 65535", words.Echo(p.Host), p.Port)
	case p.MBps < 0:
		return fmt.Errorf("mbps is %d: give 0 where it is not known", p.MBps)
	}
	ranks, err := p.Ranks.List(mesh.MaxWorldSize - len(placeOf))
	if err != nil {
		return err
	}
	for _, rank := range ranks {
		if other, taken := placeOf[rank]; taken {
			return fmt.Errorf("rank %d is also of pods[%d]", rank, other)
		}
		placeOf[rank] = place
	}
	return nil
}

func (k *Kind) share(placeOf map[int32]int) (kindShares, error) {
	if k.Name == "" {
		return kindShares{}, errors.New("kind must not be empty")
	}
	shared := kindShares{name: k.Name}
	left := len(placeOf)
	for i, group := range k.Groups {
		ranks, err := group.List(left)
		if err != nil {
			return kindShares{}, fmt.Errorf("group %d of %s: %w", i, k.Name, err)
		}
		left -= len(ranks)
		s, err := sharesOf(ranks, placeOf)
		if err != nil {
			return kindShares{}, fmt.Errorf("group %d of %s: %w", i, k.Name, err)
		}
		shared.groups = append(shared.groups, s)
	}
	return shared, nil
}

func sharesOf(ranks []int32, placeOf map[int32]int) (shares, error) {
	var s shares
	at := map[int]int{}
	for _, rank := range ranks {
		place, known := placeOf[rank]
		if !known {
			return shares{}, fmt.Errorf("no pod has rank %d", rank)
		}
		member, seen := at[place]
		if !seen {
			member = len(s.places)
			at[place] = member
			s.places, s.ranks = append(s.places, place), append(s.ranks, 0)
		}
		s.ranks[member]++
	}
	return s, nil
}
