package host

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// inventoryDocument is an inventory as -o json and yaml print it: as the node agent would write it, with the present readings of
// each device, which are no part of the API.
type inventoryDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   v1alpha1.AcceleratorInventorySpec `json:"spec,omitzero"`
	Status statusDocument                    `json:"status,omitzero"`
}

type statusDocument struct {
	v1alpha1.AcceleratorInventoryStatus `json:",inline"`

	// Devices replace the devices of the status.
	Devices []liveDevice `json:"devices,omitempty"`
}

// liveDevice is a device with its present readings.
type liveDevice struct {
	*v1alpha1.Device `json:",inline"`

	Readings backend.Reading `json:"readings,omitzero"`
}

// withReadings adds its readings to each device.
func withReadings(devices []v1alpha1.Device, readings backend.Readings) []liveDevice {
	live := make([]liveDevice, len(devices))
	for i := range devices {
		live[i] = liveDevice{&devices[i], readings[devices[i].ID]}
	}
	return live
}

func documentOf(shown *v1alpha1.AcceleratorInventory, devices []liveDevice) inventoryDocument {
	return inventoryDocument{
		TypeMeta: shown.TypeMeta, ObjectMeta: shown.ObjectMeta, Spec: shown.Spec,
		Status: statusDocument{AcceleratorInventoryStatus: shown.Status, Devices: devices},
	}
}
