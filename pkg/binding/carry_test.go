package binding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// nextOffer is the offer of offerOf under the next plan, with edits.
func nextOffer(edits ...func(*binding.Offer)) *binding.Offer {
	offer := offerOf(v1alpha1.EnforcementAdvisory)
	offer.Plan.Name = "llm-2"
	for _, edit := range edits {
		edit(offer)
	}
	return offer
}

func TestCarryKeepsPodsThatKeepTheirPlace(t *testing.T) {
	two := map[string]int{"a": 2, "b": 2}
	tests := []struct {
		name    string
		offer   *binding.Offer
		carried bool
		reason  string
	}{
		{"the same mesh", nextOffer(), true, ""},
		{"one copy more", nextOffer(func(o *binding.Offer) {
			o.Mesh.Spec = *meshOf(rows(0, two, "a", "b"), rows(1, two, "a", "b"), rows(2, two, "a"))
		}), true, ""},
		{"another pod of the copy moved", nextOffer(func(o *binding.Offer) { o.Mesh.Spec.Members[2].Node = "c" }), true, ""},
		{"another node", nextOffer(func(o *binding.Offer) { o.Mesh.Spec.Members[3].Node = "c" }), false, ""},
		{"another device", nextOffer(func(o *binding.Offer) { o.Mesh.Spec.Members[3].Devices[1] = "b-1-7" }), false, ""},
		{"other ranks of the same devices", nextOffer(func(o *binding.Offer) {
			d := o.Mesh.Spec.Members[3].Devices
			d[0], d[1] = d[1], d[0]
		}), false, ""},
		{"the same ranks of another mesh", nextOffer(func(o *binding.Offer) {
			o.Mesh.Spec.Order = "tp-pp"
			o.Mesh.Spec.OtherShapes[0].Dimensions = []v1alpha1.MeshDimension{{Name: "tp", Size: 2}, {Name: "pp", Size: 2}}
		}), false, ""},
		{"one copy less", nextOffer(func(o *binding.Offer) { o.Mesh.Spec = *meshOf(rows(0, two, "a", "b")) }), false, binding.ReasonIndexOutOfRange},
		{"files that say something else", nextOffer(func(o *binding.Offer) { o.Files = func(int) string { return "other" } }), false, ""},
		{"another resource", nextOffer(func(o *binding.Offer) {
			o.Resource = func(string, v1alpha1.DeviceID) string { return "nvidia.com/gpu" }
		}), false, binding.ReasonDevicesDiffer},
		{"pods of another size", ofSize(nextOffer(), 1), false, binding.ReasonDevicesDiffer},
		{"a placement that was made anew", nextOffer(func(o *binding.Offer) { o.Placement.UID = "new" }), false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			offer := offerOf(v1alpha1.EnforcementAdvisory)
			pod := admitted(t, jobPod(3), offer)
			if _, err := binding.Bind(pod, offer); err != nil {
				t.Fatal(err)
			}
			want := pod.DeepCopy()
			if test.carried {
				want.Labels[v1alpha1.LabelPlan] = "llm-2"
			}
			carried, err := binding.Carry(pod, test.offer)
			if reasonOf(t, err) != test.reason || carried != test.carried {
				t.Errorf("carried: %v, %v; want %v, %q", carried, err, test.carried, test.reason)
			}
			if diff := cmp.Diff(want, pod); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// Every gated pod of an earlier plan may still be bound to the next one.
func TestBindTakesPodsThatWaitedThroughAPlan(t *testing.T) {
	pod := admitted(t, jobPod(3), offerOf(v1alpha1.EnforcementAdvisory))
	moved := nextOffer(func(o *binding.Offer) { o.Mesh.Spec.Members[3].Node = "c" })
	place, err := binding.Bind(pod, moved)
	if err != nil || place.Node != "c" || pod.Labels[v1alpha1.LabelPlan] != "llm-2" || pod.Annotations[binding.AnnotationBoundBy] != "llm-2" {
		t.Errorf("bound to %+v with %v, %v: %v", place, pod.Labels, pod.Annotations, err)
	}
}
