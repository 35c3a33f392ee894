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
		{"a restart of the kubelet is no news", pools, nil, since(KubeletAway, Patience-1), published, metav1.ConditionTrue, "Before", ""},
		{"the kubelet is away", pools, nil, since(KubeletAway, Patience), published, metav1.ConditionFalse, "PoolsNotServed", "a.b/c: the kubelet is away (why)"},
		{"refused", pools, nil, since(Refused, Patience), published, metav1.ConditionFalse, "PoolsNotServed", "the kubelet did not take it (why)"},
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
