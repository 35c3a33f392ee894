package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Plan finds devices for a placement. The plan it returns is complete but for Placement and Revision, which are the
// caller's to give. The error is an *InvalidRequest where the placement cannot be meant and an *Unplaceable where the
// cluster cannot hold it now.
func Plan(cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	made, err := Within(context.Background(), cluster, request)
	var no *Unplaceable
	if errors.As(err, &no) {
		return nil, no.Advised(context.Background())
	}
	return made, err
}

// Within is Plan for callers who cannot wait: it returns the error of the context where that ends before there is an answer, and an
// *Unplaceable has no suggestions yet, which take longer. Its Advised looks for them.
func Within(ctx context.Context, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	made, err := findWithRoom(ctx.Done(), cluster, request)
	if stopped := ctx.Err(); stopped != nil {
		return nil, fmt.Errorf("plan: %w", stopped)
	}
	return made, err
}

func find(done <-chan struct{}, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	t, err := shape.New(cluster, request)
	if err != nil {
		return nil, err
	}
	t = t.Until(done)
	spec, err := specOf(t, &request)
	if err == nil && t.Open {
		said := slices.Insert(spec.Model.Assumptions, 0, numberText(t, &request, spec))
		spec.Model.Assumptions = said[:min(len(said), maxAssumptions)]
	}
	return spec, err
}

// specOf makes the plan of a problem.
func specOf(t *shape.Problem, request *shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	asked := t
	if request.Previous != nil && request.Cause != shape.OtherRequest {
		t = inNumberOf(t, request.Previous)
		if kept := keepPrevious(t, request.Previous); kept != nil {
			return write(t, kept), nil
		}
	}
	found, log := search.Best(t)
	if found == nil {
		if err := log.Problem.Countable(); err != nil {
			return nil, err
		}
		return nil, refuse(asked, log.Problem, log.List())
	}
	t = found.Tier.Problem
	made := write(t, found)
	if request.Previous != nil && request.Cause == shape.OtherRequest {
		if kept := keepPrevious(t, request.Previous); kept != nil {
			if same := write(t, kept); equallyGood(same, made) {
				return same, nil
			}
		}
	}
	return made, nil
}

// maxAssumptions is the API's bound of PlannedModel.Assumptions.
const maxAssumptions = 16

// numberText says why a plan has its number of copies where nobody asked for one.
func numberText(t *shape.Problem, request *shape.Request, made *v1alpha1.ShardingPlanSpec) string {
	copies := int(made.Copies())
	text := fmt.Sprintf("%s for %s each, of %d at once", words.Counted(copies, "copy"), words.Counted(t.Share(copies), "sequence"), t.Sequences())
	switch {
	case request.Previous != nil && request.Cause != shape.OtherRequest && request.Previous.Copies() == made.Copies():
		return text + ": as many as before"
	case t.Objective() == v1alpha1.ObjectiveCost:
		return text + fmt.Sprintf(": no other number costs less in %s", made.Quantization)
	default:
		return text + fmt.Sprintf(": no other number takes fewer devices in %s", made.Quantization)
	}
}

// rejected returns the best plans that were not taken.
func rejected(s *search.Solution) []v1alpha1.RejectedPlan {
	list := append(alternatives(s.Tier, s.Chosen, s.Candidates), s.Log.List()...)
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), search.MaxRejected)]
}

// write converts a solution into the spec of a plan.
func write(t *shape.Problem, s *search.Solution) *v1alpha1.ShardingPlanSpec {
	spec := &v1alpha1.ShardingPlanSpec{
		Model:        plannedModel(t, s),
		Quantization: s.Tier.Weights,
		KVCacheType:  s.Tier.Cache,
		Engine:       t.Engine.Name, EngineVersion: t.Engine.Version(), Serving: t.Served(),
		Training:    t.Workload.Training.DeepCopy(),
		Estimate:    estimate(t, s),
		Rejected:    rejected(s),
		Enforcement: cmp.Or(t.Spec.Enforcement, v1alpha1.EnforcementAdvisory),
	}
	if spec.Serving != nil && spec.Serving.EngineVersion != "" {
		spec.EngineVersion = spec.Serving.EngineVersion
	}
	spec.ComputeType = computedBy(t, s)
	spec.Model.Assumptions = append(spec.Model.Assumptions, chosen(t, s)...)
	spec.Model.Assumptions = spec.Model.Assumptions[:min(len(spec.Model.Assumptions), maxAssumptions)]
	replica := int32(0)
	for i := range s.Portions {
		p := &s.Portions[i]
		planned := v1alpha1.PlanShape{FirstReplica: replica, Strategy: strategy(t, p), Stages: stagesOf(p), StepLimits: stepLimits(p)}
		if i == 0 {
			spec.Strategy, spec.Stages, spec.StepLimits = planned.Strategy, planned.Stages, planned.StepLimits
		} else {
			spec.OtherShapes = append(spec.OtherShapes, planned)
		}
		for j, instance := range p.Instances {
			for stage, devices := range instance {
				row := v1alpha1.PlanRow{Replica: replica + int32(j/p.Data), Data: int32(j % p.Data), Stage: int32(stage)}
				spec.Nodes = append(spec.Nodes, planRows(t.Cluster, row, devices)...)
			}
		}
		replica += int32(p.Copies())
	}
	spec.Nodes = joined(spec)
	spec.Strategy.Summary = summaryOf(t, s)
	spec.Totals = totals(spec)
	return spec
}

