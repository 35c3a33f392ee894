package serving

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestCondition(t *testing.T) {
	pools := []string{"a.b/c"}
	since := func(state State, ago time.Duration) map[string]PoolState {
		return map[string]PoolState{"a.b/c": {state, testStart.Add(-ago), "why"}}
	}
	published := &metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue, Reason: "Before"}
	failed := &metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionFalse, Reason: "Before"}
	withheld := []Withheld{{"d", "no profile"}, {"e", "no profile"}}
	tests := []struct {
		name     string
		pools    []string
		withheld []Withheld
		states   map[string]PoolState
		before   *metav1.Condition
		status   metav1.ConditionStatus
		reason   string
		message  string
	}{
		{"served", pools, nil, since(Serving, time.Hour), nil, metav1.ConditionTrue, "AllPoolsServed", "a.b/c"},
		{"nothing to serve", nil, nil, nil, nil, metav1.ConditionTrue, "NoDevices", ""},
		{"at the start", pools, nil, since(Registering, 0), nil, metav1.ConditionUnknown, "Registering", "a.b/c"},
		{"a restart of the kubelet is no news", pools, nil, since(KubeletAway, patience-1), published, metav1.ConditionTrue, "Before", ""},
		{"the kubelet is away", pools, nil, since(KubeletAway, patience), published, metav1.ConditionFalse, "PoolsNotServed", "a.b/c: the kubelet is away (why)"},
		{"refused", pools, nil, since(Refused, patience), published, metav1.ConditionFalse, "PoolsNotServed", "the kubelet did not take it (why)"},
		{"coming back", pools, nil, since(Registering, 0), failed, metav1.ConditionUnknown, "Registering", ""},
		{"withheld", pools, withheld, since(Serving, 0), published, metav1.ConditionFalse, "DevicesWithheld", "2 devices withheld: no profile"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Account{tc.pools, tc.withheld, tc.states}.Condition(testStart, tc.before)
			if got.Type != v1alpha1.ConditionServed || got.Status != tc.status || got.Reason != tc.reason || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%+v, want %s, %s, %q", got, tc.status, tc.reason, tc.message)
			}
		})
	}
}

// The condition and the probe cover the device plugin and the DRA driver alike.
func TestServersAreToldOfTogether(t *testing.T) {
	plugin := Account{Pools: []string{"a.b/c"}, States: map[string]PoolState{"a.b/c": {Serving, testStart, ""}}}
	driver := func(state State, detail string) Account {
		return Account{Pools: []string{"rankwright.dev"}, States: map[string]PoolState{"rankwright.dev": {state, testStart.Add(-patience), detail}}}
	}
	tests := []struct {
		name    string
		joined  Account
		status  metav1.ConditionStatus
		message string
	}{
		{"none", Join(), metav1.ConditionTrue, "no device is to be served"},
		{"both served", Join(plugin, driver(Serving, "")), metav1.ConditionTrue, "the kubelet takes a.b/c, rankwright.dev"},
		{
			"slices that cannot be written", Join(plugin, driver(Unpublished, "forbidden")), metav1.ConditionFalse,
			"not served to the kubelet: rankwright.dev: the API server does not have its ResourceSlices (forbidden)",
		},
		{
			"a device that another driver has", Join(plugin, driver(Serving, ""), Account{Withheld: []Withheld{{"d", "another server has it"}}}),
			metav1.ConditionFalse, "1 device withheld: another server has it",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.joined.Condition(testStart, nil)
			if got.Status != tc.status || got.Message != tc.message {
				t.Errorf("%s %q, want %s %q", got.Status, got.Message, tc.status, tc.message)
			}
			err := tc.joined.Ready()
			late := tc.status == metav1.ConditionFalse && len(tc.joined.Withheld) == 0
			if (err != nil) != late || late && err.Error() != tc.message {
				t.Errorf("ready: %v", err)
			}
		})
	}
}
