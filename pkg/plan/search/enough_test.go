package search_test

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestEnoughRefusesNothingThatFits holds the answer that there is no room for a request to the search, on clusters of which a node's devices
// are taken and then counted as further ones.
func TestEnoughRefusesNothingThatFits(t *testing.T) {
	answers, plans := map[bool]int{}, 0
	for seed := range uint64(800) {
		draw := plantest.Draw(t, seed, 4)
		m := draw.Model(12)
		whole := fleet.NewCluster(draw.Nodes(10))
		request := shape.Request{Placement: draw.Request(m, 10), Model: m}
		if spec := &request.Placement.Spec; draw.OneIn(4) {
			plantest.Together(int32(1 + draw.IntN(3000)))(spec)
			spec.Replicas = nil
		}
		p, err := shape.New(whole, request)
		if err != nil {
			continue
		}
		without := whole.Clone()
		var more []shape.More
		at := int32(draw.IntN(len(whole.Nodes())))
		for _, is := range whole.Nodes()[at].Islands {
			for _, device := range is.Free {
				ref := whole.Ref(at, device)
				without.TakeDevices([]int32{ref})
				more = append(more, shape.More{Class: is.Class, Devices: 1, FreeBytes: whole.Device(ref).FreeBytes, Zone: p.ZoneOf(at)})
			}
		}
		may := p.On(without).Enough().May(more...)
		answers[may]++
		if found, _ := search.Best(p); found != nil {
			plans++
			if !may {
				t.Fatalf("case %d: there is a plan, and it is said that there is no room for one", seed)
			}
		}
		if may != p.Enough().May() {
			t.Fatalf("case %d: further devices make another answer (%v) than those that are there", seed, may)
		}
	}
	if answers[false] < 50 || plans < 200 {
		t.Errorf("%d times no room, %d plans: too few were drawn", answers[false], plans)
	}
}
