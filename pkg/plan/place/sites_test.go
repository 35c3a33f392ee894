package place_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestNodesThatAreAlikeAreLookedAtOnce places pipelines among many nodes of few kinds, beside devices that are taken or not, and again with a device of a
// previous plan that does not exist, which makes the placer look at every node: the devices are the same.
func TestNodesThatAreAlikeAreLookedAtOnce(t *testing.T) {
	placed := 0
	for seed := range uint64(60) {
		draw := plantest.Draw(t, seed, 17)
		m := draw.Model(8)
		stages := int32(2 + seed%3)
		if m.Architecture.Layers < stages {
			continue
		}
		var nodes []fleet.Node
		for i := range 120 {
			n := plantest.Host(fmt.Sprintf("n%03d", i), true, plantest.Many(1+draw.IntN(3), []plantest.Product{plantest.L40s, plantest.H100}[draw.IntN(2)])...)
			n.Labels["rack"] = fmt.Sprint("r", draw.IntN(3))
			nodes = append(nodes, n)
		}
		r := shape.Request{Placement: plantest.Placement(1024, 4, plantest.Format("BF16"), plantest.Replicas(1+int32(seed%4)),
			plantest.Parallelism(v1alpha1.Parallelism{Pipeline: &stages})), Model: m}
		if level := []string{"rack", "kubernetes.io/hostname", "", "", ""}[seed%5]; level != "" {
			r.Placement.Spec.Topology = &v1alpha1.TopologyRequirements{Required: &level}
		}
		p, err := shape.New(fleet.NewCluster(nodes), r)
		if err != nil {
			t.Fatal(err)
		}
		for setting := range p.Settings() {
			tier := p.Tier(setting)
			for _, pools := range tier.Levels {
				for _, c := range append(tier.Candidates(pools), tier.Mixed(pools)...) {
					var taken, too place.Taken
					for at := range int32(draw.IntN(240)) {
						taken.Add(at)
						too.Add(at)
					}
					few, ok := place.Most(c, p.Copies, &taken)
					p.Keep = map[int32]bool{-2: true}
					all, found := place.Most(c, p.Copies, &too)
					p.Keep = nil
					if diff := cmp.Diff(all, few); found != ok || diff != "" {
						t.Fatalf("case %d: %+v (-every node +few):\n%s", seed, c.Shape, diff)
					}
					if found == p.Copies {
						placed++
					}
				}
			}
		}
	}
	if placed < 200 {
		t.Errorf("%d candidates were placed: too few", placed)
	}
}
