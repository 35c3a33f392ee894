package claims

import (
	"fmt"
	"maps"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// book has the devices of the claims that were prepared since the agent started. It is the last to notice that a device is
// given out twice; the scheduler is the first. The zero value is an empty one.
type book struct {
	holders map[v1alpha1.DeviceID]holder
}

// holder is a claim that has a device.
type holder struct{ uid, namespace, name string }

// check says which device of a claim another one has. What an administrator looks at is beside what others have.
func (b *book) check(claim *resourceClaim, a allotment) error {
	for i := range a.devices {
		id := a.devices[i].ID
		other, held := b.holders[id]
		if held && other.uid != string(claim.UID) && !a.results[i].AdminAccess {
			return fmt.Errorf("claim %s/%s: device %s is prepared for claim %s/%s: delete one of the two; if that one is gone, restart the node agent",
				claim.Namespace, claim.Name, id, other.namespace, other.name)
		}
	}
	return nil
}

// enter notes the devices of a claim.
func (b *book) enter(claim *resourceClaim, a allotment) {
	if b.holders == nil {
		b.holders = map[v1alpha1.DeviceID]holder{}
	}
	for i := range a.devices {
		if !a.results[i].AdminAccess {
			b.holders[a.devices[i].ID] = holder{string(claim.UID), claim.Namespace, claim.Name}
		}
	}
}

// strike forgets a claim.
func (b *book) strike(uid string) {
	maps.DeleteFunc(b.holders, func(_ v1alpha1.DeviceID, h holder) bool { return h.uid == uid })
}
