package search_test

import (
	"testing"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestEveryYesIsPlaced holds the answer that a shape has room, which is given without naming devices where groups may be
// anywhere, to what the placer finds.
func TestEveryYesIsPlaced(t *testing.T) {
	answers, zones := map[bool]int{}, 0
	for seed := range uint64(400) {
		draw := plantest.Draw(t, seed, 3)
		m := draw.Model(8)
		p, err := shape.New(fleet.NewCluster(draw.Nodes(10)), shape.Request{Placement: draw.Request(m, 10), Model: m})
		if err != nil {
			continue
		}
		for setting := range p.Settings() {
			tier := p.Tier(setting)
			for _, pools := range tier.Levels {
				for _, c := range append(tier.Candidates(pools), tier.Mixed(pools)...) {
					room := search.HasRoom(c)
					if _, placed := place.Copies(c, p.Copies); placed != room {
						t.Fatalf("case %d: %+v: room %v, placed %v", seed, c.Shape, room, placed)
					}
					answers[room]++
					if len(c.Flavor.Pool.Zones) > 0 {
						zones++
					}
				}
			}
		}
	}
	if answers[true] < 1000 || answers[false] < 50 || zones < 100 {
		t.Errorf("%d yes, %d no, %d of them with zones: too few were drawn", answers[true], answers[false], zones)
	}
}
