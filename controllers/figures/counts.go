package figures

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

var (
	placementsDesc = desc("placements", "Placements by the status of their conditions Placed and Ready, and the reason of Ready.", "placed", "ready", "reason")
	estimatedDesc  = desc("placements_as_estimated", "Placements of which engines' metrics are read, by the status of their condition AsEstimated.", "status")
	devicesDesc    = desc("devices", "Devices of all inventories by vendor, health, and who holds them: plan (an active one), pod (without a plan), none.",
		"vendor", "health", "holder")
)

func countPlacements(placements []v1alpha1.ModelPlacement, to chan<- prometheus.Metric) {
	count, asEstimated := map[[3]string]int{}, map[string]int{}
	for i := range placements {
		said := placements[i].Status.Conditions
		placed, ready := conditionOf(said, v1alpha1.ConditionPlaced), conditionOf(said, v1alpha1.ConditionReady)
		count[[3]string{string(placed.Status), string(ready.Status), ready.Reason}]++
		if c := meta.FindStatusCondition(said, v1alpha1.ConditionAsEstimated); c != nil {
			asEstimated[string(c.Status)]++
		}
	}
	for labels, n := range count {
		gauge(to, placementsDesc, float64(n), labels[:]...)
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		gauge(to, estimatedDesc, float64(asEstimated[string(status)]), string(status))
	}
}

func countDevices(inventories []v1alpha1.AcceleratorInventory, plans []v1alpha1.ShardingPlan, to chan<- prometheus.Metric) {
	type device struct {
		node string
		id   v1alpha1.DeviceID
	}
	planned := map[device]bool{}
	for i := range plans {
		if !plans[i].Active() {
			continue
		}
		for k := range plans[i].Spec.Nodes {
			row := &plans[i].Spec.Nodes[k]
			for _, id := range row.Devices {
				planned[device{row.Node, id}] = true
			}
		}
	}
	count := map[[3]string]int{}
	for i := range inventories {
		node, status := inventories[i].Name, &inventories[i].Status
		allocated := map[v1alpha1.DeviceID]bool{}
		for k := range status.Allocations {
			allocated[status.Allocations[k].Device] = true
		}
		for k := range status.Devices {
			d, holder := &status.Devices[k], "none"
			switch {
			case planned[device{node, d.ID}]:
				holder = "plan"
			case allocated[d.ID]:
				holder = "pod"
			}
			count[[3]string{string(d.Vendor), string(d.Health.State), holder}]++
		}
	}
	for labels, n := range count {
		gauge(to, devicesDesc, float64(n), labels[:]...)
	}
}

// conditionOf is a condition of a placement; Unknown where nobody said it yet.
func conditionOf(said []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(said, kind); c != nil {
		return *c
	}
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Pending"}
}
