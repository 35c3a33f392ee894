package nodeagent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// labelPlan is what to do about a Node's labels.
type labelPlan struct {
	// apply are the labels that the agent's configuration of the Node mentions.
	apply map[string]string
	// contested are wanted labels that other managers hold with another value, with the managers.
	contested map[string]string
	// write says whether apply differs from what the agent holds already.
	write bool
}

// planLabels compares the labels that a Node should have with those that it has and with who holds them.
func planLabels(node *metav1.PartialObjectMetadata, desired map[string]string) labelPlan {
	ours, others := labelOwners(node)
	plan := labelPlan{apply: map[string]string{}, contested: map[string]string{}}
	for key, value := range desired {
		live, exists := node.Labels[key]
		if manager, held := others[key]; held && exists && live != value {
			plan.contested[key] = manager
		} else {
			plan.apply[key] = value
		}
	}
	plan.write = !maps.Equal(plan.apply, ours)
	return plan
}

// retainedLabels are labels that the agent holds and that the inventory does not ask for, but that nobody has seen to be
// wrong: while a backend fails that has no device in the inventory, its vendor's labels may be those of a former
// inventory that is lost. Only vendors in the previous inventory are known to have gone.
func retainedLabels(node *metav1.PartialObjectMetadata, desired map[string]string,
	previous, merged *v1alpha1.AcceleratorInventoryStatus,
) map[string]string {
	retained := map[string]string{}
	if !blind(merged) {
		return retained
	}
	held, _ := labelOwners(node)
	seen := byVendor(previous.Devices)
	for key, value := range held {
		vendor, _, isVendors := strings.Cut(strings.TrimPrefix(key, v1alpha1.Prefix), ".")
		if _, wanted := desired[key]; isVendors && !wanted && seen[vendor] == nil {
			retained[key] = value
		}
	}
	if len(retained) == 0 {
		return retained
	}
	for _, name := range []string{labelAccelerator, labelVendors} {
		key := v1alpha1.Prefix + name
		if _, wanted := desired[key]; !wanted && held[key] != "" {
			retained[key] = held[key]
		}
	}
	return retained
}

// blind says whether a backend failed about whose devices nothing is known.
func blind(status *v1alpha1.AcceleratorInventoryStatus) bool {
	return slices.ContainsFunc(status.Backends, func(b v1alpha1.BackendStatus) bool {
		knows := func(d v1alpha1.Device) bool { return d.Backend == b.Name }
		return b.State == v1alpha1.BackendFailed && !slices.ContainsFunc(status.Devices, knows)
	})
}

// conflictRounds bounds the applies of one change: each round drops what was refused, and a round of more keys means
// that others write at this very moment.
const conflictRounds = 3

// applyLabels makes the Node's labels as desired where nobody else holds them, and returns those that are contested. It
// writes nothing where they are already so. The Node's UID goes along: without it an apply to a Node that was deleted
// meanwhile would create one.
func applyLabels(ctx context.Context, c dynamic.Interface, node *metav1.PartialObjectMetadata,
	desired map[string]string,
) (contested map[string]string, written bool, err error) {
	plan := planLabels(node, desired)
	if !plan.write {
		return plan.contested, false, nil
	}
	for range conflictRounds {
		labelled := nodeManifest(object{"name": node.Name, "uid": string(node.UID)}, plan.apply)
		_, err = apply(ctx, c.Resource(nodes), labelled)
		refused := labelConflicts(err)
		if len(refused) == 0 {
			break
		}
		maps.Copy(plan.contested, refused)
		maps.DeleteFunc(plan.apply, func(key, _ string) bool { return refused[key] != "" })
	}
	if err != nil {
		return plan.contested, false, fmt.Errorf("apply labels of Node %s: %w", node.Name, err)
	}
	return plan.contested, true, nil
}
