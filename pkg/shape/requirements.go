package shape

import (
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// requirements are a placement's DeviceRequirements and topology level in a form that devices are checked against.
type requirements struct {
	families []v1alpha1.DeviceFamily // empty: all
	vendors  []string
	products []string
	selector labels.Selector
	least    int64 // MiB
	Formats  []v1alpha1.Precision
	// tolerations are those of the pods.
	tolerations []corev1.Toleration
	// room is which nodes have room for the pods; nil is room everywhere.
	room *fleet.Room
	// claims says that a ResourceClaim must be able to select every device.
	claims bool
	// runs are the formats of weights that the engine runs, makes those that it makes while loading, by class.
	runs, makes []engine.Formats
	// Level is the node label that the devices of a copy must share; empty where they need not.
	Level string
}

// accelerators are the families that can be asked for.
var accelerators = []v1alpha1.DeviceFamily{v1alpha1.FamilyGPU, v1alpha1.FamilyTPU, v1alpha1.FamilyNPU, v1alpha1.FamilyASIC}

func requirementsOf(spec *v1alpha1.ModelPlacementSpec) (requirements, error) {
	r := requirements{selector: labels.Everything(), claims: spec.Enforcement == v1alpha1.EnforcementClaim}
	if spec.Topology != nil && spec.Topology.Required != nil {
		r.Level = *spec.Topology.Required
	}
	if w := spec.Workload.Training; w != nil && w.Compute != "" {
		r.Formats = []v1alpha1.Precision{w.Compute}
	}
	d := spec.Devices
	if d == nil {
		return r, nil
	}
	if i := slices.IndexFunc(d.Families, func(f v1alpha1.DeviceFamily) bool { return !slices.Contains(accelerators, f) }); i >= 0 {
		return r, invalid(fmt.Sprintf("devices.families[%d]", i), string(d.Families[i]), "use GPU, TPU, NPU or ASIC")
	}
	r.families, r.vendors, r.products, r.Formats = d.Families, d.Vendors, d.Products, slices.Concat(r.Formats, d.Precisions)
	for _, t := range d.Tolerations {
		r.tolerations = append(r.tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: string(t.Value), Effect: corev1.TaintEffect(t.Effect)})
	}
	if d.MinMemoryMiB != nil {
		r.least = *d.MinMemoryMiB
	}
	if d.NodeLabelSelector != nil {
		selector, err := d.NodeLabelSelector.AsSelector()
		if err != nil {
			return r, invalid("devices.nodeLabelSelector", fmt.Sprint(err), "correct the selector")
		}
		r.selector = selector
	}
	return r, nil
}

// Admits returns which classes of devices a placement may take by what its spec asks of devices. No other device matters to it, whoever holds that.
func Admits(spec *v1alpha1.ModelPlacementSpec) func(*fleet.Class) bool {
	r, err := requirementsOf(spec)
	if err != nil {
		return func(*fleet.Class) bool { return true }
	}
	return func(c *fleet.Class) bool { return r.refuseClass(c) == "" }
}

// asksNodes says whether the requirements ask anything of nodes beside the label of the level.
func (r *requirements) asksNodes() bool {
	return r.claims || !r.selector.Empty() || r.room.Short()
}

// refuseNode returns why no device of the node matches; empty where one may.
func (r *requirements) refuseNode(n *fleet.NodeEntry) fleet.Refusal {
	if !r.selector.Empty() && !r.selector.Matches(labels.Set(n.Labels)) {
		return refusedSelector
	}
	if r.Level != "" && n.Labels[r.Level] == "" {
		return RefusedLevel
	}
	if r.claims && n.Unclaimed {
		return refusedClaim
	}
	if slices.ContainsFunc(n.Taints, func(taint corev1.Taint) bool { return !r.tolerates(&taint) }) {
		return refusedTaint
	}
	if r.room.For(n.Name) == 0 {
		return fleet.RefusedRoom
	}
	return ""
}

// Crowded says which nodes have no room for the pods, and what would help; empty where all have.
func (r *requirements) Crowded() string { return r.room.Text() }

// tolerates says whether the placement's pods tolerate a taint.
func (r *requirements) tolerates(taint *corev1.Taint) bool {
	return slices.ContainsFunc(r.tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, true) })
}

// refuseClass returns why no device of the class matches; empty where one may.
func (r *requirements) refuseClass(c *fleet.Class) fleet.Refusal {
	switch {
	case len(r.families) > 0 && !slices.Contains(r.families, c.Family):
		return refusedFamily
	case len(r.vendors) > 0 && !slices.Contains(r.vendors, c.Vendor):
		return refusedVendor
	case len(r.products) > 0 && !slices.Contains(r.products, c.Product):
		return refusedProduct
	case c.TotalBytes>>20 < r.least:
		return refusedSize
	case slices.ContainsFunc(r.Formats, func(p v1alpha1.Precision) bool { return !c.Computes(p) }):
		return refusedPrecision
	}
	return ""
}

// Why a device does not match a request.
const (
	refusedSelector  fleet.Refusal = "on nodes outside of devices.nodeLabelSelector"
	RefusedLevel     fleet.Refusal = "on nodes without the label of topology.required"
	refusedClaim     fleet.Refusal = "on nodes with devices that no DRA driver serves (enforcement Claim)"
	refusedTaint     fleet.Refusal = "on nodes with taints that devices.tolerations does not tolerate"
	refusedFamily    fleet.Refusal = "of families outside of devices.families"
	refusedVendor    fleet.Refusal = "of vendors outside of devices.vendors"
	refusedProduct   fleet.Refusal = "of products outside of devices.products"
	refusedSize      fleet.Refusal = "smaller than devices.minMemoryMiB"
	refusedEngine    fleet.Refusal = "on which the engine does not run"
	refusedKernels   fleet.Refusal = "on which the engine does not run weights in this format"
	refusedPrecision fleet.Refusal = "without a format of devices.precisions or workload.training.compute"
	refusedFormat    fleet.Refusal = "without native arithmetic for the weights"
)
