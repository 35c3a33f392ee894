package v1alpha1

import (
	"fmt"
	"math"
	"slices"
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

// PlanPlace is what a device of a plan serves in its copy.
type PlanPlace struct {
	Data, Stage int32
	// Tensor rank, counted on through the context ranks.
	Tensor int32
}

// Place is the place of a row's device, by its index in the row, in a copy of the strategy. Rows run on from the last
// tensor rank to the next stage and from the last stage to the next data rank; what is beyond the copy is not refused.
func (r *PlanRow) Place(s *Strategy, index int) PlanPlace {
	wide, deep := int64(max(1, s.Tensor))*int64(max(1, s.Context)), int64(max(1, s.Pipeline))
	tensor := int64(r.TensorRank) + int64(index)
	if tensor < wide {
		return PlanPlace{r.Data, r.Stage, int32(tensor)}
	}
	stage := int64(r.Stage) + tensor/wide
	return PlanPlace{int32(min(int64(r.Data)+stage/deep, math.MaxInt32)), int32(stage % deep), int32(tensor % wide)}
}

// Stretches are the parts of a row that serve one stage of one data rank each.
func (r *PlanRow) Stretches(s *Strategy) []PlanRow {
	var parts []PlanRow
	for i, id := range r.Devices {
		at := r.Place(s, i)
		if n := len(parts); n == 0 || parts[n-1].Data != at.Data || parts[n-1].Stage != at.Stage {
			parts = append(parts, PlanRow{Node: r.Node, Replica: r.Replica, Data: at.Data, Stage: at.Stage, TensorRank: at.Tensor})
		}
		last := &parts[len(parts)-1]
		last.Devices = append(last.Devices, id)
	}
	return parts
}

// Copies is the number of copies of all shapes.
func (s *ShardingPlanSpec) Copies() int32 {
	copies := int64(s.Strategy.Replicas)
	for i := range s.OtherShapes {
		copies += int64(s.OtherShapes[i].Strategy.Replicas)
	}
	return int32(min(copies, math.MaxInt32))
}

// NodeNames are the nodes of the plan, each once, in order of name.
func (s *ShardingPlanSpec) NodeNames() []string {
	return nodeNames(s.Nodes, func(r *PlanRow) string { return r.Node })
}

// NodeNames are the nodes of the mesh, each once, in order of name.
func (s *DeviceMeshSpec) NodeNames() []string {
	return nodeNames(s.Members, func(m *MeshMember) string { return m.Node })
}

func nodeNames[T any](rows []T, nodeOf func(*T) string) []string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = nodeOf(&rows[i])
	}
	slices.Sort(names)
	return slices.Compact(names)
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

// ShapeOf is the shape of a copy; there is none where the mesh has fewer copies.
func (s *DeviceMeshSpec) ShapeOf(replica int32) (MeshShape, bool) {
	for _, shape := range s.Shapes() {
		if replica >= shape.FirstReplica && replica-shape.FirstReplica < shape.Replicas {
			return shape, true
		}
	}
	return MeshShape{}, false
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
