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
	shapes = append(shapes, PlanShape{Strategy: s.Strategy, Stages: s.Stages, StepLimits: s.StepLimits})
	return append(shapes, s.OtherShapes...)
}

// ShapeOf is the shape of a copy; there is none where the plan has fewer copies.
func (s *ShardingPlanSpec) ShapeOf(replica int32) (PlanShape, bool) {
	for _, shape := range s.Shapes() {
		if shape.Has(replica) {
			return shape, true
		}
	}
	return PlanShape{}, false
}

// Has says whether a copy is of the shape.
func (s *PlanShape) Has(replica int32) bool {
	return replica >= s.FirstReplica && replica-s.FirstReplica < s.Strategy.Replicas
}

// Copies is the number of copies of all shapes.
func (s *ShardingPlanSpec) Copies() int32 {
	copies := int64(s.Strategy.Replicas)
	for i := range s.OtherShapes {
		copies += int64(s.OtherShapes[i].Strategy.Replicas)
	}
	return int32(min(copies, math.MaxInt32))
}

// Shapes are the shapes of the mesh's copies in order, the main one first. The lists are shared with the mesh.
func (s *DeviceMeshSpec) Shapes() []MeshShape {
	main := MeshShape{
		Replicas: s.Replicas, Dimensions: s.Dimensions, Shape: s.Shape, WorldSize: s.WorldSize, Library: s.Library, Groups: s.Groups,
	}
	if len(s.OtherShapes) > 0 {
		main.Replicas = s.OtherShapes[0].FirstReplica
		main.Shape = ShapeText(s.Dimensions)
	}
	return append([]MeshShape{main}, s.OtherShapes...)
}

// RanksBefore is the number of ranks in all copies before one. Slots are numbered from there.
func (s *DeviceMeshSpec) RanksBefore(replica int32) int32 {
	var before int32
	for _, shape := range s.Shapes() {
		before += max(0, min(replica-shape.FirstReplica, shape.Replicas)) * shape.WorldSize
	}
	return before
}

// CopiesText counts copies and their ranks by shape (`2 copies of 2 ranks and 1 copy of 4 ranks`).
func (s *DeviceMeshSpec) CopiesText() string {
	shapes := s.Shapes()
	parts := make([]string, len(shapes))
	for i := range shapes {
		parts[i] = fmt.Sprintf("%s of %s", Counted(shapes[i].Replicas, "copy"), Counted(shapes[i].WorldSize, "rank"))
	}
	return strings.Join(parts, " and ")
}

// ShapeText is the sizes above 1 for people (`tp4 pp2`), or `1` where there are none.
func ShapeText(dimensions []MeshDimension) string {
	var parts []string
	for _, d := range dimensions {
		if d.Size > 1 {
			parts = append(parts, fmt.Sprintf("%s%d", d.Name, d.Size))
		}
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, " ")
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
