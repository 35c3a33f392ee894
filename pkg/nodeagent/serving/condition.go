package serving

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Reasons of the condition Served.
const (
	reasonServed       = "AllPoolsServed"
	reasonNothing      = "NoDevices"
	reasonWithheld     = "DevicesWithheld"
	reasonNotServed    = "PoolsNotServed"
	reasonNotServedYet = "Registering"
)

// Patience is how long a pool may be without its kubelet before the condition says so: a kubelet that restarts is no news.
const Patience = 15 * time.Second

// poolState is how a pool is with the kubelet.
type poolState struct {
	state  State
	since  time.Time
	detail string
}

// Condition says whether the kubelet takes every device that is to be served. before is the condition that is published;
// a pool that was lost less than Patience ago leaves it as it is.
func (p *Plugin) Condition(before *metav1.Condition) metav1.Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := map[string]poolState{}
	for resource, e := range p.endpoints {
		state, since, detail := e.status()
		states[resource] = poolState{state, since, detail}
	}
	return condition(p.pools, p.withheld, states, p.clock.Now(), before)
}

func condition(pools []Pool, withheld []Withheld, states map[string]poolState, now time.Time, before *metav1.Condition) metav1.Condition {
	var lost, late []string
	for _, resource := range slices.Sorted(maps.Keys(states)) {
		s := states[resource]
		text := resource + ": " + explain(s.state, s.detail)
		switch {
		case s.state == Serving:
		case now.Sub(s.since) >= Patience:
			lost = append(lost, text)
		default:
			late = append(late, text)
		}
	}
	c := metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue}
	switch {
	case len(lost) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, reasonNotServed
		c.Message = "not served to the kubelet: " + strings.Join(lost, "; ")
	case len(late) > 0 && before != nil && before.Status != metav1.ConditionFalse:
		return *before
	case len(late) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonNotServedYet, "registering with the kubelet: "+strings.Join(late, "; ")
	case len(withheld) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, reasonWithheld
		c.Message = fmt.Sprintf("%s withheld: %s", v1alpha1.Counted(len(withheld), "device"), reasons(withheld))
	case len(pools) == 0:
		c.Reason, c.Message = reasonNothing, "no device is to be served"
	default:
		c.Reason, c.Message = reasonServed, "the kubelet takes "+served(pools)
	}
	return c
}

// explain says for people how a pool is.
func explain(state State, detail string) string {
	text := map[State]string{
		KubeletAway: "the kubelet is away", Registering: "not registered yet", Refused: "the kubelet did not take it",
	}[state]
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

// served lists the resources. It has no counts, which change with each device's health.
func served(pools []Pool) string {
	names := make([]string, 0, len(pools))
	for _, pool := range pools {
		names = append(names, pool.Resource)
	}
	return strings.Join(names, ", ")
}

// reasons lists each reason once, in order.
func reasons(withheld []Withheld) string {
	var texts []string
	for _, w := range withheld {
		if !slices.Contains(texts, w.Reason) {
			texts = append(texts, w.Reason)
		}
	}
	return strings.Join(texts, "; ")
}
