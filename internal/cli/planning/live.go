package planning

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// liveFlags say whether a cluster is asked, and which.
type liveFlags struct {
	cluster cluster.Flags
	offline bool
}

func (f *liveFlags) add(command *cobra.Command) {
	f.cluster.Add(command)
	command.Flags().BoolVar(&f.offline, "offline", false, "ask no cluster: what is not in the files is not there")
}

// asks says whether the cluster is asked for what is not in the files. Inventories among them are another cluster's.
func (f *liveFlags) asks(m *Manifests) bool { return !f.offline && len(m.Inventories) == 0 }

// essential are the kinds without which a plan could take what is not free.
var essential = []string{holding.Inventories, holding.Plans}

// join adds a cluster to placements that are to be planned on it.
func (f *liveFlags) join(ctx context.Context, streams term.Streams, m *Manifests) error {
	if err := Distinct(m); err != nil {
		return err
	}
	return f.read(ctx, streams, m, func(of *cluster.Cluster, _ *cluster.Objects) error {
		for i := range m.Placements {
			if p := &m.Placements[i]; p.Namespace == "" {
				p.Namespace = of.Namespace
			}
		}
		return nil
	})
}

// read reads a cluster to plan on. Which placements are planned is settled with what was read.
func (f *liveFlags) read(ctx context.Context, streams term.Streams, m *Manifests, settle func(*cluster.Cluster, *cluster.Objects) error) error {
	of, err := f.cluster.Connect(streams)
	if err != nil {
		return fmt.Errorf("%w; to plan without one give inventories with -f, or --offline", err)
	}
	objects, err := of.Read(ctx, streams, cluster.Live(holding.Pods, cluster.Calibrations)...)
	if err != nil {
		return err
	}
	if err := objects.Permitted(essential...); err != nil {
		return err
	}
	if err := settle(of, objects); err != nil {
		return err
	}
	if err := m.readModels(ctx, of); err != nil {
		return err
	}
	m.on(objects)
	if len(objects.Unseen) > 0 {
		_, _ = fmt.Fprintf(streams.Err, "warning: not permitted, and so not taken into account: %s\n", cluster.UnseenText(objects.Unseen))
	}
	return m.readUsage(ctx, streams, of)
}

// on takes the objects of a cluster for those that are planned on.
func (m *Manifests) on(o *cluster.Objects) {
	m.live = o
	m.Inventories, m.Nodes, m.Plans, m.Meshes, m.pods = o.Inventories, o.Nodes, o.Plans, o.Meshes, o.Pods
	if !o.Sees(holding.Nodes) {
		m.Nodes = fleet.WithStandIns(o.Nodes, o.Inventories)
	}
	m.Calibrations = append(m.Calibrations, o.Calibrations...)
}

// readUsage reads the pods of all nodes where what they leave free matters.
func (m *Manifests) readUsage(ctx context.Context, streams term.Streams, of *cluster.Cluster) error {
	if !slices.ContainsFunc(m.Placements, func(p v1alpha1.ModelPlacement) bool {
		asks, _ := fleet.DemandOf(&p, m.podsOf(&p))
		return len(asks) > 0
	}) {
		return nil
	}
	all, err := of.Read(ctx, streams, cluster.AllPods)
	if err == nil {
		m.allPods = all.Pods
	}
	return err
}

// readModels reads the ConfigMaps of models that are not in the files.
func (m *Manifests) readModels(ctx context.Context, of *cluster.Cluster) error {
	for i := range m.Placements {
		p := &m.Placements[i]
		ref := p.Spec.Model.ConfigMap
		if ref == nil || slices.ContainsFunc(m.configMaps, func(c corev1.ConfigMap) bool { return c.Name == ref.Name && NamespaceOf(&c) == p.Namespace }) {
			continue
		}
		found, err := of.ConfigMap(ctx, p.Namespace, ref.Name)
		if err != nil {
			return fmt.Errorf("placement %s: spec.model.configMap: %w", fullName(p), err)
		}
		m.configMaps = append(m.configMaps, *found)
	}
	return nil
}

// standing is what a placement has in the cluster already.
type standing struct {
	// own are the plans in force.
	own []v1alpha1.ShardingPlan
	// answers says that the last of them answers the placement as it is.
	answers bool
	// cause is why it does not.
	cause shape.Cause
	// shuns says which nodes a new plan may not use.
	shuns func(*fleet.Host) bool
}

// inForce is the plan in force; nil where there is none.
func (s *standing) inForce() *v1alpha1.ShardingPlan {
	if len(s.own) == 0 {
		return nil
	}
	return &s.own[len(s.own)-1]
}

// standingOf finds what a placement has, as the operator would before it decides. A placement that the cluster knows becomes that one with another spec.
func (m *Manifests) standingOf(p *v1alpha1.ModelPlacement) standing {
	var s standing
	known := m.known(p)
	if known == nil {
		return s
	}
	same := equality.Semantic.DeepEqual(known.Spec, p.Spec)
	spec := p.Spec
	*p = *known.DeepCopy()
	if p.Spec = spec; !same {
		p.Generation++
	}
	s.own = plan.InForce(m.Plans, p)
	var due []v1alpha1.Loss
	for _, loss := range p.Status.Losses {
		if loss.Due.Time.Before(m.live.Now) && p.Spec.FailurePolicy.Action != v1alpha1.FailureHold {
			due = append(due, loss)
		}
	}
	pods := m.podsOf(p)
	s.shuns = func(h *fleet.Host) bool {
		return fleet.Tainted(h, pods) != nil || slices.ContainsFunc(due, func(l v1alpha1.Loss) bool { return l.Device == "" && l.Node == h.Name })
	}
	if inForce := s.inForce(); inForce != nil {
		s.answers = m.asIs || !m.afresh && len(due) == 0 && plan.Answers(p, inForce)
		s.cause = plan.CauseOf(&p.Spec, inForce)
		switch {
		case m.afresh:
			s.cause = shape.OtherRequest
		case same && len(due) > 0:
			s.cause = shape.LostDevices
		}
	}
	return s
}

// known is the placement of the cluster with the name of one of the files; nil where there is none.
func (m *Manifests) known(p *v1alpha1.ModelPlacement) *v1alpha1.ModelPlacement {
	if m.live == nil || m.anonymous {
		return nil
	}
	at := slices.IndexFunc(m.live.Placements, func(o v1alpha1.ModelPlacement) bool { return fullName(&o) == fullName(p) })
	if at < 0 {
		return nil
	}
	return &m.live.Placements[at]
}

// standingText says in the table what the plan in force has to do with the plan that is shown; empty where there is none.
func (d *decision) standingText() string {
	inForce := d.standing.inForce()
	switch {
	case inForce == nil:
		return ""
	case d.standing.answers:
		return "this plan, which answers the placement as it is"
	case plan.SameLayout(&inForce.Spec, &d.plan.Spec):
		return "plan " + inForce.Name + ", which is the same: nothing would move"
	default:
		return "plan " + inForce.Name + ": kubectl rankwright diff shows what would move"
	}
}

// errNoPlan ends a command that is about the plan in force of a placement that has none.
func errNoPlan(p *v1alpha1.ModelPlacement) error {
	return fmt.Errorf("no plan is in force: kubectl rankwright why mp/%s -n %s says why", p.Name, p.Namespace)
}
