package fleet

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// claims lists what may hold devices of a node; pods are indexes in the list of pods.
type claims struct {
	plans []claim
	pods  []int32
}

// claim is what a plan has on a node. The plan is an index in the list of plans.
type claim struct {
	plan int32
	held
}

// held are devices of a node, and a text of them and whose they are, which can be compared.
type held struct {
	node    string
	devices []v1alpha1.DeviceID
	text    string
}

// heldBy lists what a plan has by node, as the plan names them.
func heldBy(p *v1alpha1.ShardingPlan) []held {
	list := make([]held, 0, len(p.Spec.Nodes))
	for i := range p.Spec.Nodes {
		row := &p.Spec.Nodes[i]
		at := len(list) - 1
		if at < 0 || list[at].node != row.Node { // rows of a node mostly follow each other
			at = slices.IndexFunc(list, func(of held) bool { return of.node == row.Node })
		}
		if at < 0 {
			at, list = len(list), append(list, held{node: row.Node})
		}
		if list[at].devices == nil {
			list[at].devices = slices.Clip(row.Devices)
		} else {
			list[at].devices = append(list[at].devices, row.Devices...)
		}
	}
	for i := range list {
		list[i].text = describePlan(p, list[i].devices)
	}
	return list
}

func describePlan(p *v1alpha1.ShardingPlan, devices []v1alpha1.DeviceID) string {
	var text strings.Builder
	text.WriteString("plan " + p.Namespace + "/" + p.Name + " of " + p.Spec.Placement.Name + " " + p.Spec.Placement.UID)
	for _, id := range devices {
		text.WriteString(" " + string(id))
	}
	return text.String()
}

// holdings remembers what plans have which are never written, by the array of their nodes: most plans are those of the snapshot before.
type holdings map[*v1alpha1.PlanRow]remembered

type remembered struct {
	namespace, name, uid string // of plan, plan and placement
	list                 []held
}

// of returns what a plan has.
func (h holdings) of(p *v1alpha1.ShardingPlan) []held {
	if h == nil || len(p.Spec.Nodes) == 0 {
		return heldBy(p)
	}
	key := &p.Spec.Nodes[0]
	if is, known := h[key]; known && is.namespace == p.Namespace && is.name == p.Name && is.uid == p.Spec.Placement.UID {
		return is.list
	}
	list := heldBy(p)
	h[key] = remembered{p.Namespace, p.Name, p.Spec.Placement.UID, list}
	return list
}
