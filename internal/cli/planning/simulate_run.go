package planning

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// simulation plans placements on a cluster, one after the other.
type simulation struct {
	now       func() time.Time
	progress  *term.Progress
	asked     *Manifests
	untilFull bool

	cluster *fleet.Cluster
	report  *SimulationReport
	tensor  int // the widest tensor group so far
}

// run indexes the nodes and plans until all placements have devices, or one does not fit. It returns the decision that does
// not fit, but with untilFull, which looks for that end, nil.
func (s *simulation) run(ctx context.Context, nodes []fleet.Node) (*SimulationReport, *decision, error) {
	s.report = &SimulationReport{Asked: len(s.asked.Placements), Placements: []SimulatedPlacement{}}
	start := s.now()
	s.cluster = fleet.NewCluster(nodes)
	s.report.Times.IndexMicros = s.now().Sub(start).Microseconds()
	before := stockOf(s.cluster)
	failed, err := s.placeAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.report.Times.Summarize(s.report.Placements)
	s.report.TensorGroup = s.tensor
	s.report.Products = compareStocks(before, stockOf(s.cluster), s.tensor)
	return s.report, failed, nil
}

func (s *simulation) placeAll(ctx context.Context) (*decision, error) {
	for i := range s.asked.Placements {
		d := &decision{placement: &s.asked.Placements[i]}
		resolved, err := resolveModel(d.placement, s.asked)
		if err != nil {
			return nil, fmt.Errorf("placement %s: %w", d.name(), err)
		}
		for again := true; again; again = s.untilFull {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("stopped after %s: %w", words.Counted(len(s.report.Placements), "plan"), err)
			}
			if err := s.place(d, resolved); err != nil {
				return s.end(d, err)
			}
			s.progress.Tell("%s planned, %s", term.Grouped(len(s.report.Placements)), d.name())
		}
	}
	return nil, nil
}

// end is what a placement without a plan means.
func (s *simulation) end(d *decision, err error) (*decision, error) {
	if why := new(plan.Unplaceable); s.untilFull && errors.As(err, &why) {
		s.report.Full = why.Reason + ": " + why.Message
		return nil, nil
	}
	d.failure = err
	return d, nil
}

// place plans a placement and takes its devices.
func (s *simulation) place(d *decision, resolved *model.Model) error {
	if err := d.wanted(); err != nil {
		return err
	}
	start := s.now()
	spec, err := plan.Plan(s.cluster, shape.Request{Placement: d.placement, Model: resolved})
	elapsed := s.now().Sub(start)
	if err != nil {
		s.report.Times.RefusalMicros = elapsed.Microseconds()
		return err
	}
	s.cluster.Take(spec.Placement.Name, spec)
	s.tensor = max(s.tensor, int(spec.Strategy.Tensor))
	s.report.Placements = append(s.report.Placements, placed(d, spec, productsOf(s.cluster, spec), elapsed))
	return nil
}

func placed(d *decision, spec *v1alpha1.ShardingPlanSpec, products map[string]int, elapsed time.Duration) SimulatedPlacement {
	p := SimulatedPlacement{
		Placement: d.name(), Strategy: strategyText(spec), Tensor: spec.Strategy.Tensor, Quantization: spec.Quantization,
		Devices: spec.Totals.Devices, Nodes: spec.Totals.Nodes, MemoryBytes: spec.Totals.TotalBytes, Products: products,
		PlanMicros: elapsed.Microseconds(), On: spec.NodeNames(),
	}
	if spec.Estimate != nil {
		rate := spec.Estimate.TokensPerSecond
		p.TokensPerSecond, p.Digits = rate.Value, words.Digits(float64(rate.Low), float64(rate.High))
	}
	return p
}
