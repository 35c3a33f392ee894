package preference

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// randomHost draws a host: a PCIe tree, and islands, meshes, pairs, a ring, a torus or partitions on it, in any mixture.
func randomHost(t *rapid.T, least, most int) *inventory {
	n := rapid.IntRange(least, most).Draw(t, "devices")
	status := server(n, rapid.IntRange(1, 4).Draw(t, "devices of a switch"))
	for i := range status.Devices {
		d := &status.Devices[i]
		switch rapid.IntRange(0, 9).Draw(t, "oddity") {
		case 0:
			d.PCI.LinkWidth = 8
		case 1:
			d.NUMANode, d.PCI = nil, nil
		case 2:
			d.Partition = &v1alpha1.DevicePartition{Kind: "MIG", Parent: id(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "parent"))}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "domains") {
		members := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int]).Draw(t, "members")
		slices.Sort(members)
		d := v1alpha1.LinkDomain{
			Kind: "Link", Members: names(members...),
			Topology: rapid.SampledFrom([]v1alpha1.DomainTopology{v1alpha1.TopologySwitch, v1alpha1.TopologyMesh, v1alpha1.TopologyRing, v1alpha1.TopologyTorus}).Draw(t, "topology"),
			PeerMBps: rapid.SampledFrom([]int64{0, 64000, 450000}).Draw(t, "peer"),
		}
		if len(members)%2 == 0 {
			d.Shape = []int32{2, int32(len(members) / 2)}
		}
		d.DeviceMBps = d.PeerMBps * rapid.Int64Range(1, 4).Draw(t, "neighbours")
		with(status, d)
	}
	for range rapid.IntRange(0, 6).Draw(t, "pairs") {
		a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
		status.Links.Pairs = append(status.Links.Pairs, v1alpha1.LinkPair{
			A: name(a), B: name(b), Kind: "NVLink", MBps: rapid.SampledFrom([]int64{25000, 50000}).Draw(t, "rate"),
		})
	}
	return status
}

// request draws what is asked of a host.
func request(t *rapid.T, status *inventory) (available, required []id, size int) {
	available = rapid.SliceOfNDistinct(rapid.SampledFrom(all(status)), 1, len(status.Devices), rapid.ID[id]).Draw(t, "available")
	required = rapid.SliceOfNDistinct(rapid.SampledFrom(available), 0, min(3, len(available)), rapid.ID[id]).Draw(t, "required")
	size = rapid.IntRange(max(1, len(required)), len(available)).Draw(t, "size")
	return available, required, size
}

// subsets calls back with each subset of so many of the ids, in order of the ids.
func subsets(ids []id, size int, visit func([]id)) {
	var extend func(chosen, rest []id)
	extend = func(chosen, rest []id) {
		if len(chosen) == size {
			visit(chosen)
			return
		}
		for i := range rest {
			extend(append(chosen, rest[i]), rest[i+1:])
		}
	}
	extend(nil, ids)
}

func containsAll(chosen, required []id) bool {
	return !slices.ContainsFunc(required, func(r id) bool { return !slices.Contains(chosen, r) })
}

// judge scores sets by the published distances alone, apart from the search.
type judge struct {
	topology *Topology
	groups   [][]id
}

func (j judge) distance(a, b id) int {
	return j.topology.distance(j.topology.index[a], j.topology.index[b])
}

// newJudge finds the groups by going through all subsets: for the farthest pair in it, no further device may be as near.
func newJudge(status *inventory) judge {
	j := judge{topology: NewTopology(status)}
	ids := all(status)
	for size := 2; size <= len(ids); size++ {
		subsets(ids, size, func(group []id) {
			if j.maximal(ids, group) {
				j.groups = append(j.groups, slices.Clone(group))
			}
		})
	}
	return j
}

