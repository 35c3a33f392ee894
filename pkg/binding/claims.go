package binding

import (
	"fmt"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
)

// Claimable is what a ResourceClaim selects a device of a node by.
type Claimable struct {
	// Driver serves the device.
	Driver string
	// Attribute has a value that no other device of the driver on the node has.
	Attribute v1alpha1.ClaimAttribute
}

// Claims returns the ResourceClaims of a mesh's places, in order of index. devices is the number of devices of a pod, 0 for all that a
// copy has on a node. claimable says how to select a device; the error is a Refusal that names a device for which it cannot.
func Claims(mesh *v1alpha1.DeviceMesh, asked *v1alpha1.Launch, claimable func(node string, device v1alpha1.DeviceID) (Claimable, bool)) ([]resourcev1.ResourceClaim, error) {
	places, err := placesOf(&mesh.Spec, asked)
	if err != nil {
		return nil, err
	}
	claims := make([]resourcev1.ResourceClaim, len(places))
	for i := range places {
		claim, err := Claim(mesh, &places[i], claimable)
		if err != nil {
			return nil, err
		}
		claims[i] = *claim
	}
	return claims, nil
}

// Claim returns the ResourceClaim of a place: a request for each rank, named after it, that selects the rank's device and tolerates
// the taint that keeps it for this rank. It does not select the node, since the pod is bound to one. The error is that of Claims.
func Claim(mesh *v1alpha1.DeviceMesh, place *launch.Pod, claimable func(node string, device v1alpha1.DeviceID) (Claimable, bool)) (*resourcev1.ResourceClaim, error) {
	requests, err := requestsOf(&mesh.Spec, place, claimable)
	if err != nil {
		return nil, err
	}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: ClaimName(mesh.Spec.Placement, place), Namespace: mesh.Namespace, Labels: map[string]string{v1alpha1.LabelPlacement: mesh.Spec.Placement.Name},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}},
	}, nil
}

// SameClaim says whether a claim that was read is as it was made. API servers before Kubernetes 1.36 drop tolerations.
func SameClaim(found, made *resourcev1.ResourceClaimSpec) bool {
	if len(found.Devices.Requests) != len(made.Devices.Requests) {
		return false
	}
	made = made.DeepCopy()
	for i := range made.Devices.Requests {
		if exactly := found.Devices.Requests[i].Exactly; exactly != nil && len(exactly.Tolerations) == 0 {
			made.Devices.Requests[i].Exactly.Tolerations = nil
		}
	}
	return equality.Semantic.DeepEqual(found, made)
}

func requestsOf(mesh *v1alpha1.DeviceMeshSpec, place *launch.Pod, find func(string, v1alpha1.DeviceID) (Claimable, bool)) ([]resourcev1.DeviceRequest, error) {
	if err := claimable(place); err != nil {
		return nil, err
	}
	requests := make([]resourcev1.DeviceRequest, len(place.Devices))
	for i, device := range place.Devices {
		found, is := find(place.Node, device)
		if !is {
			return nil, refuse(ReasonDeviceUnclaimed, "no DRA driver serves device %s of node %s (status.devices[].claimAttribute of its inventory is not there): have one serve it, or set spec.enforcement to Slot or Advisory",
				device, place.Node)
		}
		requests[i] = resourcev1.DeviceRequest{
			Name: "rank-" + strconv.Itoa(place.Ranks[i]),
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: v1alpha1.DRADeviceClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				Selectors:   []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: found.expression()}}},
				Tolerations: []resourcev1.DeviceToleration{{Key: TaintKey(mesh.SlotPrefix, place.Copy, place.Ranks[i]), Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoSchedule}},
			},
		}
	}
	return requests, nil
}

// TaintKey is the key of the taint that keeps a device for a rank of a copy.
func TaintKey(prefix string, replica, rank int) string {
	return fmt.Sprintf("%s%d-%d", prefix, replica, rank)
}

// expression is true for the device alone. An attribute that a device does not have would be an error, which keeps the pod
// from being scheduled, so that it is asked for first.
func (c Claimable) expression() string {
	domain, name, _ := strings.Cut(c.Attribute.Name, "/")
	attribute := fmt.Sprintf("device.attributes[%s].%s", strconv.QuoteToASCII(domain), name)
	var value string
	switch a := &c.Attribute; {
	case a.String != nil:
		value = strconv.QuoteToASCII(*a.String)
	case a.Int != nil:
		value = strconv.FormatInt(*a.Int, 10)
	}
	return fmt.Sprintf("device.driver == %s && has(%s) && %s == %s", strconv.QuoteToASCII(c.Driver), attribute, attribute, value)
}
