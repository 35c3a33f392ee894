package observed

import (
	"context"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/estimate"
	"github.com/rankwright/rankwright/pkg/site"
)

// fewest is how many requests say something of the median.
const fewest = 20

// The reasons of AsEstimated.
const (
	reasonWithin = "WithinRanges"
	reasonSlower = "Slower"
	reasonFaster = "Faster"
	reasonFew    = "FewRequests"
	reasonNot    = "NotEstimated"
)

// complete fills in what an engine does not say of itself: what the plan has it run, and on what.
func (o *Observer) complete(ctx context.Context, plan *v1alpha1.ShardingPlan, m *v1alpha1.Measurement) error {
	s := &plan.Spec
	planned, err := site.OfPlan(s, "")
	if err != nil {
		return err
	}
	site.Complete(m, &planned)
	inventory := &v1alpha1.AcceleratorInventory{}
	found, err := objects.Read(ctx, o.Client, types.NamespacedName{Name: s.Nodes[0].Node}, inventory)
	if err != nil || !found {
		return err
	}
	if device := inventory.Status.Device(s.Nodes[0].Devices[0]); device != nil {
		m.Device = device.Product
	}
	return nil
}

// judged is what is said of a measurement: the numbers beside what is estimated for the same load, and whether they are within its ranges.
func judged(m *v1alpha1.Measurement, compiled *site.Compiled) (*v1alpha1.ObservedService, metav1.Condition) {
	said := &v1alpha1.ObservedService{
		Time: metav1.NewTime(m.Source.Time.Time).Rfc3339Copy(), Requests: m.Requests, InputTokens: m.InputTokens, OutputTokens: m.OutputTokens, Concurrency: m.Concurrency,
		TokensPerSecond: (m.MilliTokensPerSecond + 500) / 1000, TTFTMillis: (m.TTFTMicros + 500) / 1000, TPOTMicros: m.TPOTMicros,
	}
	condition := metav1.Condition{Type: v1alpha1.ConditionAsEstimated, Status: metav1.ConditionUnknown}
	m.Requests = 0 // there is always another one
	a, err := site.Estimate(m, compiled)
	if err == nil && !a.Fits {
		err = fmt.Errorf("%s", a.Reason)
	}
	if err != nil {
		condition.Reason, condition.Message = reasonNot, fmt.Sprintf("Nothing can be estimated for what the pods do: %v.", err)
		return said, condition
	}
	said.Estimate = &v1alpha1.Estimate{
		TokensPerSecond: expected(*a.OutputTokensPerSecond, a.Ranges.OutputTokensPerSecond, 1), TTFTMillis: expected(*a.TTFTMillis, a.Ranges.TTFTMillis, 1),
		TPOTMicros: expected(*a.TPOTMillis, a.Ranges.TPOTMillis, 1e3), Basis: a.Basis.String(),
	}
	if said.Requests < fewest {
		condition.Reason, condition.Message = reasonFew, fmt.Sprintf("%d requests were answered since it was looked last, and %d are needed to tell.", said.Requests, fewest)
		return said, condition
	}
	condition.Status, condition.Reason, condition.Message = verdict(said)
	return said, condition
}

func expected(value float64, r estimate.Range, units float64) v1alpha1.Expected {
	whole := func(v float64) int64 { return int64(math.Round(v * units)) }
	return v1alpha1.Expected{Value: whole(value), Low: whole(r.Low), High: whole(r.High)}
}

// verdict compares the time per token with its range: it depends on how many requests run and how long they are, which is known, and not on when they
// come, as the time to the first token does.
func verdict(said *v1alpha1.ObservedService) (status metav1.ConditionStatus, reason, message string) {
	expects := said.Estimate.TPOTMicros
	text := fmt.Sprintf("%.3g ms per token with %d requests at a time of %d tokens in and %d out; estimated %.3g ms (%.3g to %.3g)", float64(said.TPOTMicros)/1e3, said.Concurrency,
		said.InputTokens, said.OutputTokens, float64(expects.Value)/1e3, float64(expects.Low)/1e3, float64(expects.High)/1e3)
	switch {
	case said.TPOTMicros > expects.High:
		return metav1.ConditionFalse, reasonSlower, text + ". Look for what slows it, or keep what is true here: kubectl rankwright calibrate."
	case said.TPOTMicros < expects.Low && said.TPOTMicros > 0:
		return metav1.ConditionFalse, reasonFaster, text + ". Keep what is true here: kubectl rankwright calibrate."
	default:
		return metav1.ConditionTrue, reasonWithin, text + "."
	}
}

// ownPart is what this observer wrote of a status.
func ownPart(status *v1alpha1.ModelPlacementStatus) v1alpha1.ModelPlacementStatus {
	own := v1alpha1.ModelPlacementStatus{Observed: status.Observed}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAsEstimated); c != nil {
		own.Conditions = append(own.Conditions, *c)
	}
	return own
}

// tell records that pods became slower or faster than is estimated, or are as estimated again.
func (o *Observer) tell(p *v1alpha1.ModelPlacement, before *v1alpha1.ModelPlacementStatus, now *metav1.Condition) {
	said := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionAsEstimated)
	if now.Status == metav1.ConditionUnknown || said != nil && said.Status == now.Status || said == nil && now.Status == metav1.ConditionTrue {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Reason == reasonSlower {
		kind = corev1.EventTypeWarning
	}
	o.Events.Eventf(p, nil, kind, now.Reason, "ObservePods", "%s", strings.TrimSuffix(now.Message, "."))
}
