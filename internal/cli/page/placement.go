package page

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Detail is all that the page shows of one placement.
type Detail struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Model     string `json:"model,omitempty"`
	// Conditions are those of the placement.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Plan is set where there is one. Other plans of the placement, which go or come, are named in OtherPlans.
	Plan       *PlanDetail               `json:"plan,omitempty"`
	OtherPlans []string                  `json:"otherPlans,omitempty"`
	Observed   *v1alpha1.ObservedService `json:"observed,omitempty"`
	Refusal    *Refusal                  `json:"refusal,omitempty"`
}

// PlanDetail is a plan with the mesh that was made from it.
type PlanDetail struct {
	Name         string                  `json:"name"`
	Active       bool                    `json:"active"`
	Strategy     string                  `json:"strategy"`
	Parameters   int64                   `json:"parameters"`
	Quantization v1alpha1.Precision      `json:"quantization"`
	KVCacheType  v1alpha1.Precision      `json:"kvCacheType"`
	Engine       v1alpha1.Engine         `json:"engine"`
	Enforcement  v1alpha1.Enforcement    `json:"enforcement"`
	Totals       v1alpha1.PlanTotals     `json:"totals"`
	Estimate     *v1alpha1.Estimate      `json:"estimate,omitempty"`
	Rejected     []v1alpha1.RejectedPlan `json:"rejected,omitempty"`
	Shapes       []ShapeDetail           `json:"shapes"`
	Seats        []SeatDetail            `json:"seats"`
	// Links are those of each kind of process groups; nil where there is no mesh, or it is not seen.
	Links    []LinkDetail                   `json:"links,omitempty"`
	Findings []v1alpha1.VerificationFinding `json:"findings,omitempty"`
	// MeshProblem says why there are no groups.
	MeshProblem string `json:"meshProblem,omitempty"`
}

// ShapeDetail is what copies have in common.
type ShapeDetail struct {
	FirstReplica int32             `json:"firstReplica"`
	Strategy     v1alpha1.Strategy `json:"strategy"`
	Stages       []v1alpha1.Stage  `json:"stages"`
	Groups       []GroupDetail     `json:"groups,omitempty"`
}

// GroupDetail is the process groups of one kind, with the ranks of each.
type GroupDetail struct {
	Name    string    `json:"name"`
	Count   int32     `json:"count"`
	Size    int32     `json:"size"`
	Library string    `json:"library,omitempty"`
	Ranks   [][]int32 `json:"ranks"`
}

// SeatDetail is a device of a plan with its place.
type SeatDetail struct {
	Node   string            `json:"node"`
	Device v1alpha1.DeviceID `json:"device"`
	Copy   int32             `json:"copy"`
	Data   int32             `json:"data"`
	Stage  int32             `json:"stage"`
	Tensor int32             `json:"tensor"`
	Rank   *int32            `json:"rank,omitempty"`
	// Lost is why the rank cannot run, by the mesh.
	Lost string `json:"lost,omitempty"`
}

// LinkDetail is the links of a kind of process groups: the slowest by what inventories say, and what the last verification measured.
type LinkDetail struct {
	Group    string                      `json:"group"`
	Slowest  *v1alpha1.SlowestLink       `json:"slowest,omitempty"`
	Verified *v1alpha1.VerifiedBandwidth `json:"verified,omitempty"`
}

// DetailOf finds a placement in a state. One of which only a plan is seen has no more than that.
func DetailOf(s *holding.State, namespace, name string) (*Detail, error) {
	var placement *v1alpha1.ModelPlacement
	for i := range s.Placements {
		if p := &s.Placements[i]; p.Namespace == namespace && p.Name == name {
			placement = p
		}
	}
	var current *v1alpha1.ShardingPlan
	var others []string
	for i := range s.Plans {
		plan := &s.Plans[i]
		switch {
		case plan.Namespace != namespace || plan.Spec.Placement.Name != name:
		case current == nil:
			current = plan
		case newer(plan, current):
			others = append(others, current.Name)
			current = plan
		default:
			others = append(others, plan.Name)
		}
	}
	if placement == nil && current == nil {
		return nil, fmt.Errorf("there is no placement %s/%s, or you may not see it", namespace, name)
	}
	var made *v1alpha1.DeviceMesh
	for i := range s.Meshes {
		if m := &s.Meshes[i]; current != nil && m.Namespace == namespace && m.Spec.Plan == current.Name {
			made = m
		}
	}
	d := Detailed(placement, current, made)
	d.Namespace, d.Name, d.OtherPlans = namespace, name, others
	return d, nil
}

