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
	var lost, late []string
	for _, resource := range slices.Sorted(maps.Keys(a.States)) {
		s := a.States[resource]
		text := resource + ": " + explain(s.State, s.Detail)
		switch {
		case s.State == Serving:
		case now.Sub(s.Since) >= patience:
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
	case len(a.Withheld) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, reasonWithheld
		c.Message = fmt.Sprintf("%s withheld: %s", words.Counted(len(a.Withheld), "device"), reasons(a.Withheld))
	case len(a.Pools) == 0:
		c.Reason, c.Message = reasonNothing, "no device is to be served"
	default:
		c.Reason, c.Message = reasonServed, "the kubelet takes "+strings.Join(a.Pools, ", ") // no counts, which change with each device's health
	}
	return c
}

// Ready says nothing where every pool is served, and else which is not, and why.
func (a Account) Ready() error {
	var late []string
	for _, resource := range slices.Sorted(maps.Keys(a.States)) {
		if s := a.States[resource]; s.State != Serving {
			late = append(late, resource+": "+explain(s.State, s.Detail))
		}
	}
	if len(late) == 0 {
		return nil
	}
	return fmt.Errorf("not served to the kubelet: %s", strings.Join(late, "; "))
}

// explain says for people how a pool is.
func explain(state State, detail string) string {
	text := map[State]string{
		KubeletAway: "the kubelet is away", Registering: "not registered yet", Refused: "the kubelet did not take it",
		Unpublished: "the API server does not have its ResourceSlices",
	}[state]
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
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
