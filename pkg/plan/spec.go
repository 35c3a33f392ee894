package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Plan finds devices for a placement. The plan it returns is complete but for Placement and Revision, which are the
// caller's to give. The error is an *InvalidRequest where the placement cannot be meant and an *Unplaceable where the
// cluster cannot hold it now.
func Plan(cluster *fleet.Cluster, request Request) (*v1alpha1.ShardingPlanSpec, error) {
	t, err := newTask(cluster, request)
	if err != nil {
		return nil, err
	}
	if request.Previous != nil {
		if found, ok := t.keepPrevious(request.Previous); ok {
			return t.write(found), nil
		}
	}
	found, log := t.search()
	if found == nil {
		if err := t.countable(); err != nil {
			return nil, err
		}
		return nil, t.explain(log.list())
	}
	return t.write(found), nil
}

// rejected returns the best plans that were not taken.
func (t *task) rejected(s *solution) []v1alpha1.RejectedPlan {
	list := append(s.attempt.alternatives(s.chosen, s.candidates), s.log.list()...)
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), maxRejected)]
}

// write converts a solution into the spec of a plan.
func (t *task) write(s *solution) *v1alpha1.ShardingPlanSpec {
	spec := &v1alpha1.ShardingPlanSpec{
		Model:        t.plannedModel(),
		Quantization: s.attempt.step.format,
		KVCacheType:  s.attempt.step.cache,
		Engine:       t.engine.Name,
		Estimate:     t.estimate(s),
		Rejected:     t.rejected(s),
		Enforcement:  cmp.Or(t.spec.Enforcement, v1alpha1.EnforcementAdvisory),
	}
	spec.ComputeType = t.computedBy(s)
	spec.Model.Assumptions = append(spec.Model.Assumptions, t.chosen(s)...)
	spec.Model.Assumptions = spec.Model.Assumptions[:min(len(spec.Model.Assumptions), 16)]
	replica := int32(0)
	for i := range s.portions {
		p := &s.portions[i]
		shape := v1alpha1.PlanShape{FirstReplica: replica, Strategy: t.strategy(p), Stages: p.stagesOf(), StepLimits: p.stepLimits()}
		if i == 0 {
			spec.Strategy, spec.Stages, spec.StepLimits = shape.Strategy, shape.Stages, shape.StepLimits
		} else {
			spec.OtherShapes = append(spec.OtherShapes, shape)
		}
		for j, instance := range p.instances {
			for stage, devices := range instance {
				row := v1alpha1.PlanRow{Replica: replica + int32(j/p.data), Data: int32(j % p.data), Stage: int32(stage)}
				spec.Nodes = append(spec.Nodes, planRows(t.cluster, row, devices)...)
			}
		}
		replica += int32(p.copies())
	}
	spec.Nodes = joined(spec)
	spec.Strategy.Summary = t.summaryOf(s)
	spec.Totals = totals(spec)
	return spec
}

// chosen says which degrees that nobody asked for were needed to hold the model, and why.
func (t *task) chosen(s *solution) []string {
	p := &s.portions[0]
	var texts []string
	if w := t.workload.Training; w != nil && t.asked.data == 0 && p.data > 1 {
		texts = append(texts, fmt.Sprintf("%d data ranks, the fewest at these degrees with which %s holds the training states; they divide the %d micro-batches of a step",
			p.data, w.Sharding, t.passes(1)))
	}
	if t.asked.context == 0 && p.context > 1 {
		texts = append(texts, fmt.Sprintf("%d context ranks share the tokens of a sequence, since nothing holds its activations without", p.context))
	}
	if p.decode > 1 {
		texts = append(texts, fmt.Sprintf("%d tensor ranks share the tokens of the KV cache, since nothing holds it otherwise: start %s with %s %d; the estimate is that of the whole cache on each",
			p.decode, t.engine.Name, t.engine.Arguments.DecodeContext, p.decode))
	}
	return texts
}

// summaryOf names the shapes of all copies: `TP4 x2 + TP8`.
func (t *task) summaryOf(s *solution) string {
	texts := make([]string, len(s.portions))
	for i := range s.portions {
		texts[i] = t.summary(s.portions[i].shape, s.portions[i].copies())
	}
	return words.Shorten(strings.Join(texts, " + "), 64)
}

// stagesOf returns the stages with the memory that each of their devices needs.
func (p *portion) stagesOf() []v1alpha1.Stage {
	stages := make([]v1alpha1.Stage, 0, len(p.ends))
	start := 0
	for _, end := range p.ends {
		stages = append(stages, v1alpha1.Stage{FirstLayer: int32(start), LastLayer: int32(end - 1), PerDevice: p.prints.perDevice(start, end)})
		start = end
	}
	return stages
}

// stepLimits returns the limits of a step that the footprint counts; nil in training.
func (p *portion) stepLimits() *v1alpha1.StepLimits {
	in := p.prints.Setup().Inference
	if in == nil {
		return nil
	}
	return &v1alpha1.StepLimits{Tokens: in.BatchedTokens, Sequences: in.BatchedSequences}
}

