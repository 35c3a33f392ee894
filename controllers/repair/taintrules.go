package repair

import (
	"context"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/internal/words"
)

// taintKey is the key of the taints of devices that other drivers publish, and the same as that of the agents' own.
const taintKey = v1alpha1.Prefix + "unhealthy"

// labelNode is on every DeviceTaintRule: a digest of its node's name, which may be longer than a label.
const labelNode = v1alpha1.Prefix + "repair-node"

// vacated are the states in which no rank is on a device, so that its other pods may be evicted.
var vacated = []v1alpha1.RepairState{v1alpha1.RepairVacated, v1alpha1.Repairing, v1alpha1.RepairFailed}

// Rules are the DeviceTaintRules of devices that the drivers of others publish.
type Rules struct {
	// Client asks the API server.
	Client client.Client
	// Kind is what the API server serves; empty where it serves no DeviceTaintRules, and nothing is done.
	Kind   schema.GroupVersionKind
	Effect TaintEffect
}

// FindRules returns the kind of DeviceTaintRules that the API server serves, the newest version first; the zero value where it serves none,
// which is so by default until Kubernetes 1.36.
func FindRules(mapper meta.RESTMapper) (schema.GroupVersionKind, error) {
	for _, version := range []string{"v1", "v1beta2", "v1alpha3"} {
		kind := schema.GroupVersionKind{Group: resourcev1.GroupName, Version: version, Kind: "DeviceTaintRule"}
		_, err := mapper.RESTMapping(kind.GroupKind(), version)
		if err == nil {
			return kind, nil
		}
		if !meta.IsNoMatchError(err) {
			return schema.GroupVersionKind{}, fmt.Errorf("look for %s: %w", kind, err)
		}
	}
	return schema.GroupVersionKind{}, nil
}

// list returns the rules of a node, or of all nodes.
func (r *Rules) list(ctx context.Context, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	if r.Kind.Empty() {
		return nil, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.Kind.GroupVersion().WithKind(r.Kind.Kind + "List"))
	if err := r.Client.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list DeviceTaintRules: %w", err)
	}
	return list.Items, nil
}

// keep has the rules of a node be those of its devices in repair, and returns whether it has any. A device that its driver does not publish
// keeps the rule that it has.
func (r *Rules) keep(ctx context.Context, node string, status *v1alpha1.AcceleratorInventoryStatus, repairs []v1alpha1.Repair) (bool, error) {
	there, err := r.list(ctx, client.MatchingLabels{labelNode: words.Digest(node, digits)})
	if err != nil || r.Kind.Empty() {
		return false, err
	}
	wanted := r.wanted(node, status, repairs)
	for i := range there {
		if _, stays := wanted[there[i].GetName()]; !stays {
			if err := objects.Delete(ctx, r.Client, &there[i]); err != nil {
				return true, err
			}
		}
	}
	var published []resourcev1.ResourceSlice
	for name, repair := range wanted {
		if i := slices.IndexFunc(there, func(o unstructured.Unstructured) bool { return o.GetName() == name }); i >= 0 {
			if err := r.update(ctx, &there[i], repair); err != nil {
				return true, err
			}
			continue
		}
		if published == nil {
			var list resourcev1.ResourceSliceList
			if err := r.Client.List(ctx, &list, client.MatchingFields{resourcev1.ResourceSliceSelectorNodeName: node}); err != nil {
				return true, fmt.Errorf("list ResourceSlices of node %s: %w", node, err)
			}
			published = list.Items
		}
		if err := r.create(ctx, node, name, status.Device(repair.Device), repair, published); err != nil {
			return true, err
		}
	}
	return len(wanted) > 0, nil
}

// wanted returns the devices that are to have a rule, by its name.
func (r *Rules) wanted(node string, status *v1alpha1.AcceleratorInventoryStatus, repairs []v1alpha1.Repair) map[string]*v1alpha1.Repair {
	wanted := map[string]*v1alpha1.Repair{}
	for i := range repairs {
		device := status.Device(repairs[i].Device)
		if repairs[i].State == v1alpha1.RepairReturned || device == nil || device.Service == nil || device.Service.Server != v1alpha1.ServedByDRA || device.ClaimAttribute == nil {
			continue
		}
		wanted["rankwright-"+words.Digest(node+" "+string(device.ID), digits)] = &repairs[i]
	}
	return wanted
}

// taint returns a device's taint. Pods are evicted only after the ranks, which move by a plan of their own, have left.
func (r *Rules) taint(repair *v1alpha1.Repair) map[string]any {
	taint := map[string]any{"key": taintKey, "effect": string(NoSchedule)}
	if len(validation.IsValidLabelValue(repair.Fault)) == 0 && repair.Fault != "" {
		taint["value"] = repair.Fault
	}
	if r.Effect == NoExecute && repair.Fault != "" && slices.Contains(vacated, repair.State) {
		taint["effect"] = string(NoExecute)
	}
	return taint
}

func (r *Rules) update(ctx context.Context, rule *unstructured.Unstructured, repair *v1alpha1.Repair) error {
	wanted := r.taint(repair)
	has, _, _ := unstructured.NestedMap(rule.Object, "spec", "taint")
	if has["effect"] == wanted["effect"] && has["value"] == wanted["value"] {
		return nil
	}
	// The time of a taint that changes is the API server's to say.
	if err := unstructured.SetNestedMap(rule.Object, wanted, "spec", "taint"); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.Client.Update(ctx, rule))
}

func (r *Rules) create(ctx context.Context, node, name string, device *v1alpha1.Device, repair *v1alpha1.Repair, published []resourcev1.ResourceSlice) error {
	for i := range published {
		spec := &published[i].Spec
		if spec.Driver != device.Service.Resource {
			continue
		}
		for k := range spec.Devices {
			if !has(spec, &spec.Devices[k], device.ClaimAttribute) {
				continue
			}
			rule := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"deviceSelector": map[string]any{"driver": spec.Driver, "pool": spec.Pool.Name, "device": spec.Devices[k].Name},
				"taint":          r.taint(repair),
			}}}
			rule.SetGroupVersionKind(r.Kind)
			rule.SetName(name)
			rule.SetLabels(map[string]string{LabelRepair: "true", labelNode: words.Digest(node, digits)})
			rule.SetAnnotations(map[string]string{AnnotationNode: node, AnnotationDevice: string(device.ID)})
			if err := r.Client.Create(ctx, rule); err != nil {
				return fmt.Errorf("taint device %s of node %s: %w", device.ID, node, err)
			}
			return nil
		}
	}
	return nil
}

// has says whether a device of a slice is the one that an attribute selects. A name without a domain is in the driver's.
func has(spec *resourcev1.ResourceSliceSpec, device *resourcev1.Device, attribute *v1alpha1.ClaimAttribute) bool {
	value, found := device.Attributes[resourcev1.QualifiedName(attribute.Name)]
	if short, own := strings.CutPrefix(attribute.Name, spec.Driver+"/"); own && !found {
		value = device.Attributes[resourcev1.QualifiedName(short)]
	}
	if attribute.String != nil {
		return value.StringValue != nil && *value.StringValue == *attribute.String
	}
	return attribute.Int != nil && value.IntValue != nil && *value.IntValue == *attribute.Int
}
