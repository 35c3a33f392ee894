package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/planning"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/site"
)

// plans are the plans that may have been measured.
type plans struct {
	*planning.Manifests
	name string // of the one that was; empty where the measurement tells
}

// of returns the plan that served what was measured; nil where no plans are given.
func (p *plans) of(file, flags *v1alpha1.Measurement) (*v1alpha1.ShardingPlan, error) {
	var found []*v1alpha1.ShardingPlan
	for i := range p.Plans {
		if p.name == "" || p.Plans[i].Name == p.name {
			found = append(found, &p.Plans[i])
		}
	}
	if len(found) == 0 && p.name != "" {
		return nil, term.Usagef("--plan %s: no such ShardingPlan among the %d in the files of -f: give one of them, or add it", p.name, len(p.Plans))
	}
	for _, narrow := range []func(*v1alpha1.ShardingPlan) bool{
		func(plan *v1alpha1.ShardingPlan) bool { return fits(plan, file, flags) }, p.inForce,
	} {
		if some := slices.DeleteFunc(slices.Clone(found), func(plan *v1alpha1.ShardingPlan) bool { return !narrow(plan) }); len(some) > 0 {
			found = some
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	var names []string
	for _, plan := range found {
		names = append(names, plan.Name)
	}
	return nil, term.Usagef("it may be of any of %d plans: name one with --plan: %s", len(found), strings.Join(names, ", "))
}

// fits says whether nothing that is said contradicts a plan.
func fits(plan *v1alpha1.ShardingPlan, file, flags *v1alpha1.Measurement) bool {
	planned, err := site.OfPlan(&plan.Spec, "")
	return err == nil && contradiction(plan.Name, &planned, file, flags) == nil
}

// inForce says whether a plan is the one that its placement runs, as far as the files tell.
func (p *plans) inForce(plan *v1alpha1.ShardingPlan) bool {
	for i := range p.Placements {
		of := &p.Placements[i]
		if of.Name == plan.Spec.Placement.Name && planning.NamespaceOf(of) == planning.NamespaceOf(plan) {
			return of.Status.Plan == plan.Name
		}
	}
	return meta.IsStatusConditionTrue(plan.Status.Conditions, v1alpha1.ConditionActive)
}

// product is that of a plan's devices, "" where no inventory has one of them.
func (p *plans) product(plan *v1alpha1.ShardingPlan) (string, error) {
	found := ""
	for _, row := range plan.Spec.Nodes {
		for i := range p.Inventories {
			if p.Inventories[i].Name != row.Node {
				continue
			}
			for _, id := range row.Devices {
				device := p.Inventories[i].Status.Device(id)
				switch {
				case device == nil:
					return "", fmt.Errorf("plan %s has device %s of node %s, which the node's inventory lacks: give the inventory of when it ran, or leave it out and add --device", plan.Name, id, row.Node)
				case found != "" && device.Product != found:
					return "", fmt.Errorf("plan %s runs on %s and %s: measurements are of devices of one product", plan.Name, found, device.Product)
				}
				found = device.Product
			}
		}
	}
	return found, nil
}

// lengths fills in the lengths of requests where a file does not say them and the plan's placement does.
func (p *plans) lengths(plan *v1alpha1.ShardingPlan, m *v1alpha1.Measurement) {
	for i := range p.Placements {
		of := &p.Placements[i]
		load := of.Spec.Workload.Inference
		if of.Name != plan.Spec.Placement.Name || planning.NamespaceOf(of) != planning.NamespaceOf(plan) || load == nil {
			continue
		}
		if m.InputTokens == 0 && load.InputTokens != nil {
			m.InputTokens = *load.InputTokens
		}
		if m.OutputTokens == 0 && load.OutputTokens != nil {
			m.OutputTokens = *load.OutputTokens
		}
	}
}