// computedBy returns the precision in which all devices of a solution compute the weights; 16 bits where they differ.
func (t *task) computedBy(s *solution) v1alpha1.Precision {
	var common v1alpha1.Precision
	for i := range s.portions {
		for _, instance := range s.portions[i].instances {
			for _, devices := range instance {
				p := computed(t.cluster.Class(t.cluster.Device(devices[0]).Class), s.attempt.step.format)
				if common != "" && p != common {
					return v1alpha1.BF16
				}
				common = p
			}
		}
	}
	return common
}

// maxRowDevices is the API's bound of PlanRow.Devices.
const maxRowDevices = 256

// planRows cuts a stage's devices into rows of devices on one node.
func planRows(c *fleet.Cluster, row v1alpha1.PlanRow, devices []int32) []v1alpha1.PlanRow {
	var rows []v1alpha1.PlanRow
	for first, end := 0, 0; first < len(devices); first = end {
		n := c.NodeOf(devices[first])
		for end < len(devices) && end-first < maxRowDevices && c.NodeOf(devices[end]) == n {
			end++
		}
		row.Node, row.TensorRank, row.Devices = n.Name, int32(first), make([]v1alpha1.DeviceID, 0, end-first)
		for _, at := range devices[first:end] {
			row.Devices = append(row.Devices, c.Device(at).ID)
		}
		rows = append(rows, row)
	}
	return rows
}

// maxPlainRows is the most rows that a plan writes one for each stage and data rank, which is easier to read.
const maxPlainRows = 1000

// joined returns the rows of a plan; where they are many, rows that follow one another on a node are joined.
func joined(spec *v1alpha1.ShardingPlanSpec) []v1alpha1.PlanRow {
	if len(spec.Nodes) <= maxPlainRows {
		return spec.Nodes
	}
	var rows []v1alpha1.PlanRow
	shape := v1alpha1.PlanShape{}
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		if i == 0 || !shape.Has(row.Replica) {
			shape, _ = spec.ShapeOf(row.Replica)
		}
		if n := len(rows); n > 0 && follows(&rows[n-1], row, &shape.Strategy) {
			rows[n-1].Devices = append(rows[n-1].Devices, row.Devices...)
			continue
		}
		rows = append(rows, *row)
	}
	return rows
}

// follows says whether a row starts where another ends, on the same node.
func follows(row, next *v1alpha1.PlanRow, s *v1alpha1.Strategy) bool {
	return row.Node == next.Node && row.Replica == next.Replica && len(row.Devices)+len(next.Devices) <= maxRowDevices &&
		row.Place(s, len(row.Devices)) == v1alpha1.PlanPlace{Data: next.Data, Stage: next.Stage, Tensor: next.TensorRank}
}

func totals(spec *v1alpha1.ShardingPlanSpec) v1alpha1.PlanTotals {
	var sum v1alpha1.PlanTotals
	nodes := map[string]bool{}
	var shape v1alpha1.PlanShape
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		if i == 0 || !shape.Has(row.Replica) {
			shape, _ = spec.ShapeOf(row.Replica)
		}
		nodes[row.Node] = true
		sum.Devices += int32(len(row.Devices))
		for j := range row.Devices {
			use := &shape.Stages[row.Place(&shape.Strategy, j).Stage].PerDevice
			sum.WeightsBytes += use.WeightsBytes
			sum.KVCacheBytes += use.KVCacheBytes
			sum.TotalBytes += use.TotalBytes
		}
	}
	sum.Nodes = int32(len(nodes))
	sum.Memory = words.HumanBytes(sum.TotalBytes)
	return sum
}

func (t *task) strategy(p *portion) v1alpha1.Strategy {
	result := v1alpha1.Strategy{
		Tensor: int32(p.tensor), Pipeline: int32(p.stages), Data: int32(p.data), Expert: int32(p.expert), Context: int32(max(1, p.context)),
		Replicas: int32(p.copies()), Summary: t.summary(p.shape, p.copies()),
	}
	if p.decode > 1 {
		result.DecodeContext = int32(p.decode)
	}
	degrees := []struct {
		above bool
		name  v1alpha1.StrategyName
	}{
		{p.tensor > 1, v1alpha1.StrategyTensorParallel},
		{p.stages > 1, v1alpha1.StrategyPipelineParallel},
		{len(p.instances) > 1 || p.context > 1, v1alpha1.StrategyDataParallel},
	}
	result.Name = v1alpha1.StrategyNone
	for _, d := range degrees {
		switch {
		case !d.above:
		case result.Name == v1alpha1.StrategyNone:
			result.Name = d.name
		default:
			result.Name = v1alpha1.StrategyHybrid
		}
	}
	return result
}

func (t *task) plannedModel() v1alpha1.PlannedModel {
	m := v1alpha1.PlannedModel{
		Name: words.Shorten(t.model.Name, 128), Parameters: max(1, t.model.Parameters()), Architecture: *t.model.Architecture.DeepCopy(),
	}
	for _, a := range t.model.Assumptions {
		m.Assumptions = append(m.Assumptions, words.Shorten(a, 512))
	}
	if in, most := t.workload.Inference, t.model.Architecture.MaxContext; in != nil && most > 0 && in.MaxModelLen > most {
		m.Assumptions = append(m.Assumptions,
			fmt.Sprintf("the context of %d tokens is longer than the %d that the model was made for: it needs scaled positions", in.MaxModelLen, most))
	}
	m.Assumptions = m.Assumptions[:min(len(m.Assumptions), 16)]
	return m
}
