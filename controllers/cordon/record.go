package cordon

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// record is the cordoned devices of a node, as one inventory of it had them last.
type record struct {
	// Inventory is the UID of that inventory: another one of the node did not have the cordons yet.
	Inventory types.UID `json:"inventory"`
	// Devices are in order.
	Devices []v1alpha1.DeviceID `json:"devices"`
}

func (r *record) encode() string {
	// A struct of strings always encodes.
	text, _ := json.Marshal(r)
	return string(text)
}

// decode reads what encode wrote; people may have edited it.
func decode(text string) (*record, error) {
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("record of cordons %q: %w", text, err)
	}
	return r, nil
}

// verdict is what to do about a node.
type verdict int

const (
	// nothing is to be done.
	nothing verdict = iota
	// keep has what the inventory says recorded.
	keep
	// forget has the record removed: the cordons were lifted.
	forget
	// restore has the inventory given what is recorded.
	restore
)

// judge compares a record, nil where there is none, with the inventory of its node.
func judge(r *record, inventory *v1alpha1.AcceleratorInventory) verdict {
	cordoned := sorted(inventory.Spec.CordonedDevices)
	same := r != nil && r.Inventory == inventory.UID
	switch {
	case len(cordoned) > 0 && (!same || !slices.Equal(r.Devices, cordoned)):
		return keep
	case len(cordoned) > 0 || r == nil:
		return nothing
	case same || len(r.Devices) == 0:
		return forget
	default:
		return restore
	}
}

func recordOf(inventory *v1alpha1.AcceleratorInventory) *record {
	return &record{Inventory: inventory.UID, Devices: sorted(inventory.Spec.CordonedDevices)}
}

func sorted(devices []v1alpha1.DeviceID) []v1alpha1.DeviceID {
	devices = slices.Clone(devices)
	slices.Sort(devices)
	return devices
}
