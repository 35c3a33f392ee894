package serving

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Reasons of the condition Served.
const (
	reasonServed       = "AllPoolsServed"
	reasonNothing      = "NoDevices"
	reasonWithheld     = "DevicesWithheld"
	reasonNotServed    = "PoolsNotServed"
	reasonNotServedYet = "Registering"
)

// patience is how long a pool may be without its kubelet before the condition says so: a kubelet that restarts is no news.
const patience = 15 * time.Second

// PoolState is how a pool is with the kubelet.
type PoolState struct {
	State  State
	Since  time.Time
	Detail string
}

// Account is what a server of devices says of itself.
type Account struct {
	// Pools are the resources, and the DRA driver, that have devices, in order.
	Pools []string
	// Withheld are the devices that are to be served and cannot be.
	Withheld []Withheld
	// States are the states of Pools, by resource or driver, and of no others.
	States map[string]PoolState
}

// Account says how far the pools are with the kubelet.
func (p *Plugin) Account() Account {
	p.mu.Lock()
	defer p.mu.Unlock()
	account := Account{Withheld: slices.Clone(p.withheld), States: map[string]PoolState{}}
	for _, pool := range p.pools {
		account.Pools = append(account.Pools, pool.Resource)
	}
	for resource, e := range p.endpoints {
		account.States[resource], _ = e.state.Get()
	}
	return account
}

// Join returns the accounts of several servers as one.
func Join(accounts ...Account) Account {
	joined := Account{States: map[string]PoolState{}}
	for _, a := range accounts {
		joined.Pools = append(joined.Pools, a.Pools...)
		joined.Withheld = append(joined.Withheld, a.Withheld...)
		maps.Copy(joined.States, a.States)
	}
	slices.Sort(joined.Pools)
	return joined
}

// Condition says whether the kubelet takes every device that is to be served. before is the condition that is published;
// a pool that was lost less than patience ago leaves it as it is.
func (a Account) Condition(now time.Time, before *metav1.Condition) metav1.Condition {
	lost := a.unserved(func(s PoolState) bool { return now.Sub(s.Since) >= patience })
	late := a.unserved(func(s PoolState) bool { return now.Sub(s.Since) < patience })
	answer := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionServed, Status: status, Reason: reason, Message: message}
	}
	switch {
	case lost != "":
		return answer(metav1.ConditionFalse, reasonNotServed, "not served to the kubelet: "+lost)
	case late != "" && before != nil && before.Status != metav1.ConditionFalse:
		return *before
	case late != "":
		return answer(metav1.ConditionUnknown, reasonNotServedYet, "registering with the kubelet: "+late)
	case len(a.Withheld) > 0:
		return answer(metav1.ConditionFalse, reasonWithheld, fmt.Sprintf("%s withheld: %s", words.Counted(len(a.Withheld), "device"), reasons(a.Withheld)))
	case len(a.Pools) == 0:
		return answer(metav1.ConditionTrue, reasonNothing, "no device is to be served")
	default: // no counts, which change with each device's health
		return answer(metav1.ConditionTrue, reasonServed, "the kubelet takes "+strings.Join(a.Pools, ", "))
	}
}

// Ready says nothing where every pool is served, and else which is not, and why.
func (a Account) Ready() error {
	if late := a.unserved(func(PoolState) bool { return true }); late != "" {
		return fmt.Errorf("not served to the kubelet: %s", late)
	}
	return nil
}

// stateWords say for people how a pool is that is not served.
var stateWords = map[State]string{
	KubeletAway: "the kubelet is away", Registering: "not registered yet", Refused: "the kubelet did not take it",
	Unpublished: "the API server does not have its ResourceSlices",
}

// unserved says how those pools are that are not served and of such a state; empty where there are none.
func (a Account) unserved(such func(PoolState) bool) string {
	var texts []string
	for _, resource := range slices.Sorted(maps.Keys(a.States)) {
		s := a.States[resource]
		if s.State == Serving || !such(s) {
			continue
		}
		text := resource + ": " + stateWords[s.State]
		if s.Detail != "" {
			text += " (" + s.Detail + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
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
