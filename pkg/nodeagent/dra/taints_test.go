package dra

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// Each reason for which new pods may not get a device is a taint of it. The configured effect is for ill devices alone.
func TestTaintsSayWhatIsWrong(t *testing.T) {
	since := metav1.NewTime(time.Unix(1700000000, 0))
	ill := func(d *v1alpha1.Device) {
		d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECC", Since: &since}
	}
	unseen := func(d *v1alpha1.Device) {
		d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "NoAnswer", Since: &since}
	}
	evicting := serving.Config{Vendors: map[string]serving.VendorConfig{"amd": {Serve: true, Through: serving.DRA, UnhealthyTaint: serving.NoExecute}}}
	slots := wantedOf(statusOf(gpu(1)))
	slots.Status.Slots = []v1alpha1.Slot{{Device: gpuID(1), Resource: "rankwright.dev/slot-7f3a9c21-0"}}
	keptIll := wantedOf(statusOf(gpu(1, ill)))
	keptIll.Status.Slots = slots.Status.Slots
	keptIll.Status.Repairs = []v1alpha1.Repair{{Device: gpuID(1), State: v1alpha1.RepairVacated}}
	inRepair := func(state v1alpha1.RepairState) serving.Wanted {
		w := wantedOf(statusOf(gpu(1, ill)))
		w.Status.Repairs = []v1alpha1.Repair{{Device: gpuID(1), State: state}}
		return w
	}
	const no, evict = "NoSchedule", "NoExecute"
	taint := func(key, value, effect string, added *metav1.Time) resourceapi.Taint {
		return resourceapi.Taint{Key: key, Value: value, Effect: effect, TimeAdded: added}
	}
	tests := []struct {
		name   string
		wanted serving.Wanted
		config serving.Config
		want   []resourceapi.Taint
	}{
		{"well", wantedOf(statusOf(gpu(1))), throughDRA, nil},
		{"ill", wantedOf(statusOf(gpu(1, ill))), throughDRA, []resourceapi.Taint{taint("rankwright.dev/unhealthy", "ECC", no, &since)}},
		{"ill, before the operator has said anything", wantedOf(statusOf(gpu(1, ill))), evicting, []resourceapi.Taint{taint("rankwright.dev/unhealthy", "ECC", no, &since)}},
		{"not seen, where pods are evicted", wantedOf(statusOf(gpu(1, unseen))), evicting, []resourceapi.Taint{taint("rankwright.dev/unknown", "NoAnswer", no, &since)}},
		{
			"cordoned by an administrator and ill", wantedOf(statusOf(gpu(1, ill)), gpuID(1)), evicting,
			[]resourceapi.Taint{taint("rankwright.dev/cordoned", "", no, nil), taint("rankwright.dev/unhealthy", "ECC", no, &since)},
		},
		{"held", wantedOf(heldBy("old", "amd.com/gpu", statusOf(gpu(1)))), throughDRA, []resourceapi.Taint{taint("rankwright.dev/held", "", no, nil)}},
		{
			"in repair without ranks, and in a slot", keptIll, evicting,
			[]resourceapi.Taint{taint("rankwright.dev/cordoned", "", no, nil), taint("rankwright.dev/unhealthy", "ECC", no, &since), taint("rankwright.dev/slot-7f3a9c21-0", "", no, nil)},
		},
		{
			"in repair with ranks", inRepair(v1alpha1.RepairCordoned), evicting,
			[]resourceapi.Taint{taint("rankwright.dev/cordoned", "", no, nil), taint("rankwright.dev/unhealthy", "ECC", no, &since)},
		},
		{
			"in repair without ranks", inRepair(v1alpha1.RepairVacated), evicting,
			[]resourceapi.Taint{taint("rankwright.dev/cordoned", "", no, nil), taint("rankwright.dev/unhealthy", "ECC", evict, &since)},
		},
		{"back from repair", inRepair(v1alpha1.RepairReturned), evicting, []resourceapi.Taint{taint("rankwright.dev/unhealthy", "ECC", no, &since)}},
		{"in a slot", slots, throughDRA, []resourceapi.Taint{taint("rankwright.dev/slot-7f3a9c21-0", "", no, nil)}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			tc.wanted.Config = tc.config
			offered := offerOf(tc.wanted, testNode).devices
			if len(offered) != 1 {
				t.Fatalf("%d devices are offered", len(offered))
			}
			if diff := cmp.Diff(tc.want, offered[0].Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTolerated(t *testing.T) {
	taint := resourceapi.Taint{Key: "rankwright.dev/unhealthy", Value: "ECC", Effect: "NoSchedule"}
	tests := map[string]struct {
		tolerations []resourceapi.Toleration
		want        bool
	}{
		"none":                {nil, false},
		"every taint":         {[]resourceapi.Toleration{{Operator: "Exists"}}, true},
		"the key":             {[]resourceapi.Toleration{{Key: taint.Key, Operator: "Exists"}}, true},
		"the key's value":     {[]resourceapi.Toleration{{Key: taint.Key, Value: "ECC"}}, true},
		"another value":       {[]resourceapi.Toleration{{Key: taint.Key, Operator: "Equal", Value: "XID"}}, false},
		"another key":         {[]resourceapi.Toleration{{Key: "rankwright.dev/cordoned", Operator: "Exists"}}, false},
		"another effect":      {[]resourceapi.Toleration{{Operator: "Exists", Effect: "NoExecute"}}, false},
		"no key and a value":  {[]resourceapi.Toleration{{Value: "ECC"}}, false},
		"an operator to come": {[]resourceapi.Toleration{{Key: taint.Key, Operator: "Gt"}}, false},
		"one of two":          {[]resourceapi.Toleration{{Key: "other", Operator: "Exists"}, {Key: taint.Key, Operator: "Exists"}}, true},
	}
	for name, tc := range tests {
		if got := tolerated(taint, tc.tolerations); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
