package nodeagent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Reasons of the condition Monitored.
const (
	reasonAllObserved = "AllDevicesObserved"
	reasonUnobserved  = "DevicesUnobserved"
	reasonNobodyAsked = "DriversNotAsked"
)

// monitoredCondition says whether something observes the health of every device, and which ones it does not and why; asked
// says whether drivers' tools could be run.
func monitoredCondition(devices []v1alpha1.Device, asked bool) metav1.Condition {
	unobserved := map[string][]string{}
	vendors := map[string]bool{}
	count := 0
	for i := range devices {
		if h := devices[i].Health; h.State == v1alpha1.Unknown {
			why := strings.TrimSuffix(h.Reason+": "+h.Message, ": ")
			unobserved[why] = append(unobserved[why], string(devices[i].ID))
			vendors[devices[i].Vendor] = true
			count++
		}
	}
	if count == 0 {
		return condition(v1alpha1.ConditionMonitored, metav1.ConditionTrue, reasonAllObserved, "the health of every device is observed")
	}
	var groups []string
	for _, why := range slices.Sorted(maps.Keys(unobserved)) {
		groups = append(groups, strings.Join(unobserved[why], ", ")+": "+why)
	}
	reason := reasonUnobserved
	message := fmt.Sprintf("the health of %d of %d devices is not known: %s", count, len(devices), strings.Join(groups, "; "))
	if remedy := askRemedy(slices.Sorted(maps.Keys(vendors))); !asked && remedy != "" {
		reason = reasonNobodyAsked
		message = "no driver is asked on this node: " + remedy + " in the chart's values (docs/operate/drivers.md); " + message
	}
	return condition(v1alpha1.ConditionMonitored, metav1.ConditionFalse, reason, message)
}

// askRemedy names the values of the chart that have the vendors' drivers asked; empty where no tool of the vendors is known.
func askRemedy(vendors []string) string {
	var values []string
	for _, vendor := range vendors {
		switch {
		case vendor == nvidiaVendor:
			values = append(values, "set agent.nvml.enabled=true")
		case slices.Contains(host.ToolVendors(), vendor):
			values = append(values, "add "+vendor+" to agent.tools.vendors")
		}
	}
	return strings.Join(values, " and ")
}