// newer says whether a plan goes before another one: it is in force, or has a higher number where both are or none is.
func newer(a, b *v1alpha1.ShardingPlan) bool {
	if active := a.InForce(); active != b.InForce() {
		return active
	}
	return a.Spec.Revision > b.Spec.Revision
}

// Detailed puts together what is known of a placement; each of the three may be nil.
func Detailed(placement *v1alpha1.ModelPlacement, plan *v1alpha1.ShardingPlan, made *v1alpha1.DeviceMesh) *Detail {
	d := &Detail{}
	if placement != nil {
		d.Namespace, d.Name, d.Model = placement.Namespace, placement.Name, placement.Status.Model
		d.Conditions, d.Observed, d.Refusal = placement.Status.Conditions, placement.Status.Observed, refusalOf(placement)
	}
	if plan != nil {
		d.Model = cmp.Or(d.Model, plan.Spec.Model.Name)
		d.Plan = planOf(plan)
		if made != nil {
			d.Plan.join(made)
		}
	}
	return d
}

func planOf(plan *v1alpha1.ShardingPlan) *PlanDetail {
	s := &plan.Spec
	d := &PlanDetail{
		Name: plan.Name, Active: plan.InForce(), Strategy: s.Strategy.Summary, Parameters: s.Model.Parameters, Quantization: s.Quantization, KVCacheType: s.KVCacheType,
		Engine: s.Engine, Enforcement: s.Enforcement, Totals: s.Totals, Estimate: s.Estimate, Rejected: s.Rejected,
	}
	for _, shape := range s.Shapes() {
		d.Shapes = append(d.Shapes, ShapeDetail{FirstReplica: shape.FirstReplica, Strategy: shape.Strategy, Stages: shape.Stages})
	}
	for i := range s.Nodes {
		row := &s.Nodes[i]
		shape, known := s.ShapeOf(row.Replica)
		if !known {
			continue // no API server takes such a plan
		}
		for n, id := range row.Devices {
			at := row.Place(&shape.Strategy, n)
			d.Seats = append(d.Seats, SeatDetail{Node: row.Node, Device: id, Copy: row.Replica, Data: at.Data, Stage: at.Stage, Tensor: at.Tensor})
		}
	}
	return d
}

// join adds ranks, groups and links.
func (d *PlanDetail) join(made *v1alpha1.DeviceMesh) {
	type place struct {
		node string
		id   v1alpha1.DeviceID
	}
	ranks := map[place]int32{}
	for _, member := range made.Spec.Members {
		for n, id := range member.Devices {
			ranks[place{member.Node, id}] = member.FirstRank + int32(n)
		}
	}
	lost := map[place]string{}
	for _, l := range made.Status.LostRanks {
		lost[place{l.Node, l.Device}] = cmp.Or(l.Reason, "lost")
	}
	for i := range d.Seats {
		seat := &d.Seats[i]
		at := place{seat.Node, seat.Device}
		if rank, numbered := ranks[at]; numbered {
			seat.Rank = &rank
		}
		seat.Lost = lost[at]
	}
	d.Findings = made.Status.Findings
	d.groups(made)
	d.links(made)
}

// groups adds the process groups to the shapes.
func (d *PlanDetail) groups(made *v1alpha1.DeviceMesh) {
	copies, err := mesh.Copies(&made.Spec, nil)
	if err != nil {
		d.MeshProblem = err.Error()
		return
	}
	for i := range d.Shapes {
		first := int(d.Shapes[i].FirstReplica)
		if first >= len(copies) {
			continue
		}
		of := &copies[first]
		for _, g := range of.Shape.Groups {
			listed, err := of.RanksOf(g.Name)
			if err != nil {
				d.MeshProblem = err.Error()
			}
			d.Shapes[i].Groups = append(d.Shapes[i].Groups, GroupDetail{g.Name, g.Count, g.Size, g.Library, listed})
		}
	}
}

func (d *PlanDetail) links(made *v1alpha1.DeviceMesh) {
	at := map[string]int{}
	of := func(group string) *LinkDetail {
		if _, there := at[group]; !there {
			at[group] = len(d.Links)
			d.Links = append(d.Links, LinkDetail{Group: group})
		}
		return &d.Links[at[group]]
	}
	for i := range made.Status.SlowestLinks {
		of(made.Status.SlowestLinks[i].Group).Slowest = &made.Status.SlowestLinks[i]
	}
	for i := range made.Status.Verified {
		of(made.Status.Verified[i].Group).Verified = &made.Status.Verified[i]
	}
}
