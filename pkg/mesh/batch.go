package mesh

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
)

// maxShapeText is the bound of DeviceMeshSpec.Shape.
const maxShapeText = 128

// batch is consecutive copies of one shape, with the mesh of each.
type batch struct {
	v1alpha1.PlanShape
	mesh *Mesh
	// field is the path of the shape in the plan, which errors name.
	field string
}

// batchesOf returns the shapes of a plan with their meshes, all of the same order. It refuses shapes that do not follow
// one another and plans of more than MaxWorldSize ranks.
func batchesOf(plan *v1alpha1.ShardingPlanSpec) ([]batch, error) {
	shapes := plan.Shapes()
	of, err := engine.Find(plan.Engine)
	if err != nil {
		return nil, err
	}
	widest := 1
	for i := range shapes {
		widest = max(widest, int(shapes[i].Strategy.Context))
	}
	order := of.Ranks.OrderFor(widest)
	batches := make([]batch, len(shapes))
	copies, ranks := 0, 0
	for i, shape := range shapes {
		b, s := batch{PlanShape: shape, field: "strategy"}, &shape.Strategy
		if i > 0 {
			b.field = fmt.Sprintf("otherShapes[%d].strategy", i-1)
		}
		if int(shape.FirstReplica) != copies {
			return nil, fmt.Errorf("otherShapes[%d].firstReplica is %d: it must be %d, the number of copies before it", i-1, shape.FirstReplica, copies)
		}
		if s.Replicas < 1 {
			return nil, fmt.Errorf("%s.replicas is %d: it must be at least 1", b.field, s.Replicas)
		}
		// Experts have no dimension of their own: they reuse ranks of the others.
		if b.mesh, err = New(order, map[string]int{"tp": int(s.Tensor), "pp": int(s.Pipeline), "dp": int(s.Data), "cp": int(s.Context)}); err != nil {
			return nil, fmt.Errorf("%s: %w", b.field, err)
		}
		copies += int(s.Replicas)
		ranks += int(s.Replicas) * b.mesh.WorldSize()
		if ranks > MaxWorldSize {
			return nil, fmt.Errorf("%s: its %d copies of %d ranks make more than %d ranks in all: lower replicas", b.field, s.Replicas,
				b.mesh.WorldSize(), MaxWorldSize)
		}
		batches[i] = b
	}
	return batches, nil
}

// describe writes the sizes and groups of one of the copies down.
func (b *batch) describe(of v1alpha1.Engine, library Library) (v1alpha1.MeshShape, error) {
	groups, err := processGroups(b.mesh, of, &b.Strategy, library)
	return v1alpha1.MeshShape{
		FirstReplica: b.FirstReplica, Replicas: b.Strategy.Replicas,
		Dimensions: b.mesh.Dimensions(), Shape: b.mesh.Shape(), WorldSize: int32(b.mesh.WorldSize()),
		Library: library.Name, Groups: groups,
	}, err
}

// shapeText is the sizes of all shapes for people: `tp4 pp2` where there is one, else `tp2 x2 + tp4 x2`.
func shapeText(shapes []v1alpha1.MeshShape) string {
	if len(shapes) == 1 {
		return shapes[0].Shape
	}
	texts := make([]string, len(shapes))
	for i := range shapes {
		texts[i] = shapes[i].Shape
		if n := shapes[i].Replicas; n > 1 {
			texts[i] += fmt.Sprintf(" x%d", n)
		}
	}
	return words.JoinSummaries(texts, maxShapeText)
}

// CopiesText counts a mesh's copies and their ranks by shape (`2 copies of 2 ranks and 1 copy of 4 ranks`).
func CopiesText(s *v1alpha1.DeviceMeshSpec) string {
	shapes := s.Shapes()
	parts := make([]string, len(shapes))
	for i := range shapes {
		parts[i] = fmt.Sprintf("%s of %s", words.Counted(shapes[i].Replicas, "copy"), words.Counted(shapes[i].WorldSize, "rank"))
	}
	return strings.Join(parts, " and ")
}
