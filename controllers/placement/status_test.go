package placement

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func TestStatusSaysWhereThePlacementStands(t *testing.T) {
	inForce := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}}
	inForce.Spec.Strategy.Summary = "TP2"
	inForce.Spec.Totals = v1alpha1.PlanTotals{Devices: 2, Nodes: 1, Memory: "1 GiB"}
	mesh := &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}
	lost := []v1alpha1.LostRank{{Node: "n", Device: "d", Reason: "DeviceGone"}}
	leaving := []v1alpha1.Loss{{Reason: v1alpha1.LossNodeDraining, Node: "n"}}
	full := &plan.Unplaceable{Reason: "TooFewDevices", Message: "2 devices are missing.", Shortfall: v1alpha1.Shortfall{FreeDevices: 1}}
	for name, c := range map[string]struct {
		plan    *v1alpha1.ShardingPlan
		mesh    *v1alpha1.DeviceMesh
		lost    []v1alpha1.LostRank
		leaving []v1alpha1.Loss
		failure v1alpha1.FailureAction
		say     func(*report)
		status  metav1.ConditionStatus
		reason  string
		text    string
	}{
		"nothing yet":             {status: metav1.ConditionFalse, reason: "Pending"},
		"placed":                  {plan: inForce, mesh: mesh, status: metav1.ConditionTrue, reason: "Placed", text: "llm-1 has 2 devices of 1 node: TP2, 1 GiB."},
		"reserved and not meshed": {plan: inForce, say: func(r *report) { r.unmeshed("MeshFailed", "no") }, status: metav1.ConditionTrue, reason: "MeshFailed"},
		"scaled to zero":          {say: func(r *report) { r.refuse("ScaledToZero", "0") }, status: metav1.ConditionFalse, reason: "ScaledToZero"},
		"unplaceable":             {say: func(r *report) { r.unplaceable(full, 0, nil) }, status: metav1.ConditionFalse, reason: "TooFewDevices"},
		"unplaceable with a plan": {plan: inForce, mesh: mesh, say: func(r *report) { r.unplaceable(full, 0, nil) }, status: metav1.ConditionTrue, reason: "TooFewDevices", text: "2 devices are missing. Plan llm-1 stays in force."},
		"unplaceable and urgent":  {say: func(r *report) { r.unplaceable(full, 9, nil) }, status: metav1.ConditionFalse, reason: "TooFewDevices", text: "does not preempt"},
		"invalid":                 {say: func(r *report) { r.refuse("ModelNotFound", "what") }, status: metav1.ConditionFalse, reason: "ModelNotFound", text: "what."},
		"invalid with a plan":     {plan: inForce, mesh: mesh, say: func(r *report) { r.refuse("ModelNotFound", "what.") }, status: metav1.ConditionTrue, reason: "ModelNotFound", text: "what. Plan llm-1 stays in force."},
		"lost and held":           {plan: inForce, mesh: mesh, lost: lost, failure: v1alpha1.FailureHold, status: metav1.ConditionTrue, reason: "DevicesLost", text: "spec.failurePolicy.action is Hold"},
		// The plan was made for an older spec. In the pass that finds it to answer the newer one, the status does not say so yet.
		"leaving, and what is needed":     {plan: inForce, mesh: mesh, leaving: leaving, status: metav1.ConditionTrue, reason: "Draining", text: "to leave node n (NodeDraining)"},
		"leaving, and not what is needed": {plan: inForce, mesh: mesh, leaving: leaving, say: func(r *report) { r.unplaceable(full, 0, nil) }, status: metav1.ConditionTrue, reason: "TooFewDevices"},
		"lost and not replaceable":        {plan: inForce, mesh: mesh, lost: lost, say: func(r *report) { r.unplaceable(full, 0, nil) }, status: metav1.ConditionTrue, reason: "DevicesLost", text: "2 devices are missing."},
	} {
		t.Run(name, func(t *testing.T) {
			placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", Generation: 3}}
			placement.Spec.FailurePolicy.Action = c.failure
			p := &pass{placement: placement, plan: c.plan, mesh: c.mesh, lost: c.lost, state: state{losses: c.leaving}}
			if c.say != nil {
				c.say(&p.report)
			}
			first := statusOf(p, time.Unix(100, 0))
			is := first.Conditions[0]
			if (len(first.Conditions) == 1) != (c.plan == nil) || is.Type != v1alpha1.ConditionPlaced || is.Status != c.status || is.Reason != c.reason || !strings.Contains(is.Message, c.text) {
				t.Errorf("conditions %+v", first.Conditions)
			}
			if is.ObservedGeneration != 3 || is.Message == "" {
				t.Errorf("condition %+v", is)
			}
			placement.Status = first
			if diff := cmp.Diff(first, statusOf(p, time.Unix(200, 0))); diff != "" {
				t.Errorf("a later pass with the same outcome changes the status (-first +second):\n%s", diff)
			}
		})
	}
}

