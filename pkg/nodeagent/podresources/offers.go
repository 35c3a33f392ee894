package podresources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Offer is how this agent's plugin lists a device that it is to serve.
type Offer string

// The offers. Withheld is listed as unhealthy: the kubelet gives it to nobody, and what pods hold of it stays in its books.
const (
	Offered  Offer = "Offered"
	Withheld Offer = "Withheld"
	Absent   Offer = "Absent"
)

// Offers says how to list devices that this agent is to serve, given who else serves them, who holds them and which are
// listed now. A device of another server, and one that a pod got from another, is not given away a second time; one that
// is listed stays so, as Withheld, while any pod holds a device that this agent serves: an id that the kubelet loses
// during an allocation ends the kubelet (1.36).
func Offers(devices []v1alpha1.DeviceID, owners Owners, allocations []v1alpha1.Allocation, listed func(v1alpha1.DeviceID) bool,
	ours func(resource string) bool,
) map[v1alpha1.DeviceID]Offer {
	heldOfOthers, weHold := map[v1alpha1.DeviceID]bool{}, map[v1alpha1.DeviceID]bool{}
	for _, a := range allocations {
		if ours(a.Resource) {
			weHold[a.Device] = true
		} else {
			heldOfOthers[a.Device] = true
		}
	}
	offers := make(map[v1alpha1.DeviceID]Offer, len(devices))
	for _, id := range devices {
		_, other := owners.Other(id)
		switch {
		case !other && !heldOfOthers[id]:
			offers[id] = Offered
		case weHold[id] || listed(id) && (len(weHold) > 0 || !other):
			offers[id] = Withheld
		default:
			offers[id] = Absent
		}
	}
	return offers
}

// Conflict says for people which of the devices others serve; it is empty where none is.
func (o Owners) Conflict(devices []v1alpha1.DeviceID) string {
	counts := map[v1alpha1.DeviceService]int{}
	for _, id := range devices {
		if service, other := o.Other(id); other {
			counts[service]++
		}
	}
	var parts []string
	for service, count := range counts {
		server := "the device plugin of "
		if service.Server == v1alpha1.ServedByDRA {
			server = "the DRA driver "
		}
		parts = append(parts, fmt.Sprintf("%s by %s%s", v1alpha1.Counted(count, "device"), server, service.Resource))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
