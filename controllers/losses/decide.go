package losses

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Window is within how much time losses come that have one cause: what a rack or a switch takes with it comes as many losses within seconds, and
// is to cause one plan.
const Window = 5 * time.Second

// Date gives losses their times: a loss that was known before keeps its own. The oldest come first.
func Date(found, before []v1alpha1.Loss, policy *v1alpha1.FailurePolicy, now time.Time) []v1alpha1.Loss {
	type key struct {
		reason       v1alpha1.LossReason
		node, device string
	}
	keyOf := func(l *v1alpha1.Loss) key { return key{l.Reason, l.Node, string(l.Device)} }
	since := make(map[key]metav1.Time, len(before))
	for i := range before {
		since[keyOf(&before[i])] = before[i].Since
	}
	dated := slices.Clone(found)
	for i := range dated {
		l := &dated[i]
		known := false
		if l.Since, known = since[keyOf(l)]; !known {
			l.Since = metav1.NewTime(now).Rfc3339Copy()
		}
		l.Due = metav1.NewTime(l.Since.Add(graceOf(l.Reason, policy)))
	}
	slices.SortStableFunc(dated, func(a, b v1alpha1.Loss) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device, b.Device))
	})
	return dated
}

// Census counts nodes with accelerators.
type Census struct {
	Nodes int
	// Silent are those of them whose kubelets are not ready.
	Silent int
}

// Above a fifth of the nodes at once, and at least doubted of them, more likely the network or the control plane failed than the nodes. A
// cluster of three nodes may lose one.
const (
	share   = 5
	doubted = 2
)

// TooMany says whether so many nodes are silent that silence is no evidence.
func (c Census) TooMany() bool { return c.Silent >= doubted && c.Silent*share > c.Nodes }

// AskCensus says whether the verdict on losses depends on a census: some node has been silent for longer than is borne.
func AskCensus(dated []v1alpha1.Loss, now time.Time) bool {
	return slices.ContainsFunc(dated, func(l v1alpha1.Loss) bool { return kindOf(l.Reason).silence && !now.Before(l.Due.Time) })
}

// Reasons why losses are not answered yet.
const (
	ReasonTooManyNodes = "TooManyNodesLost"
	ReasonLimited      = "ReplanLimited"
)

// Verdict is what follows losses.
type Verdict struct {
	// Due are the losses that a new plan answers now.
	Due []v1alpha1.Loss
	// Reason is a word for what keeps losses from being answered whose grace is over; empty where nothing does. Message says what comes
	// next, where something does.
	Reason, Message string
	// Wake is when time alone changes the verdict; zero where it does not.
	Wake time.Time
}

// begins is when the incident begins whose first loss is due at a time: when each loss that is known has been known for Window, so that more would
// have come, and none is due soon after; Window after the first at the latest.
func begins(dated []v1alpha1.Loss, first time.Time) time.Time {
	at, latest := first, first.Add(Window)
	for i := range dated {
		if l := &dated[i]; !l.Due.After(latest) {
			at = slices.MaxFunc([]time.Time{at, l.Due.Time, l.Since.Add(Window)}, time.Time.Compare)
		}
	}
	return earlier(at, latest)
}

// Decide says which losses a new plan answers now. All whose grace is over are one incident.
func Decide(dated []v1alpha1.Loss, memory Memory, census Census, now time.Time) Verdict {
	var v Verdict
	var first, next time.Time
	doubt := false
	for i := range dated {
		due := dated[i].Due.Time
		switch {
		case now.Before(due):
			next = earlier(next, begins(dated, due))
		case kindOf(dated[i].Reason).silence && census.TooMany():
			doubt = true
		default:
			v.Due, first = append(v.Due, dated[i]), earlier(first, due)
		}
	}
	if at := begins(dated, first); len(v.Due) > 0 && now.Before(at) {
		v.Due, next = nil, earlier(next, at)
	}
	if until := memory.Until(); len(v.Due) > 0 && now.Before(until) {
		return Verdict{Reason: ReasonLimited, Wake: until, Message: fmt.Sprintf(
			"Losses caused %d plans in a row: the next one follows at %s.", memory.Count, until.UTC().Format(time.RFC3339))}
	}
	v.Wake = next
	switch {
	case doubt && len(v.Due) == 0:
		v.Reason, v.Message = ReasonTooManyNodes, fmt.Sprintf("%d of %d nodes with accelerators are not ready at once, more than a fifth: "+
			"nothing is moved until fewer are, or until nodes are marked by the taint node.kubernetes.io/out-of-service or deleted.", census.Silent, census.Nodes)
	case len(v.Due) == 0 && !next.IsZero():
		v.Message = fmt.Sprintf("A new plan follows at %s unless they are back.", next.UTC().Format(time.RFC3339))
	}
	return v
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
