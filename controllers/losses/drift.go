package losses

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Drift is where what pods were given differs from what they are to have.
type Drift struct {
	// Differences are one text a pod, in order of the pods.
	Differences []string
	// Agreeing is how many pods have the devices of their ranks. Of other pods the kubelet says nothing yet.
	Agreeing int
}

// DriftOf compares the devices that kubelets report for bound pods with those that the pods were bound to. What an agent that is silent or
// has lost its kubelet said last is no evidence.
func DriftOf(s *Scene) Drift {
	var d Drift
	for i := range s.Pods {
		pod := &s.Pods[i]
		bound, node := pod.Annotations[v1alpha1.AnnotationDevices], pod.Spec.NodeName
		if bound == "" || node == "" || !slices.ContainsFunc(s.Rows, func(row v1alpha1.PlanRow) bool { return row.Node == node }) {
			continue
		}
		host := s.Host(node)
		if host.Inventory == nil || host.Silent || meta.IsStatusConditionFalse(host.Inventory.Status.Conditions, v1alpha1.ConditionAllocationsCurrent) {
			continue
		}
		var given []string
		for _, a := range host.Inventory.Status.Allocations {
			if a.Namespace == pod.Namespace && a.Pod == pod.Name {
				given = append(given, string(a.Device))
			}
		}
		wanted := strings.Split(bound, ",")
		slices.Sort(given)
		slices.Sort(wanted)
		given = slices.Compact(given)
		switch {
		case len(given) == 0:
		case slices.Equal(given, wanted):
			d.Agreeing++
		default:
			d.Differences = append(d.Differences, fmt.Sprintf("pod %s on node %s has %s, and is to have %s",
				pod.Name, node, strings.Join(given, ", "), strings.Join(wanted, ", ")))
		}
	}
	return d
}
