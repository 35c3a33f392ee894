package plan

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestPrintedNumbersAreTheRanked holds the tokens per second of a plan to those of its shape in the table of shapes, by which
// it was chosen: pipelines with uneven stages among them.
func TestPrintedNumbersAreTheRanked(t *testing.T) {
	pipelines, uneven := 0, 0
	for seed := range uint64(600) {
		draw := plantest.Draw(t, seed, 11)
		m := draw.Model(12)
		r := shape.Request{Placement: draw.Request(m, 8), Model: m}
		if stages := int32(2 + seed%3); seed%2 == 0 && m.Architecture.Layers > stages {
			r.Placement.Spec.Parallelism = &v1alpha1.Parallelism{Pipeline: &stages}
		}
		c := fleet.NewCluster(draw.Nodes(8))
		spec, err := Plan(c, r)
		if err != nil || spec.Estimate == nil || len(spec.OtherShapes) > 0 {
			continue
		}
		why, err := explain.Explain(c, r, spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, taken := range why.Considered {
			if !taken.Taken {
				continue
			}
			want := taken.TokensPerSecond * float64(spec.Strategy.Replicas)
			if got := float64(spec.Estimate.TokensPerSecond.Value); math.Abs(got-want) > 1 {
				t.Errorf("case %d: %s delivers %g tokens/s, and was ranked by %g: %+v %+v", seed, spec.Strategy.Summary, got, want, spec.Stages, spec.Nodes)
			}
			if stages := spec.Stages; len(stages) > 1 {
				pipelines++
				if last := stages[len(stages)-1]; stages[0].LastLayer-stages[0].FirstLayer != last.LastLayer-last.FirstLayer {
					uneven++
				}
			}
		}
	}
	if pipelines < 20 || uneven < 5 {
		t.Errorf("%d pipelines, %d of them uneven: too few were drawn", pipelines, uneven)
	}
}
