package binding_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

// claiming makes a pod that has a claim for its place already; a claim without a name is made from a template.
func claiming(pod *corev1.Pod, claim string) *corev1.Pod {
	entry := corev1.PodResourceClaim{Name: "rankwright", ResourceClaimName: &claim}
	if template := "template"; claim == "" {
		entry = corev1.PodResourceClaim{Name: "rankwright", ResourceClaimTemplateName: &template}
	}
	pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	return pod
}

// manyDevices is the offer of a placement of one pod.
func manyDevices(devices int) *binding.Offer {
	offer := offerOf(v1alpha1.EnforcementClaim)
	offer.Mesh.Spec = *meshOf(rows(0, map[string]int{"a": devices}, "a"))
	return offer
}

func TestAdmitGivesTheClaimToOneContainer(t *testing.T) {
	tests := []struct {
		name  string
		asked string // container by the placement
		pod   *corev1.Pod
		users []string
	}{
		{"the first container", "", jobPod(3), []string{"model"}},
		{"kubectl's default", "", annotated(jobPod(3), defaultContainer, "side"), []string{"side"}},
		{"the placement's before kubectl's default", "model", annotated(jobPod(3), defaultContainer, "side"), []string{"model"}},
		{"the placement's", "side", jobPod(3), []string{"side"}},
		{"a claim that is there and that nobody uses", "", claiming(jobPod(3), "llm-487b9104-1-2-dd70ea05"), []string{"model"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := test.pod
			pod.Spec.Containers[0].Name = "model"
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side"})
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "nic"})
			offer := launching(offerOf(v1alpha1.EnforcementClaim), test.asked)
			admitted(t, pod, offer)
			var users, claims []string
			for _, c := range pod.Spec.Containers {
				for _, claim := range c.Resources.Claims {
					users = append(users, c.Name)
					claims = append(claims, claim.Name)
				}
			}
			if diff := cmp.Diff(test.users, users); diff != "" || claims[0] != "rankwright" {
				t.Errorf("claim %v is used by (-want +got):\n%s", claims, diff)
			}
			var names []string
			for _, c := range pod.Spec.ResourceClaims {
				if c.ResourceClaimName != nil {
					names = append(names, c.Name+"="+*c.ResourceClaimName)
				}
			}
			if diff := cmp.Diff([]string{"rankwright=llm-487b9104-1-2-dd70ea05"}, names); diff != "" || len(pod.Spec.ResourceClaims) != 2 {
				t.Errorf("claims of the pod (-want +got):\n%s", diff)
			}
			if _, err := binding.Bind(pod, offer); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBindRefusesAPodWithoutItsClaim(t *testing.T) {
	offer := offerOf(v1alpha1.EnforcementClaim)
	for name, change := range map[string]func(*corev1.Pod){
		"not in the pod":       func(p *corev1.Pod) { p.Spec.ResourceClaims = nil },
		"not in any container": func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Claims = nil },
	} {
		t.Run(name, func(t *testing.T) {
			pod := admitted(t, jobPod(0), offer)
			change(pod)
			if _, err := binding.Bind(pod, offer); reasonOf(t, err) != binding.ReasonClaimDiffers {
				t.Error(err)
			}
		})
	}
}

// claimableBy finds every device, by an attribute that the test makes.
func claimableBy(attribute func(id v1alpha1.DeviceID) v1alpha1.ClaimAttribute) func(string, v1alpha1.DeviceID) (binding.Claimable, bool) {
	return func(_ string, id v1alpha1.DeviceID) (binding.Claimable, bool) {
		return binding.Claimable{Driver: "gpu.example.com", Attribute: attribute(id)}, true
	}
}

func TestClaimsSelectTheDevicesOfEachPlace(t *testing.T) {
	text := func(name string) func(id v1alpha1.DeviceID) v1alpha1.ClaimAttribute {
		return func(id v1alpha1.DeviceID) v1alpha1.ClaimAttribute {
			value := string(id)
			return v1alpha1.ClaimAttribute{Name: name, String: &value}
		}
	}
	seven := int64(7)
	tests := []struct {
		name      string
		devices   int
		attribute func(id v1alpha1.DeviceID) v1alpha1.ClaimAttribute
		index     int
		claim     string
		want      map[string]string
	}{
		{"all of a copy on a node", 0, text("gpu.example.com/uuid"), 3, "llm-487b9104-1-2-dd70ea05", map[string]string{
			"rank-2": `device.driver == "gpu.example.com" && has(device.attributes["gpu.example.com"].uuid) && device.attributes["gpu.example.com"].uuid == "b-1-0"`,
			"rank-3": `device.driver == "gpu.example.com" && has(device.attributes["gpu.example.com"].uuid) && device.attributes["gpu.example.com"].uuid == "b-1-1"`,
		}},
		{"one device, by the standard attribute", 1, text("resource.kubernetes.io/pciBusID"), 3, "llm-487b9104-0-3-a2b1a5e6", map[string]string{
			"rank-3": `device.driver == "gpu.example.com" && has(device.attributes["resource.kubernetes.io"].pciBusID) && device.attributes["resource.kubernetes.io"].pciBusID == "b-0-1"`,
		}},
		{"a number", 1, func(v1alpha1.DeviceID) v1alpha1.ClaimAttribute {
			return v1alpha1.ClaimAttribute{Name: "tpu.google.com/index", Int: &seven}
		}, 0, "llm-487b9104-0-0-c76813bc", map[string]string{
			"rank-0": `device.driver == "gpu.example.com" && has(device.attributes["tpu.google.com"].index) && device.attributes["tpu.google.com"].index == 7`,
		}},
		{"what would end the text", 1, func(v1alpha1.DeviceID) v1alpha1.ClaimAttribute {
			value := `a" || true || "ü`
			return v1alpha1.ClaimAttribute{Name: "gpu.example.com/uuid", String: &value}
		}, 0, "llm-487b9104-0-0-c76813bc", map[string]string{
			"rank-0": `device.driver == "gpu.example.com" && has(device.attributes["gpu.example.com"].uuid) && device.attributes["gpu.example.com"].uuid == "a\" || true || \"\u00fc"`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			claims, err := binding.Claims(offerOf(v1alpha1.EnforcementClaim).Mesh, podsOf(test.devices), claimableBy(test.attribute))
			if err != nil {
				t.Fatal(err)
			}
			claim := claims[test.index]
			got := map[string]string{}
			for _, request := range claim.Spec.Devices.Requests {
				got[request.Name] = request.Exactly.Selectors[0].CEL.Expression
			}
			last := claims[len(claims)-1].Spec.Devices.Requests
			if key := last[len(last)-1].Exactly.Tolerations[0].Key; key != "rankwright.dev/slot-12345678-1-3" {
				t.Errorf("the last rank tolerates %s", key)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if claim.Name != test.claim {
				t.Errorf("claim %s, want %s", claim.Name, test.claim)
			}
		})
	}
}

// podsOf asks for pods of so many devices; 0 asks for nothing.
func podsOf(devices int) *v1alpha1.Launch {
	if devices == 0 {
		return nil
	}
	each := int32(devices)
	return &v1alpha1.Launch{DevicesPerPod: &each}
}

func TestClaimsNameWhatCannotBeClaimed(t *testing.T) {
	offer := offerOf(v1alpha1.EnforcementClaim)
	_, err := binding.Claims(offer.Mesh, nil, func(node string, _ v1alpha1.DeviceID) (binding.Claimable, bool) {
		return binding.Claimable{}, node == "a"
	})
	if reasonOf(t, err) != binding.ReasonDeviceUnclaimed || !strings.Contains(err.Error(), "device b-0-0 of node b") {
		t.Error(err)
	}
	if _, err := binding.Claims(manyDevices(33).Mesh, nil, nil); reasonOf(t, err) != binding.ReasonDevicesDiffer {
		t.Error(err)
	}
}
