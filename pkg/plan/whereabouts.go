package plan

import "github.com/rankwright/rankwright/api/v1alpha1"

// whereabout is the place of a device in the pool.
type whereabout struct {
	part     int32
	capacity int64
}

// whereabouts finds the previous plan's devices in the pool.
func (w *placer) whereabouts() map[int32]whereabout {
	where := map[int32]whereabout{}
	for i := range w.pool.parts {
		p := &w.pool.parts[i]
		if !p.previous {
			continue
		}
		for j, at := range p.devices {
			where[at] = whereabout{int32(i), p.caps[j]}
		}
	}
	return where
}

// nowhere stands for a device that does not exist.
const nowhere int32 = -1

// copiesOf are the devices of the previous plan's copies, by instance, stage and tensor rank, and as many copies as are
// asked for now; those that the plan did not have are empty.
func (t *task) copiesOf(previous *v1alpha1.ShardingPlanSpec) [][][][]int32 {
	copies := make([][][][]int32, t.copies)
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

// addTo adds the devices of a row of one stage to its copy; rows outside of the copies are left out.
func (t *task) addTo(copies [][][][]int32, row *v1alpha1.PlanRow) {
	if row.Replica < 0 || int(row.Replica) >= t.copies || row.Data < 0 || int(row.Data) >= len(copies[row.Replica]) ||
		row.Stage < 0 || int(row.Stage) >= len(copies[row.Replica][row.Data]) {
		return
	}
	stage := &copies[row.Replica][row.Data][row.Stage]
	if int(row.TensorRank) != len(*stage) {
		*stage = append(*stage, nowhere)
	}
	for _, id := range row.Devices {
		if at, ok := t.cluster.Find(row.Node, id); ok {
			*stage = append(*stage, at)
		}
	}
}

// stillHolds says whether every device of a copy is there once, free, has room for its stage, shares an island with its tensor group
// and a zone with the copy.
func (w *placer) stillHolds(instances [][][]int32, where map[int32]whereabout) bool {
	first := int32(-1)
	seen := map[int32]bool{}
	if len(instances) != w.shape.data {
		return false
	}
	for _, stages := range instances {
		for stage, devices := range stages {
			if len(devices) != w.shape.tensor {
				return false
			}
			for rank, at := range devices {
				here, ok := where[at]
				if !ok || seen[at] || w.taken[at] || here.capacity < w.needs[stage] || here.part != where[devices[rank-rank%w.tensor]].part {
					return false
				}
				seen[at] = true
				if first < 0 {
					first = here.part
				}
				if w.pool.parts[here.part].zone != w.pool.parts[first].zone {
					return false
				}
			}
		}
	}
	return true
}
