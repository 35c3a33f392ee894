package why

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Of the placements of a namespace, the smallest that holds enough is suspended; where none does, fewer devices are asked for.
func TestQuota(t *testing.T) {
	for name, test := range map[string]struct {
		needed, left int32
		command      string
	}{
		"one device is missing":   {needed: 2, left: 1, command: "kubectl patch mp one -n ns --type merge -p '{\"spec\":{\"suspend\":true}}' # gives 1 device back"},
		"two devices are missing": {needed: 4, left: 2, command: "kubectl patch mp three -n ns --type merge -p '{\"spec\":{\"suspend\":true}}' # gives 3 devices back"},
		"more than others have":   {needed: 8, left: 2, command: "kubectl edit mp p -n ns # at most 2 devices: spec.replicas, spec.parallelism"},
		"an operator of before":   {needed: 0, left: 0, command: "kubectl patch mp one "},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCase()
			c.says("QuotaExceeded")
			c.State.Placements[0].Status.Shortfall = &v1alpha1.Shortfall{NeededDevices: test.needed, FreeDevices: test.left}
			for holder, devices := range map[string][]v1alpha1.DeviceID{"one": {"a"}, "three": {"b", "c", "d"}, "four": {"e", "f", "g", "h"}} {
				c.State.Plans = append(c.State.Plans, v1alpha1.ShardingPlan{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: holder + "-1"},
					Spec:       v1alpha1.ShardingPlanSpec{Placement: v1alpha1.PlacementRef{Name: holder}, Nodes: []v1alpha1.PlanRow{{Node: "n", Devices: devices}}},
					Status:     v1alpha1.ShardingPlanStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionActive, Status: metav1.ConditionTrue}}},
				})
			}
			got := OfPlacement(c, &c.State.Placements[0])
			if got.Reason != "QuotaExceeded" || len(got.Commands) == 0 || !strings.HasPrefix(got.Commands[0], test.command) {
				t.Errorf("%+v; want %s", got, test.command)
			}
		})
	}
}
