package binding

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/launch"
)

// podClaim is what a pod calls the claim of its place.
const podClaim = "rankwright"

// ClaimName is the name of the ResourceClaim of a place, by placement, copy, first rank and what the place has: a copy that keeps its
// place in the next plan keeps its claims. One that moves gets claims of other names, since a kubelet takes a claim that was made anew
// under its name for the old one, as long as it has not cleaned up after that.
func ClaimName(placement v1alpha1.PlacementRef, place *launch.Pod) string {
	const digits = 8
	has := words.Digest(place.Node+" "+DevicesText(place.Devices), digits)
	return fmt.Sprintf("%s-%s-%d-%d-%s", placement.Name, words.Digest(placement.UID, digits), place.Copy, place.Ranks[0], has)
}

// claimable refuses a place of more devices than one claim can have.
func claimable(place *launch.Pod) error {
	if most := resourcev1.DeviceRequestsMaxSize; len(place.Devices) > most {
		return refuse(ReasonDevicesDiffer, "its place has %d devices, and a ResourceClaim can have %d: set spec.launch.devicesPerPod of the placement to fewer",
			len(place.Devices), most)
	}
	return nil
}

// demandClaim adds a claim to a pod, and to what one of its containers uses.
func demandClaim(pod *corev1.Pod, resources *corev1.ResourceRequirements, claim string) {
	entry := corev1.PodResourceClaim{Name: podClaim, ResourceClaimName: &claim}
	pod.Spec.ResourceClaims = put(pod.Spec.ResourceClaims, entry, func(c corev1.PodResourceClaim) bool { return c.Name == podClaim })
	if !usesClaim(pod) {
		resources.Claims = append(resources.Claims, corev1.ResourceClaim{Name: podClaim})
	}
}

// usesClaim says whether any container of a pod has the claim of the pod's place.
func usesClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Resources.Claims, func(used corev1.ResourceClaim) bool { return used.Name == podClaim })
	})
}

// agreeOnClaim checks that a pod has this claim for its place; with lenient it may have none yet. An empty claim is none.
func agreeOnClaim(pod *corev1.Pod, claim string, lenient bool) error {
	has := ""
	for _, c := range pod.Spec.ResourceClaims {
		switch {
		case c.Name != podClaim:
		case c.ResourceClaimName == nil:
			return refuse(ReasonClaimDiffers, "spec.resourceClaims[name=%s] is made from a template: leave it out, since the name is for the claim of the pod's place", podClaim)
		default:
			has = *c.ResourceClaimName
		}
	}
	switch {
	case has == "" && lenient, has == claim && (has == "" || lenient || usesClaim(pod)):
		return nil
	case claim == "":
		return refuse(ReasonClaimDiffers, "spec.resourceClaims[name=%s] is claim %s, and the devices of its place come by resources: leave it out", podClaim, has)
	default:
		return refuse(ReasonClaimDiffers, "spec.resourceClaims[name=%s] is %q, and its place has claim %s: leave it out, and the webhook adds it", podClaim, has, claim)
	}
}
