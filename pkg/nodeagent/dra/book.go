package dra

import (
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// book has the claims that are prepared, by their UIDs. It is the last to notice that a device is given out twice; the
// scheduler is the first.
type book map[string]record

// record is a prepared claim.
type record struct {
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Devices   []recorded `json:"devices"`
}

// recorded is a device of a prepared claim.
type recorded struct {
	ID v1alpha1.DeviceID `json:"id"`
	// Name is the device's name in ResourceSlices.
	Name string `json:"name"`
	// AdminAccess says that the claim looks at the device, whoever has it.
	AdminAccess bool `json:"adminAccess,omitempty"`
}

// recordOf makes the book's record of a claim.
func recordOf(claim *resourceapi.Claim, a allotment) record {
	r := record{Namespace: claim.Namespace, Name: claim.Name}
	for i := range a.devices {
		r.Devices = append(r.Devices, recorded{a.devices[i].ID, a.results[i].Device, a.results[i].AdminAccess})
	}
	return r
}

// has says whether a claim was prepared with a device, by the device's name in ResourceSlices.
func (b book) has(uid, device string) bool {
	return slices.ContainsFunc(b[uid].Devices, func(d recorded) bool { return d.Name == device })
}

// conflict is a device that a claim asks for and another has.
type conflict struct {
	device v1alpha1.DeviceID
	uid    string
	other  record
}

// conflict finds the first device of a claim that another claim has, nil where there is none. What an administrator looks at
// is beside what others have.
func (b book) conflict(uid string, wanted record) *conflict {
	for _, d := range wanted.Devices {
		if d.AdminAccess {
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(b)) {
			if other != uid && b[other].holds(d.ID) {
				return &conflict{d.ID, other, b[other]}
			}
		}
	}
	return nil
}

func (r record) holds(id v1alpha1.DeviceID) bool {
	return slices.ContainsFunc(r.Devices, func(d recorded) bool { return d.ID == id && !d.AdminAccess })
}

// with is the book with a claim more, or with what is new of one that it has; without is one with a claim less.
func (b book) with(uid string, r record) book {
	changed := maps.Clone(b)
	if changed == nil {
		changed = book{}
	}
	changed[uid] = r
	return changed
}

func (b book) without(uid string) book {
	changed := maps.Clone(b)
	delete(changed, uid)
	return changed
}

// devices are the names of all devices that claims have, in order and each once.
func (b book) devices() []string {
	var names []string
	for _, r := range b {
		for _, d := range r.Devices {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
