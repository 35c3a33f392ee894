package shape

import "github.com/rankwright/rankwright/api/v1alpha1"

// Layout says which devices hold which layers.
type Layout struct {
	Ends      []int       // the layer after each stage
	Instances [][][]int32 // devices by instance, stage and tensor rank, which goes on through the context ranks
}

// Nowhere stands for a device that does not exist.
const Nowhere int32 = -1

// CopiesOf returns the devices of the previous plan by copy, instance, stage and tensor rank. It has as many copies as
// are asked for now; those beyond the previous plan's are empty.
func (t *Problem) CopiesOf(previous *v1alpha1.ShardingPlanSpec) [][][][]int32 {
	copies := make([][][][]int32, t.Copies)
	for i := range copies {
		shape, ok := previous.ShapeOf(int32(i))
		if !ok {
			continue
		}
		copies[i] = make([][][]int32, shape.Strategy.Data)
		for j := range copies[i] {
			copies[i][j] = make([][]int32, shape.Strategy.Pipeline)
		}
	}
	for i := range previous.Nodes {
		shape, ok := previous.ShapeOf(previous.Nodes[i].Replica)
		if !ok {
			continue
		}
		for _, row := range previous.Nodes[i].Stretches(&shape.Strategy) {
			t.addTo(copies, &row)
		}
	}
	return copies
}

// addTo adds the devices of a row, which is of one stage, to its copy. Rows of copies beyond the list are left out.
func (t *Problem) addTo(copies [][][][]int32, row *v1alpha1.PlanRow) {
	if row.Replica < 0 || int(row.Replica) >= t.Copies || row.Data < 0 || int(row.Data) >= len(copies[row.Replica]) ||
		row.Stage < 0 || int(row.Stage) >= len(copies[row.Replica][row.Data]) {
		return
	}
	stage := &copies[row.Replica][row.Data][row.Stage]
	if int(row.TensorRank) != len(*stage) {
		*stage = append(*stage, Nowhere)
	}
	for _, id := range row.Devices {
		if at, ok := t.Cluster.Find(row.Node, id); ok {
			*stage = append(*stage, at)
		}
	}
}

// ShapeOf is the shape of a strategy.
func ShapeOf(s *v1alpha1.Strategy) Shape {
	return Shape{
		Tensor: int(s.Tensor), Stages: int(s.Pipeline), Data: int(s.Data), Expert: int(s.Expert),
		Context: max(1, int(s.Context)), Decode: max(1, int(s.DecodeContext)),
	}
}

// EndsOf returns the index of the layer after each stage; false where the stages are not all layers in order.
func EndsOf(stages []v1alpha1.Stage, layers int) ([]int, bool) {
	next := 0
	ends := make([]int, len(stages))
	for i, s := range stages {
		if int(s.FirstLayer) != next || s.LastLayer < s.FirstLayer {
			return nil, false
		}
		next = int(s.LastLayer) + 1
		ends[i] = next
	}
	return ends, next == layers
}
