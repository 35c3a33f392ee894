package v1alpha1

import (
	"fmt"
	"math"
	"strings"
)

// Shapes are the shapes of the plan's copies in order, the main one first. Each says how many copies it has in
// strategy.replicas. The lists are shared with the plan.
func (s *ShardingPlanSpec) Shapes() []PlanShape {
	shapes := make([]PlanShape, 0, 1+len(s.OtherShapes))
	shapes = append(shapes, PlanShape{Strategy: s.Strategy, Stages: s.Stages})
	return append(shapes, s.OtherShapes...)
}

// ShapeOf is the shape of a copy; there is none where the plan has fewer copies.
func (s *ShardingPlanSpec) ShapeOf(replica int32) (PlanShape, bool) {
	for _, shape := range s.Shapes() {
		if replica >= shape.FirstReplica && replica-shape.FirstReplica < shape.Strategy.Replicas {
			return shape, true
		}
	}
	return PlanShape{}, false
}

// Copies is the number of copies of all shapes.
func (s *ShardingPlanSpec) Copies() int32 {
	copies := int64(s.Strategy.Replicas)
	for i := range s.OtherShapes {
		copies += int64(s.OtherShapes[i].Strategy.Replicas)
	}
	return int32(min(copies, math.MaxInt32))
}

// JoinSummaries joins the summaries of shapes (`TP2 x2 + TP4 x2`). Where they are longer than limit bytes, it ends with
// the number of those left out (`TP2 x2 + 3 more`).
func JoinSummaries(shapes []string, limit int) string {
	const and = " + "
	whole := strings.Join(shapes, and)
	for kept := len(shapes) - 1; len(whole) > limit && kept > 0; kept-- {
		whole = strings.Join(shapes[:kept], and) + and + fmt.Sprintf("%d more", len(shapes)-kept)
	}
	return whole
}
