package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/pkg/shape"
)

func TestStatusSaysWhereThePlacementStands(t *testing.T) {
	inForce := &v1alpha1.ShardingPlan{ObjectMeta: metav1.ObjectMeta{Name: "llm-1"}}
	inForce.Spec.Totals = v1alpha1.PlanTotals{Devices: 2, Nodes: 1, Memory: "1 GiB"}
	mesh := &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}
	lost := []v1alpha1.LostRank{{Node: "n", Device: "d", Reason: "DeviceGone"}}
	full := &plan.Unplaceable{Reason: "TooFewDevices", Message: "2 devices are missing.", Shortfall: v1alpha1.Shortfall{FreeDevices: 1}}
	for name, c := range map[string]struct {
		plan    *v1alpha1.ShardingPlan
		mesh    *v1alpha1.DeviceMesh
		lost    []v1alpha1.LostRank
		failure v1alpha1.FailurePolicy
		say     func(*report)
		phase   v1alpha1.PlacementPhase
		ready   string
		text    string
	}{
		"nothing yet":              {phase: v1alpha1.PhasePending, ready: "Pending"},
		"placed":                   {plan: inForce, mesh: mesh, phase: v1alpha1.PhaseReady, ready: "Placed"},
		"reserved and not meshed":  {plan: inForce, say: func(r *report) { r.unmeshed("MeshFailed", "no") }, phase: v1alpha1.PhasePlanned, ready: "MeshFailed"},
		"scaled to zero":           {say: func(r *report) { r.refuse("ScaledToZero", "0") }, phase: v1alpha1.PhasePending, ready: "ScaledToZero"},
		"unplaceable":              {say: func(r *report) { r.unplaceable(full, 0) }, phase: v1alpha1.PhaseUnplaceable, ready: "TooFewDevices"},
		"unplaceable with a plan":  {plan: inForce, mesh: mesh, say: func(r *report) { r.unplaceable(full, 0) }, phase: v1alpha1.PhaseUnplaceable, ready: "TooFewDevices", text: "Plan llm-1 stays in force."},
		"unplaceable and urgent":   {say: func(r *report) { r.unplaceable(full, 9) }, phase: v1alpha1.PhaseUnplaceable, ready: "TooFewDevices", text: "does not preempt"},
		"invalid":                  {say: func(r *report) { r.invalid("ModelNotFound", "what?") }, phase: v1alpha1.PhaseInvalid, ready: "ModelNotFound"},
		"lost and held":            {plan: inForce, mesh: mesh, lost: lost, failure: v1alpha1.FailureHold, phase: v1alpha1.PhaseDegraded, ready: "DevicesLost", text: "spec.onFailure is Hold"},
		"lost and not replaceable": {plan: inForce, mesh: mesh, lost: lost, say: func(r *report) { r.unplaceable(full, 0) }, phase: v1alpha1.PhaseDegraded, ready: "DevicesLost", text: "2 devices are missing."},
	} {
		t.Run(name, func(t *testing.T) {
			placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: "llm", Generation: 3}}
			placement.Spec.OnFailure = c.failure
			p := &pass{placement: placement, plan: c.plan, mesh: c.mesh, lost: c.lost}
			if c.say != nil {
				c.say(&p.report)
			}
			first := statusOf(p, time.Unix(100, 0))
			r := first.Conditions[3]
			if first.Phase != c.phase || r.Type != v1alpha1.ConditionReady || r.Reason != c.ready || !strings.Contains(r.Message, c.text) {
				t.Errorf("phase %s, condition %+v", first.Phase, r)
			}
			for _, condition := range first.Conditions {
				if condition.ObservedGeneration != 3 || condition.Message == "" {
					t.Errorf("condition %+v", condition)
				}
			}
			placement.Status = first
			if diff := cmp.Diff(first, statusOf(p, time.Unix(200, 0))); diff != "" {
				t.Errorf("a later pass with the same outcome changes the status (-first +second):\n%s", diff)
			}
		})
	}
}

func TestStatusCountsCopiesOfAllShapes(t *testing.T) {
	p := &pass{placement: &v1alpha1.ModelPlacement{}, plan: &v1alpha1.ShardingPlan{}, mesh: &v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Name: "llm"}}}
	p.plan.Spec.Strategy = v1alpha1.Strategy{Tensor: 2, Replicas: 2, Summary: "TP2 x2 + TP4"}
	p.plan.Spec.OtherShapes = []v1alpha1.PlanShape{{FirstReplica: 2, Strategy: v1alpha1.Strategy{Tensor: 4, Replicas: 1}}}
	p.mesh.Spec = v1alpha1.DeviceMeshSpec{
		WorldSize: 2, Replicas: 3, OtherShapes: []v1alpha1.MeshShape{{FirstReplica: 2, Replicas: 1, WorldSize: 4}},
	}
	got := statusOf(p, time.Unix(100, 0))
	if got.Replicas != 3 || got.Strategy != "TP2 x2 + TP4" {
		t.Errorf("%d copies of %s, want 3 of TP2 x2 + TP4", got.Replicas, got.Strategy)
	}
	if text := got.Conditions[2].Message; text != "Mesh llm has 2 copies of 2 ranks and 1 copy of 4 ranks." {
		t.Error(text)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	c := condition("Planned", metav1.ConditionFalse, "Reason", strings.Repeat("ü", maxMessage))
	if len(c.Message) > maxMessage || !strings.HasSuffix(c.Message, "…") || strings.ContainsRune(c.Message, '\ufffd') {
		t.Errorf("%d bytes, ending in %q", len(c.Message), c.Message[len(c.Message)-6:])
	}
}

// All suggestions of a planner are in the status, as far as the API takes them, and the best one is in the message of the
// condition.
func TestStatusHasTheSuggestions(t *testing.T) {
	why := &plan.Unplaceable{Reason: shape.ReasonTooLarge, Message: "It does not fit. It would fit with maxSequences 2 instead of 4."}
	why.Shortfall.Suggestion = "maxSequences 2 instead of 4"
	for range maxSuggestions + 4 {
		why.Shortfall.Suggestions = append(why.Shortfall.Suggestions, v1alpha1.Suggestion{Kind: remedy.KindSequences, Change: strings.Repeat("ü", maxChange)})
	}
	p := &pass{placement: &v1alpha1.ModelPlacement{}}
	p.report.unplaceable(why, 0)
	got := statusOf(p, time.Unix(100, 0))
	if s := got.Shortfall; len(s.Suggestions) != maxSuggestions || s.Suggestion != why.Shortfall.Suggestion {
		t.Fatalf("got %+v", s)
	}
	for _, s := range got.Shortfall.Suggestions {
		if len(s.Change) > maxChange || s.Kind != remedy.KindSequences || !strings.HasSuffix(s.Change, "…") {
			t.Errorf("got %d bytes of %s", len(s.Change), s.Kind)
		}
	}
	if c := got.Conditions[0]; c.Type != v1alpha1.ConditionPlanned || !strings.HasSuffix(c.Message, why.Shortfall.Suggestion+".") {
		t.Errorf("got %+v", c)
	}
	if len(why.Shortfall.Suggestions) != maxSuggestions+4 {
		t.Error("the planner's answer, which is remembered, was changed")
	}
}
