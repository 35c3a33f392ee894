package page

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestDetail(t *testing.T) {
	s := small()
	mesh := v1alpha1.DeviceMesh{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama"}}
	mesh.Spec = v1alpha1.DeviceMeshSpec{
		Plan: "llama-1", Order: "tp-pp", Dimensions: []v1alpha1.MeshDimension{{Name: "tp", Size: 1}, {Name: "pp", Size: 1}}, WorldSize: 1, Replicas: 1, Engine: "vLLM",
		Members: []v1alpha1.MeshMember{{Node: "h100-0", Devices: []v1alpha1.DeviceID{"nvidia-0000:03:00.0"}}},
		Groups:  []v1alpha1.ProcessGroups{{Name: "tp", Dimensions: []string{"tp"}, Count: 1, Size: 1}},
	}
	mesh.Status.Verified = []v1alpha1.VerifiedBandwidth{{Group: "tp", MBps: 390_000}}
	mesh.Status.SlowestLinks = []v1alpha1.SlowestLink{{Group: "tp", Kind: "NVLink", MBps: 450_000, Ranks: []int32{0, 1}}}
	mesh.Status.LostRanks = []v1alpha1.LostRank{{Node: "h100-0", Device: "nvidia-0000:03:00.0", Reason: "DeviceUnhealthy"}}
	s.Meshes = []v1alpha1.DeviceMesh{mesh}
	old := s.Plans[0]
	old.Name, old.Status = "llama-0", v1alpha1.ShardingPlanStatus{}
	s.Plans = append(s.Plans, old)

	d, err := DetailOf(s, "team-a", "llama")
	if err != nil {
		t.Fatal(err)
	}
	p := d.Plan
	if p.Name != "llama-1" || !p.Active || len(d.OtherPlans) != 1 || len(p.Seats) != 1 || *p.Seats[0].Rank != 0 || p.Seats[0].Lost != "DeviceUnhealthy" {
		t.Errorf("the plan is %+v, its seats %+v, others %v", p, p.Seats, d.OtherPlans)
	}
	if len(p.Shapes) != 1 || len(p.Shapes[0].Groups) != 1 || len(p.Shapes[0].Groups[0].Ranks) != 1 || p.MeshProblem != "" {
		t.Errorf("the shapes are %+v: %s", p.Shapes, p.MeshProblem)
	}
	if len(p.Links) != 1 || p.Links[0].Verified.MBps != 390_000 || p.Links[0].Slowest.Kind != "NVLink" {
		t.Errorf("the links are %+v", p.Links)
	}
	if _, err := DetailOf(s, "team-b", "llama"); err == nil || !strings.Contains(err.Error(), "no placement team-b/llama") {
		t.Errorf("a placement that is not there: %v", err)
	}
}

func TestRefusal(t *testing.T) {
	p := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "large"}}
	if refusalOf(p) != nil {
		t.Error("a placement that nobody looked at is refused")
	}
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPlaced, Status: metav1.ConditionFalse, Reason: "TooLarge", Message: "It does not fit."}}
	p.Status.Shortfall = &v1alpha1.Shortfall{Suggestions: []v1alpha1.Suggestion{
		{Kind: "Sequences", Change: "maxSequences 2 instead of 4", Edits: []v1alpha1.FieldEdit{
			{Path: "spec.workload.inference.maxSequences", Value: "2"}, {Path: "spec.quantization", Value: `"FP8"`},
		}},
		{Kind: "Devices", Change: "8 more devices"},
		{Kind: "Odd", Change: "an item of a list", Edits: []v1alpha1.FieldEdit{{Path: "spec.devices.products[0]", Value: `"x"`}}},
	}}
	r := refusalOf(p)
	want := `kubectl patch mp large -n team-a --type merge -p '{"spec":{"quantization":"FP8","workload":{"inference":{"maxSequences":2}}}}'`
	if len(r.Remedies) != 3 || r.Remedies[0].Command != want {
		t.Fatalf("the remedies are %+v, want the command %s", r.Remedies, want)
	}
	for _, m := range r.Remedies[1:] {
		if m.Command != "" {
			t.Errorf("%s has the command %s", m.Kind, m.Command)
		}
	}
}
