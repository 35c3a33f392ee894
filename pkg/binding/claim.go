package binding

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/rankwright/rankwright/pkg/launch"
)

// podClaim is what a pod calls the claim of its place.
const podClaim = "rankwright"

// ClaimName is the name of the ResourceClaim of a place. Plans do not change, so that a name stands for the same devices for
// as long as there is a plan of it.
func ClaimName(plan string, index int) string { return plan + "-" + strconv.Itoa(index) }

// claimable refuses a place of more devices than one claim can have.
func claimable(place *launch.Pod) error {
	if most := resourcev1.DeviceRequestsMaxSize; len(place.Devices) > most {
		return refuse(ReasonDevicesDiffer, "its place has %d devices, and a ResourceClaim can have %d: set %s at the placement to fewer",
			len(place.Devices), most, launch.AnnotationPodDevices)
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
