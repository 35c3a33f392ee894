package holding

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Placement is a placement with what it holds.
type Placement struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	Model     string            `json:"model,omitempty"`
	Strategy  string            `json:"strategy,omitempty"`
	// Plan is the plan in force; empty where none is, or it is not seen.
	Plan string `json:"plan,omitempty"`
	// Ready is how many pods run as planned, of how many; Reason says why not all do. Both are the operator's words.
	Ready  string `json:"ready,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Nodes have devices of the placement's plans.
	Nodes  []string `json:"nodes,omitempty"`
	Totals Totals   `json:"totals"`
}

// placements are the placements that are known, with the sums of their devices.
func (j *join) placements(devices []Device) []Placement {
	made := map[types.NamespacedName]*Placement{}
	of := func(namespace, name string) *Placement {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if made[key] == nil {
			made[key] = &Placement{Namespace: namespace, Name: name}
		}
		return made[key]
	}
	for i := range j.state.Placements {
		described(of(j.state.Placements[i].Namespace, j.state.Placements[i].Name), &j.state.Placements[i])
	}
	for i := range j.state.Plans {
		if plan := &j.state.Plans[i]; plan.InForce() {
			p := of(plan.Namespace, plan.Spec.Placement.Name)
			p.Plan, p.Model, p.Strategy = plan.Name, cmp.Or(p.Model, plan.Spec.Model.Name), plan.Spec.Strategy.Summary
		}
	}
	for i := range devices {
		d := &devices[i]
		for _, key := range d.placements() {
			p := of(key.Namespace, key.Name)
			p.Totals.Add(d)
			if !slices.Contains(p.Nodes, d.Node) {
				p.Nodes = append(p.Nodes, d.Node)
			}
		}
	}
	list := sorted(made, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	placements := make([]Placement, len(list))
	for i := range list {
		placements[i] = *list[i]
	}
	return placements
}

// described takes over what the operator says of a placement.
func described(p *Placement, from *v1alpha1.ModelPlacement) {
	p.Labels = from.Labels
	p.Model, p.Strategy, p.Plan, p.Ready = from.Status.Model, from.Status.Strategy, from.Status.Plan, from.Status.Summary.Pods
	if ready := meta.FindStatusCondition(from.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		p.Reason = ready.Reason
	}
}

// placements are those of which a plan has the device, each once.
func (d *Device) placements() []types.NamespacedName {
	var keys []types.NamespacedName
	for i := range d.Seats {
		if key := (types.NamespacedName{Namespace: d.Seats[i].Namespace, Name: d.Seats[i].Placement}); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
