package collective

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
)

// Several groups at once, each with its own order of ranks, and two of the same ranks.
func TestGroupsAtOnce(t *testing.T) {
	lists := [][]int{{0, 1, 2, 3}, {3, 1}, {0, 2}, {2, 0, 3}, {1}, {3, 1}}
	for transport, make := range transports {
		t.Run(transport, func(t *testing.T) {
			world := make(t, 4)
			var work sync.WaitGroup
			for number, list := range lists {
				groups := membersOf(t, world, list)
				work.Go(func() { exerciseGroup(t, groups, number) })
			}
			work.Wait()
		})
	}
}

func membersOf(t *testing.T, world []*Communicator, list []int) []Group {
	t.Helper()
	var groups []Group
	for _, rank := range list {
		g, err := world[rank].Group(list)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Ranks(), list) || g.Size() != len(list) || g.Rank() != len(groups) {
			t.Fatalf("group %v: rank %d of %d in %v", list, g.Rank(), g.Size(), g.Ranks())
		}
		groups = append(groups, g)
	}
	return groups
}

func exerciseGroup(t *testing.T, groups []Group, number int) {
	for round := range 5 {
		inputs := randomBuffers(seeded(number, round), INT64, Sum, 1000, len(groups))
		want := combineSerially(INT64, Sum, inputs)
		errs := onAll(groups, func(i int, g Group) error {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return g.AllReduce(ctx, inputs[i], INT64, Sum)
		})
		for i, got := range inputs {
			if errs[i] != nil || !bytes.Equal(got, want) {
				t.Errorf("group %d, round %d, rank %d is wrong: %v", number, round, i, errs[i])
				return
			}
		}
	}
}