// What another controller writes of the status is neither kept nor compared: it is applied by its own field manager.
func TestStatusIsThisControllersPart(t *testing.T) {
	now := metav1.NewTime(time.Unix(100, 0))
	said := v1alpha1.ModelPlacementStatus{
		Plan: "llm-1", Replicas: 2, ReadyReplicas: 1, Summary: v1alpha1.PlacementSummary{Pods: "3/4"}, LastProgressTime: &now,
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady}, {Type: v1alpha1.ConditionPlaced}, {Type: v1alpha1.ConditionProgressing}},
	}
	want := v1alpha1.ModelPlacementStatus{Plan: "llm-1", Conditions: []metav1.Condition{{Type: v1alpha1.ConditionPlaced}}}
	if diff := cmp.Diff(want, ownPart(&said)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanAnswersTheSpecUntilItIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		madeFor, said, want int64
		saidOf              string
		refused             bool
	}{
		"made for it":                        {madeFor: 3, want: 3},
		"found to be what is needed":         {madeFor: 1, want: 3},
		"a newer spec is refused":            {madeFor: 1, refused: true, want: 1},
		"it was found to answer a later one": {madeFor: 1, said: 2, saidOf: "llm-1", refused: true, want: 2},
		"another plan answered a later one":  {madeFor: 1, said: 2, saidOf: "llm-0", refused: true, want: 1},
	} {
		placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", Generation: 3}}
		placement.Status.Plan, placement.Status.PlanGeneration = c.saidOf, c.said
		p := &pass{placement: placement, plan: &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}}}
		p.plan.Spec.Placement.Generation = c.madeFor
		if c.refused {
			p.report.refuse("TooFewDevices", "no")
		}
		if got := statusOf(p, time.Unix(100, 0)).PlanGeneration; got != c.want {
			t.Errorf("%s: the plan answers generation %d, want %d", name, got, c.want)
		}
	}
}

func TestStatusCountsCopiesOfAllShapes(t *testing.T) {
	p := &pass{placement: &v1alpha1.ModelPlacement{}, plan: &v1alpha1.ShardingPlan{}, mesh: &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}}
	p.plan.Spec.Strategy = v1alpha1.Strategy{Tensor: 2, Replicas: 2, Summary: "TP2 x2 + TP4"}
	p.plan.Spec.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 2, Strategy: v1alpha1.Strategy{Tensor: 4, Replicas: 1}}}
	got := statusOf(p, time.Unix(100, 0))
	if got.PlannedReplicas != 3 || got.Strategy != "TP2 x2 + TP4" || got.Mesh != "llm" {
		t.Errorf("%d copies of %s with mesh %q, want 3 of TP2 x2 + TP4", got.PlannedReplicas, got.Strategy, got.Mesh)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	c := condition("Placed", metav1.ConditionFalse, "Reason", strings.Repeat("ü", maxMessage))
	if len(c.Message) > maxMessage || !strings.HasSuffix(c.Message, "…") || strings.ContainsRune(c.Message, '\ufffd') {
		t.Errorf("%d bytes, ending in %q", len(c.Message), c.Message[len(c.Message)-6:])
	}
}

// All suggestions of a planner are in the status, as far as the API takes them, and the best one is in the message of the
// condition.
func TestStatusHasTheSuggestions(t *testing.T) {
	why := &plan.Unplaceable{Reason: shape.ReasonTooLarge, Message: "It does not fit. It would fit with maxSequences 2 instead of 4."}
	for range maxSuggestions + 4 {
		why.Shortfall.Suggestions = append(why.Shortfall.Suggestions, v1alpha1.Suggestion{Kind: remedy.KindSequences, Change: strings.Repeat("ü", maxChange)})
	}
	p := &pass{placement: &v1alpha1.ModelPlacement{}}
	p.report.unplaceable(why, 0, nil)
	got := statusOf(p, time.Unix(100, 0))
	if s := got.Shortfall; len(s.Suggestions) != maxSuggestions {
		t.Fatalf("got %+v", s)
	}
	for _, s := range got.Shortfall.Suggestions {
		if len(s.Change) > maxChange || s.Kind != remedy.KindSequences || !strings.HasSuffix(s.Change, "…") {
			t.Errorf("got %d bytes of %s", len(s.Change), s.Kind)
		}
	}
	if c := got.Conditions[0]; c.Type != v1alpha1.ConditionPlaced || !strings.HasSuffix(c.Message, " It would fit with maxSequences 2 instead of 4.") {
		t.Errorf("got %+v", c)
	}
	if len(why.Shortfall.Suggestions) != maxSuggestions+4 {
		t.Error("the planner's answer, which is remembered, was changed")
	}
}