func (j judge) maximal(ids, group []id) bool {
	radius := 0
	for i, a := range group {
		for _, b := range group[:i] {
			radius = max(radius, j.distance(a, b))
		}
	}
	return !slices.ContainsFunc(ids, func(other id) bool {
		return !slices.Contains(group, other) && !slices.ContainsFunc(group, func(m id) bool { return j.distance(m, other) > radius })
	})
}

// verdict are the criteria in their order; the smaller is better.
func (j judge) verdict(chosen, available []id) []int {
	slowest, sum := 0, 0
	for i, a := range chosen {
		for _, b := range chosen[:i] {
			d := j.distance(a, b)
			slowest, sum = max(slowest, d/steps), sum+d
		}
	}
	verdict := []int{slowest}
	for _, place := range j.topology.places {
		seen := map[int]bool{}
		for _, c := range chosen {
			seen[place[j.topology.index[c]]] = true
		}
		verdict = append(verdict, len(seen))
	}
	left := 0
	for _, group := range j.groups {
		rest := 0
		for _, member := range group {
			if slices.Contains(available, member) && !slices.Contains(chosen, member) {
				rest++
			}
		}
		for size := 2; size <= rest; size *= 2 {
			left += rest / size
		}
	}
	return append(verdict, sum, -left)
}

// best goes through all sets. Of equal ones it keeps the first, which has the lesser names.
func (j judge) best(available, required []id, size int) []id {
	var best []id
	var least []int
	available = sorted(available)
	subsets(available, size, func(chosen []id) {
		if !containsAll(chosen, required) {
			return
		}
		if v := j.verdict(chosen, available); best == nil || slices.Compare(v, least) < 0 {
			best, least = slices.Clone(chosen), v
		}
	})
	return best
}

func TestChooseIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := randomHost(t, 1, 9)
		available, required, size := request(t, status)
		j := newJudge(status)
		want := j.best(available, required, size)
		if diff := gocmp.Diff(want, NewTopology(status).Choose(available, required, size)); diff != "" {
			t.Errorf("%d of %v with %v (-want +got):\n%s", size, available, required, diff)
		}
	})
}

// Up to 16 devices, with the groups as the topology has them.
func TestChooseIsOptimalForSixteen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := randomHost(t, 10, 16)
		available, required, size := request(t, status)
		j := judge{topology: NewTopology(status)}
		for _, group := range j.topology.groups {
			var ids []id
			for _, i := range group.members() {
				ids = append(ids, name(i))
			}
			j.groups = append(j.groups, ids)
		}
		want := j.best(available, required, size)
		if diff := gocmp.Diff(want, j.topology.Choose(available, required, size)); diff != "" {
			t.Errorf("%d of %v with %v (-want +got):\n%s", size, available, required, diff)
		}
	})
}

// Going through all subsets finds the same groups, whatever the graph.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newJudge(randomHost(t, 1, 9))
		got := [][]id{}
		for _, group := range j.topology.groups {
			var ids []id
			for _, i := range group.members() {
				ids = append(ids, name(i))
			}
			got = append(got, ids)
		}
		order := func(a, b []id) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) }
		slices.SortFunc(got, order)
		want := append([][]id{}, j.groups...)
		slices.SortFunc(want, order)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestChooseIgnoresTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		status := randomHost(t, 1, 24)
		available, required, size := request(t, status)
		want := NewTopology(status).Choose(available, required, size)
		shuffled := *status
		shuffled.Devices = rapid.Permutation(status.Devices).Draw(t, "devices in another order")
		shuffled.Links.Domains = rapid.Permutation(status.Links.Domains).Draw(t, "domains in another order")
		again := append(rapid.Permutation(available).Draw(t, "available in another order"), available[0])
		got := NewTopology(&shuffled).Choose(again, rapid.Permutation(required).Draw(t, "required in another order"), size)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("-in order +in another:\n%s", diff)
		}
		if len(got) != size || !containsAll(got, required) || !containsAll(available, got) || !slices.IsSorted(got) {
			t.Errorf("%v is not %d of %v with %v in order", got, size, available, required)
		}
	})
}