// chosen says which degrees that nobody asked for were needed to hold the model, and why.
func chosen(t *shape.Problem, s *search.Solution) []string {
	p := &s.Portions[0]
	var texts []string
	if w := t.Workload.Training; w != nil && t.Asked.Data == 0 && p.Data > 1 {
		texts = append(texts, fmt.Sprintf("%d data ranks, the fewest at these degrees with which %s holds the training states; they divide the %d micro-batches of a step",
			p.Data, w.Sharding, t.MicroBatches(1)))
	}
	if t.Asked.Context == 0 && p.Context > 1 {
		texts = append(texts, fmt.Sprintf("%d context ranks share the tokens of a sequence, since nothing holds its activations without", p.Context))
	}
	if p.Decode > 1 {
		texts = append(texts, fmt.Sprintf("%d tensor ranks share the tokens of the KV cache, of which each would hold the same otherwise: start %s with %s %d",
			p.Decode, t.Engine.Name, t.Engine.Arguments.DecodeContext(), p.Decode))
	}
	if p.Expert > cost.UsualExpertRanks && t.Workload.Inference != nil {
		texts = append(texts, balanced(string(t.Engine.Name), t.Engine.Arguments.Balance(), p.Expert))
	}
	return append(append(texts, t.AssumedOfServing()...), crowded(t, s)...)
}

// balanced says what the times of many expert ranks rest on.
func balanced(engine, option string, ranks int) string {
	text := fmt.Sprintf("the %d ranks have about equally much to do for their experts; unbalanced, the fullest of 32 was measured with 2.6 times the mean", ranks)
	if option != "" {
		text += fmt.Sprintf(": start %s with %s", engine, option)
	}
	return text
}

// summaryOf names the shapes of all copies: `TP4 x2 + TP8`.
func summaryOf(t *shape.Problem, s *search.Solution) string {
	texts := make([]string, len(s.Portions))
	for i := range s.Portions {
		texts[i] = t.Summary(s.Portions[i].Shape, s.Portions[i].Copies())
	}
	return words.Shorten(strings.Join(texts, " + "), 64)
}

// stagesOf returns the stages with the memory that each of their devices needs.
func stagesOf(p *search.Portion) []v1alpha1.Stage {
	stages := make([]v1alpha1.Stage, 0, len(p.Ends))
	start := 0
	for _, end := range p.Ends {
		stages = append(stages, v1alpha1.Stage{FirstLayer: int32(start), LastLayer: int32(end - 1), PerDevice: p.Footprint.PerDevice(start, end)})
		start = end
	}
	return stages
}

// stepLimits returns the limits of a step that the footprint counts; nil in training.
func stepLimits(p *search.Portion) *v1alpha1.StepLimits {
	in := p.Footprint.Setup().Inference
	if in == nil {
		return nil
	}
	return &v1alpha1.StepLimits{Tokens: in.BatchedTokens, Sequences: in.BatchedSequences, Length: in.MaxModelLen}
}

// computedBy returns the precision in which all devices of a solution compute the weights; 16 bits where they differ.
func computedBy(t *shape.Problem, s *search.Solution) v1alpha1.Precision {
	var common v1alpha1.Precision
	for i := range s.Portions {
		for _, instance := range s.Portions[i].Instances {
			for _, devices := range instance {
				p := shape.ComputedIn(t.Cluster.Class(t.Cluster.Device(devices[0]).Class), s.Tier.Weights)
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
	planned := v1alpha1.PlanShape{}
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		if i == 0 || !planned.Has(row.Replica) {
			planned, _ = spec.ShapeOf(row.Replica)
		}
		if n := len(rows); n > 0 && follows(&rows[n-1], row, &planned.Strategy) {
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
	var planned v1alpha1.PlanShape
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		if i == 0 || !planned.Has(row.Replica) {
			planned, _ = spec.ShapeOf(row.Replica)
		}
		nodes[row.Node] = true
		sum.Devices += int32(len(row.Devices))
		for j := range row.Devices {
			use := &planned.Stages[row.Place(&planned.Strategy, j).Stage].PerDevice
			sum.WeightsBytes += use.WeightsBytes
			sum.KVCacheBytes += use.KVCacheBytes
			sum.TotalBytes += use.TotalBytes
		}
	}
	sum.Nodes = int32(len(nodes))
	sum.Memory = words.HumanBytes(sum.TotalBytes)
	return sum
}

func strategy(t *shape.Problem, p *search.Portion) v1alpha1.Strategy {
	result := v1alpha1.Strategy{
		Tensor: int32(p.Tensor), Pipeline: int32(p.Stages), Data: int32(p.Data), Expert: int32(p.Expert), Context: int32(max(1, p.Context)),
		Replicas: int32(p.Copies()), Summary: t.Summary(p.Shape, p.Copies()),
	}
	if p.Decode > 1 {
		result.DecodeContext = int32(p.Decode)
	}
	degrees := []struct {
		above bool
		name  v1alpha1.StrategyName
	}{
		{p.Tensor > 1, v1alpha1.StrategyTensorParallel},
		{p.Stages > 1, v1alpha1.StrategyPipelineParallel},
		{len(p.Instances) > 1 || p.Context > 1, v1alpha1.StrategyDataParallel},
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
