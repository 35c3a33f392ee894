package planning

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
)

// State is the cluster of the files. Placements that have no plan there are planned, in the order given, as the operator would.
func (m *Manifests) State(streams term.Streams) (*holding.State, error) {
	s := &holding.State{Meshes: m.Meshes}
	planned := map[string]bool{}
	for _, p := range m.Plans {
		p.Namespace = NamespaceOf(&p)
		planned[p.Namespace+"/"+p.Spec.Placement.Name] = true
		s.Plans = append(s.Plans, p)
	}
	for i := range s.Meshes {
		s.Meshes[i].Namespace = NamespaceOf(&s.Meshes[i])
	}
	anew := *m
	anew.Placements = nil
	for _, p := range m.Placements {
		p.Namespace = NamespaceOf(&p)
		if planned[fullName(&p)] || meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced) != nil {
			s.Placements = append(s.Placements, p)
		} else {
			anew.Placements = append(anew.Placements, p)
		}
	}
	decisions, err := planAll(&anew, streams, false)
	if err != nil {
		return nil, err
	}
	for i := range decisions {
		if err := decisions[i].addTo(s); err != nil {
			return nil, err
		}
	}
	s.Inventories, s.Nodes, s.PodsUnknown = m.Inventories, fleet.WithStandIns(m.Nodes, m.Inventories), true
	s.Utilization = cluster.Utilization(m.leases)
	return s, nil
}

// addTo adds what became of a placement to a state, as the operator would write it.
func (d *decision) addTo(s *holding.State) error {
	refused := d.refused()
	switch {
	case refused != nil:
		s.Placements = append(s.Placements, *refused)
		return nil
	case d.failure != nil:
		return fmt.Errorf("placement %s: %w", d.name(), d.failure)
	}
	now := metav1.ConditionTrue
	p := d.placement.DeepCopy()
	p.Status.Model, p.Status.Strategy, p.Status.Plan, p.Status.Estimate = d.plan.Spec.Model.Name, d.plan.Spec.Strategy.Summary, d.plan.Name, d.plan.Spec.Estimate
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Status: now, Reason: "Planned", Message: "planned from files"}}
	d.plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: now, Reason: "Planned"}}
	d.plan.Namespace, d.mesh.Namespace = p.Namespace, p.Namespace
	s.Placements, s.Plans, s.Meshes = append(s.Placements, *p), append(s.Plans, *d.plan), append(s.Meshes, *d.mesh)
	return nil
}

// Simulate adds nodes that do not exist: shapes with their numbers, as simulate takes them, and the share of their devices that pods hold.
func (m *Manifests) Simulate(shapes []string, occupied string) error {
	flags := clusterFlags{shapes: shapes, occupied: occupied, pattern: string(synthetic.Fragments)}
	spec, err := flags.spec()
	if err != nil {
		return err
	}
	nodes, err := synthetic.Build(spec)
	if err != nil {
		return term.Usagef("--shape: %w", err)
	}
	for i := range nodes {
		nodes[i].Inventory.ResourceVersion = simulatedVersion
		m.Inventories, m.Nodes = append(m.Inventories, *nodes[i].Inventory), append(m.Nodes, simulated(&nodes[i]))
	}
	return nil
}

// simulatedVersion is the version of objects that never change.
const simulatedVersion = "1"

func simulated(n *fleet.Node) corev1.Node {
	made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, ResourceVersion: simulatedVersion}}
	made.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}, {Type: corev1.NodeHostName, Address: n.Name}}
	return made
}
