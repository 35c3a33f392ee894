package verification

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

// Devices has collectives between devices done by the library that engines use; a devicelib.Process does.
type Devices interface {
	// Loaded says which library is loaded, and how many devices it sees.
	Loaded() devicelib.Loaded
	// IDs makes count ids by which the ranks of a communicator meet.
	IDs(ctx context.Context, count int) ([][]byte, error)
	// Do does parts of checks at the same time, and takes no longer than patience.
	Do(ctx context.Context, jobs []devicelib.Job, patience time.Duration) []devicelib.Result
}

// idBytes is the length of ncclUniqueId.
const idBytes = 128

// deviceRank is a rank with its device: the place of its pod, and its number in there. Engines take a pod's devices in order
// of rank, too.
type deviceRank struct {
	rank           int32
	place, ordinal int
}

// deviceRanks are all ranks of the copy, in order of the pods' places.
func (t *Task) deviceRanks() ([]deviceRank, error) {
	var all []deviceRank
	for place := range t.Pods {
		ranks, err := t.Pods[place].Ranks.List(mesh.MaxWorldSize)
		if err != nil {
			return nil, err
		}
		for ordinal, rank := range ranks {
			all = append(all, deviceRank{rank, place, ordinal})
		}
	}
	return all, nil
}

// fabric is the verification by the library of devices.
type fabric struct {
	*verifier
	ranks []deviceRank
	// own are the indices in ranks of the pod's own ranks.
	own []int
	// slots is the most ranks that a pod has: all pods exchange messages of that many.
	slots int
}

// devices checks and measures the links between devices where every pod has the library; else nothing but TCP is tried. An
// error means that a collective between pods failed, after which no other collective is possible.
func (v *verifier) devices(ctx context.Context) error {
	ranks, err := v.Task.deviceRanks()
	if err != nil {
		return err
	}
	f := &fabric{verifier: v, ranks: ranks}
	for at, r := range ranks {
		f.slots = max(f.slots, r.ordinal+1)
		if r.place == f.Place {
			f.own = append(f.own, at)
		}
	}
	name, err := f.agree(ctx)
	if err != nil || name == "" {
		return err
	}
	v.library = name
	v.Log.Info("measuring between devices", "library", name, "ranks", len(ranks))
	troubled, err := f.measurePairs(ctx)
	if err != nil || troubled {
		return err // a group tells no more than its links
	}
	return f.addUp(ctx)
}

// agree returns the name of the library that every pod has with a device for each of its ranks; empty where a pod lacks either.
func (f *fabric) agree(ctx context.Context) (string, error) {
	const length = 16
	mine := make([]byte, length)
	if f.Devices == nil {
		f.Log.Info("devices are not measured", "why", f.WithoutDevices)
	} else if loaded, own := f.Devices.Loaded(), len(f.own); loaded.Devices < own {
		f.Log.Warn("devices are not measured", "why", fmt.Sprintf("%s sees %d devices, and the pod has %d ranks", loaded.Name, loaded.Devices, own))
	} else {
		copy(mine, loaded.Name)
	}
	all, err := f.exchange(ctx, mine)
	if err != nil {
		return "", err
	}
	for part := range slices.Chunk(all, length) {
		if !bytes.Equal(part, mine) {
			f.Log.Info("devices are not measured", "why", "not every pod has the same library")
			return "", nil
		}
	}
	return string(slices.DeleteFunc(mine, func(b byte) bool { return b == 0 })), nil
}

// exchange gives every pod what all say, in order of their places.
func (v *verifier) exchange(ctx context.Context, mine []byte) ([]byte, error) {
	if len(v.Task.Pods) == 1 {
		return mine, nil
	}
	all := make([]byte, len(mine)*len(v.Task.Pods))
	return all, v.world.World().AllGather(ctx, all, mine)
}

// deviceTime is what a round may take: a communicator of two ranks is made in less than a second, one of many in some.
const deviceTime = 10 * time.Second

// round does checks at the same time, none of which has a rank in common with another. members are places in ranks; the first
// member's pod makes the id. It returns the results of this pod's own members by place in ranks, and ok is false where the
// time is up on any pod.
func (f *fabric) round(ctx context.Context, checks [][]int, seed uint64, all bool) (results map[int]devicelib.Result, ok bool, err error) {
	ids, ok, err := f.meetRound(ctx, checks)
	if err != nil || !ok {
		return nil, ok, err
	}
	var jobs []devicelib.Job
	var whose []int
	for i, members := range checks {
		for rank, member := range members {
			if r := f.ranks[member]; r.place == f.Place {
				jobs = append(jobs, devicelib.Job{
					ID: ids[i], Size: len(members), Rank: rank, Ordinal: r.ordinal, All: all, Seed: seed + uint64(i)<<32, Bytes: f.DeviceBytes,
				})
				whose = append(whose, member)
			}
		}
	}
	results = map[int]devicelib.Result{}
	if len(jobs) > 0 {
		for i, result := range f.Devices.Do(ctx, jobs, f.DeviceTime) {
			results[whose[i]] = result
		}
	}
	return results, true, nil
}

// meetRound gives every pod the ids of the checks. A pod that cannot make one leaves it empty: its check fails.
func (f *fabric) meetRound(ctx context.Context, checks [][]int) (ids [][]byte, ok bool, err error) {
	mine := make([]byte, 1+f.slots*idBytes)
	if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) > f.DeviceTime {
		mine[0] = 1
	}
	var leads []int
	for _, members := range checks {
		if f.ranks[members[0]].place == f.Place {
			leads = append(leads, f.ranks[members[0]].ordinal)
		}
	}
	if len(leads) > 0 && mine[0] == 1 {
		made, err := f.Devices.IDs(ctx, len(leads))
		if err != nil {
			f.Log.Warn("no ids", "error", err.Error())
		}
		for i, id := range made {
			copy(mine[1+leads[i]*idBytes:][:idBytes], id)
		}
	}
	all, err := f.exchange(ctx, mine)
	if err != nil {
		return nil, false, err
	}
	said := slices.Collect(slices.Chunk(all, len(mine)))
	if slices.ContainsFunc(said, func(part []byte) bool { return part[0] == 0 }) {
		return nil, false, nil
	}
	for _, members := range checks {
		lead := f.ranks[members[0]]
		ids = append(ids, said[lead.place][1+lead.ordinal*idBytes:][:idBytes])
	}
	return ids, true, nil
}

// addUp has the groups of each kind add up at the same time.
func (f *fabric) addUp(ctx context.Context) error {
	at := map[int32]int{}
	for i, r := range f.ranks {
		at[r.rank] = i
	}
	for number := range f.Task.Kinds {
		kind := &f.Task.Kinds[number]
		var checks [][]int
		for _, group := range kind.Groups {
			ranks, err := group.List(len(f.ranks))
			if err != nil {
				return err
			}
			var members []int
			for _, rank := range ranks {
				members = append(members, at[rank])
			}
			if len(members) > 1 {
				checks = append(checks, members)
			}
		}
		results, ok, err := f.round(ctx, checks, uint64(number+1)<<48, true)
		if err != nil || !ok {
			return err
		}
		f.noteGroups(kind.Name, results)
	}
	return nil
}