// A refusal whose advice is looked for again says what was found before, also where that was nothing: its status is not written for the search.
func TestAdviceStandsWhileItIsLookedForAgain(t *testing.T) {
	unadvised := refusal(t)
	p := &pass{placement: &v1alpha1.ModelPlacement{}}
	say := func(why *plan.Unplaceable) string {
		p.report = report{}
		p.report.unplaceable(why, 0, adviceOf(p.placement))
		p.placement.Status = statusOf(p, time.Unix(100, 0))
		return p.placement.Status.Conditions[0].Message
	}
	if said := say(unadvised); !strings.Contains(said, searching) {
		t.Errorf("while it is looked for the first time: %s", said)
	}
	if said := say(unadvised); !strings.Contains(said, searching) {
		t.Errorf("and before it was found: %s", said)
	}
	nothing := &plan.Unplaceable{Reason: unadvised.Reason, Message: unadvised.Message, Shortfall: unadvised.Shortfall}
	found := say(nothing)
	if strings.Contains(found, searching) {
		t.Errorf("when nothing was found: %s", found)
	}
	if said := say(unadvised); said != found {
		t.Errorf("while it is looked for again: %s, want %s", said, found)
	}
	p.placement.Generation++
	if said := say(unadvised); !strings.Contains(said, searching) {
		t.Errorf("with another spec: %s", said)
	}
}

// TestFreeMemoryIsToldAsItIsRead: a megabyte more or less is not told, and a gibibyte or a device is.
func TestFreeMemoryIsToldAsItIsRead(t *testing.T) {
	p := &pass{placement: &v1alpha1.ModelPlacement{}}
	say := func(shortfall v1alpha1.Shortfall) v1alpha1.Shortfall {
		p.report = report{shortfall: &shortfall}
		p.placement.Status = statusOf(p, time.Unix(100, 0))
		return *p.placement.Status.Shortfall
	}
	first := say(v1alpha1.Shortfall{NeededMiB: 200_000, FreeMiB: 163_840, FreeDevices: 2, LargestDeviceMiB: 81_920})
	for name, c := range map[string]struct {
		change func(*v1alpha1.Shortfall)
		told   bool
	}{
		"a megabyte of all":        {func(s *v1alpha1.Shortfall) { s.FreeMiB-- }, false},
		"a megabyte of one device": {func(s *v1alpha1.Shortfall) { s.LargestDeviceMiB-- }, false},
		"a gibibyte":               {func(s *v1alpha1.Shortfall) { s.FreeMiB -= 1024 }, true},
		"a device":                 {func(s *v1alpha1.Shortfall) { s.FreeDevices-- }, true},
		"what is needed":           {func(s *v1alpha1.Shortfall) { s.NeededMiB++ }, true},
		"advice":                   {func(s *v1alpha1.Shortfall) { s.Suggestions = []v1alpha1.Suggestion{{Kind: "Copies"}} }, true},
	} {
		p.placement.Status.Shortfall = &first
		next := first
		c.change(&next)
		if told := !cmp.Equal(first, say(next)); told != c.told {
			t.Errorf("%s: told %v, want %v", name, told, c.told)
		}
	}
}

// refusal is one of the planner's, without advice.
func refusal(t *testing.T) *plan.Unplaceable {
	t.Helper()
	placement := &v1alpha1.ModelPlacement{}
	placement.Spec.Workload.Inference = &v1alpha1.InferenceWorkload{MaxModelLen: 1 << 20, MaxSequences: 4096}
	_, err := plan.Within(t.Context(), fleet.NewCluster(plantest.HalfOccupied(4)), shape.Request{Placement: placement, Model: plantest.Llama(t, 405)})
	var no *plan.Unplaceable
	if !errors.As(err, &no) || !no.Unadvised() {
		t.Fatalf("a refusal without advice: %v", err)
	}
	return no
}
