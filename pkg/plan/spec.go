package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Plan finds devices for a placement. The plan it returns is complete but for Placement and Revision, which are the
// caller's to give. The error is an *InvalidRequest where the placement cannot be meant and an *Unplaceable where the
// cluster cannot hold it now.
func Plan(cluster *Cluster, request Request) (*v1alpha1.ShardingPlanSpec, error) {
	t, err := newTask(cluster, request)
	if err != nil {
		return nil, err
	}
	if request.Previous != nil {
		if found, ok := t.keepPrevious(request.Previous); ok {
			return t.write(found), nil
		}
	}
	found, rejected := t.search()
	if found == nil {
		return nil, t.explain(rejected)
	}
	return t.write(found), nil
}

// write writes a solution down.
func (t *task) write(s *solution) *v1alpha1.ShardingPlanSpec {
	spec := &v1alpha1.ShardingPlanSpec{
		Model:        t.plannedModel(),
		Quantization: s.format,
		KVCacheType:  cacheFormat(t.spec.KVCacheType, s.format),
		Engine:       t.engine,
		Strategy:     t.strategy(s.shape),
		Estimate:     t.estimate(s),
		Rejected:     s.rejected,
		Enforcement:  cmp.Or(t.spec.Enforcement, v1alpha1.EnforcementAdvisory),
	}
	start := 0
	for _, end := range s.ends {
		spec.Stages = append(spec.Stages, v1alpha1.Stage{
			FirstLayer: int32(start), LastLayer: int32(end - 1), PerDevice: s.prints.use(start, end),
		})
		start = end
	}
	for i, instance := range s.instances {
		for stage, devices := range instance {
			row := v1alpha1.PlanRow{Replica: int32(i / t.data), Data: int32(i % t.data), Stage: int32(stage)}
			spec.Nodes = append(spec.Nodes, t.cluster.rows(row, devices)...)
		}
	}
	spec.Totals = totals(spec)
	return spec
}

// maxRowDevices is the API's bound of PlanRow.Devices.
const maxRowDevices = 256

// rows cuts a stage's devices into runs on one node.
func (c *Cluster) rows(row v1alpha1.PlanRow, devices []int32) []v1alpha1.PlanRow {
	var rows []v1alpha1.PlanRow
	for rank, at := range devices {
		d := c.device(at)
		name := c.nodeOf(at).name
		if n := len(rows); n == 0 || rows[n-1].Node != name || len(rows[n-1].Devices) == maxRowDevices {
			row.Node, row.TensorRank, row.Devices = name, int32(rank), nil
			rows = append(rows, row)
		}
		last := &rows[len(rows)-1]
		last.Devices = append(last.Devices, d.id)
	}
	return rows
}

func totals(spec *v1alpha1.ShardingPlanSpec) v1alpha1.PlanTotals {
	var sum v1alpha1.PlanTotals
	nodes := map[string]bool{}
	for i := range spec.Nodes {
		row := &spec.Nodes[i]
		n := int64(len(row.Devices))
		use := &spec.Stages[row.Stage].PerDevice
		nodes[row.Node] = true
		sum.Devices += int32(n)
		sum.WeightsBytes += n * use.WeightsBytes
		sum.KVCacheBytes += n * use.KVCacheBytes
		sum.TotalBytes += n * use.TotalBytes
	}
	sum.Nodes = int32(len(nodes))
	sum.Memory = v1alpha1.HumanBytes(sum.TotalBytes)
	return sum
}

func (t *task) strategy(s shape) v1alpha1.Strategy {
	result := v1alpha1.Strategy{
		Tensor: int32(s.tensor), Pipeline: int32(s.stages), Data: int32(t.data), Expert: int32(max(1, t.asked.expert)), Context: 1,
		Replicas: int32(t.copies), Summary: t.summary(s),
	}
	degrees := []struct {
		above bool
		name  v1alpha1.StrategyName
	}{
		{s.tensor > 1, v1alpha1.StrategyTensorParallel},
		{s.stages > 1, v1alpha1.StrategyPipelineParallel},
		{t.instances() > 1, v1alpha1.StrategyDataParallel},
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

// summary is degrees above 1 for people: `TP4 PP2 x2`, or `None` for a single device.
func (t *task) summary(s shape) string {
	var parts []string
	for _, d := range []struct {
		name   string
		degree int
	}{{"TP", s.tensor}, {"PP", s.stages}, {"DP", t.data}, {"EP", t.asked.expert}} {
		if d.degree > 1 {
			parts = append(parts, fmt.Sprintf("%s%d", d.name, d.degree))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, string(v1alpha1.StrategyNone))
	}
	if t.copies > 1 {
		parts = append(parts, fmt.Sprintf("x%d", t.copies))
	}
	return strings.Join(parts, " ")
}

func (t *task) plannedModel() v1alpha1.PlannedModel {
	m := v1alpha1.PlannedModel{
		Name: clip(t.model.Name, 128), Parameters: max(1, t.model.Parameters()), Architecture: *t.model.Architecture.DeepCopy(),
	}
	for _, a := range t.model.Assumptions {
		m.Assumptions = append(m.Assumptions, clip(a, 512))
	}
	if in, most := t.workload.Inference, t.model.Architecture.MaxContext; in != nil && most > 0 && in.MaxModelLen > most {
		m.Assumptions = append(m.Assumptions,
			fmt.Sprintf("the context of %d tokens is longer than the %d that the model was made for: it needs scaled positions", in.MaxModelLen, most))
	}
	m.Assumptions = m.Assumptions[:min(len(m.Assumptions), 16)]
	return m
}

// clip shortens a text to at most n bytes, at the border of a rune, and shows that it did.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}
