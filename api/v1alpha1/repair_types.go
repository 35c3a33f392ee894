package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RepairState says where a device with a fault is on its way back.
// +kubebuilder:validation:Enum=Cordoned;Vacated;Repairing;Checking;Failed;Returned
type RepairState string

// The states, in the order in which they follow each other.
const (
	// RepairCordoned has a fault and takes no new work; ranks of a plan are still on it.
	RepairCordoned RepairState = "Cordoned"
	// RepairVacated has no ranks any more, and waits for what the message says.
	RepairVacated RepairState = "Vacated"
	// Repairing has an object for a repair controller that has not ended.
	Repairing RepairState = "Repairing"
	// RepairChecking is watched before it takes new work: its repair ended, or it looks well again without one.
	RepairChecking RepairState = "Checking"
	// RepairFailed was repaired as often as is tried and is not well: a person is needed.
	RepairFailed RepairState = "Failed"
	// RepairReturned takes work again. Its attempts are remembered for a while.
	RepairReturned RepairState = "Returned"
)

// Repair is a device that the operator cordoned for a fault. It is apart from spec.cordonedDevices, which the operator never lifts.
type Repair struct {
	// Id of the device, as in status.devices.
	Device DeviceID `json:"device"`
	// Cordoned (ranks are still on it), Vacated (they have left), Repairing, Checking, Failed (a person is needed) or Returned (it takes
	// work again).
	State RepairState `json:"state"`
	// Reason of the device's health when it was cordoned (`XID79`). Absent where the device is well, and another one's repair takes the
	// whole node.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Fault string `json:"fault,omitempty"`
	// Time when the state began.
	Since metav1.Time `json:"since"`
	// Number of repairs that were begun.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// What is waited for, or what came of it, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}
