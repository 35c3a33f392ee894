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
	Devices []deviceDocument `json:"devices,omitempty"`
}

// deviceDocument is a device with its readings.
type deviceDocument struct {
	*v1alpha1.Device `json:",inline"`

	Readings backend.Reading `json:"readings,omitzero"`
}

func documentOf(shown *v1alpha1.AcceleratorInventory, readings backend.Readings) inventoryDocument {
	d := inventoryDocument{TypeMeta: shown.TypeMeta, ObjectMeta: shown.ObjectMeta, Spec: shown.Spec}
	d.Status.AcceleratorInventoryStatus = shown.Status
	for i := range shown.Status.Devices {
		device := &shown.Status.Devices[i]
		d.Status.Devices = append(d.Status.Devices, deviceDocument{Device: device, Readings: readings[device.ID]})
	}
	return d
}
