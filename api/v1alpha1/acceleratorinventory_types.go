package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AcceleratorInventory is everything that one node has for running models. It is named as its node and owned by it; the
// node agent writes its status, and only when something changed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=accinv,categories=rankwright
// +kubebuilder:printcolumn:name="Devices",type=integer,JSONPath=`.status.summary.devices`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.summary.healthy`
// +kubebuilder:printcolumn:name="Products",type=string,JSONPath=`.status.summary.products`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.status.summary.memory`
// +kubebuilder:printcolumn:name="Unused",type=string,JSONPath=`.status.summary.free`
// +kubebuilder:printcolumn:name="Links",type=string,JSONPath=`.status.summary.links`,priority=1
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.status.summary.drivers`,priority=1
// +kubebuilder:printcolumn:name="Detected",type=string,JSONPath=`.status.conditions[?(@.type=="Detected")].status`,priority=1
// +kubebuilder:printcolumn:name="Repair",type=string,JSONPath=`.status.repairs[?(@.state!="Returned")].state`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AcceleratorInventory struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the administrator asks of this node.
	// +optional
	Spec AcceleratorInventorySpec `json:"spec,omitzero"`
	// What the node agent sees on this node, and which devices the operator keeps for pods.
	// +optional
	Status AcceleratorInventoryStatus `json:"status,omitzero"`
}

// AcceleratorInventorySpec is the administrator's.
type AcceleratorInventorySpec struct {
	// Ids, as in status.devices, of devices that no new plan and no new pod may get. What runs on them goes on.
	// +kubebuilder:validation:XValidation:rule="self.all(d, d.matches('^[a-z0-9][a-zA-Z0-9.:_-]*$'))",message="must be ids as in status.devices of this inventory, such as nvidia-0000:17:00.0"
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	CordonedDevices []DeviceID `json:"cordonedDevices,omitempty"`
}

// Slot keeps a device for the pod of its rank. Where pods get devices by extended resources, it leaves the one that it shares
// with others of its kind for one of its own. Where they get them by claims, it has a taint that no other claim tolerates.
type Slot struct {
	// Id of the device that is kept, as in status.devices.
	Device DeviceID `json:"device"`
	// Extended resource of this one device by its number on the node (`rankwright.dev/slot-3`), or key of its taint
	// (`rankwright.dev/slot-7f3a9c21-0-3`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^rankwright\.dev/slot-[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Resource string `json:"resource"`
}

// AcceleratorInventoryStatus is what the node agent sees, but for the slots and repairs, which are the operator's.
type AcceleratorInventoryStatus struct {
	// Devices that are kept for one pod of a placement each. The operator writes them, and nobody else, for plans whose
	// enforcement is Slot or Claim.
	// +optional
	// +listType=map
	// +listMapKey=device
	// +kubebuilder:validation:MaxItems=1024
	Slots []Slot `json:"slots,omitempty"`
	// Devices with a fault that the operator cordoned, and where their repairs are. The operator writes them, and nobody else, where
	// repair is enabled. Devices that are here take no new work, but for those that are back (state Returned).
	// +optional
	// +listType=map
	// +listMapKey=device
	// +kubebuilder:validation:MaxItems=1024
	Repairs []Repair `json:"repairs,omitempty"`
	// The metadata.generation of the spec that the agent last took into account.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Version of the node agent that wrote this status.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AgentVersion string `json:"agentVersion,omitempty"`
	// Counts and sums over the devices, for printer columns.
	// +optional
	Summary InventorySummary `json:"summary,omitzero"`
	// The accelerators of the node, and partitions in place of those that are partitioned, in order of their ids.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=1024
	Devices []Device `json:"devices,omitempty"`
	// Connections between the devices that are faster than PCIe.
	// +optional
	Links Links `json:"links,omitzero"`
	// Network ports of the node.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	NICs []NIC `json:"nics,omitempty"`
	// Disks of the node.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Storage []StorageDevice `json:"storage,omitempty"`
	// The node apart from its accelerators: processors, memory, operating system, cloud.
	// +optional
	Host Host `json:"host,omitzero"`
	// Which pod holds which device, as the kubelet reports it. A device that several pods share has a row for each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Allocations []Allocation `json:"allocations,omitempty"`
	// What each detection backend of the node agent found, or why it could not look.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Backends []BackendStatus `json:"backends,omitempty"`
	// Detected: every backend could look. Labelled: every node label could be written. Monitored: the health of every device
	// is observed. Served: the kubelet takes every device that is to be served. AllocationsCurrent: the kubelet still says
	// which pod holds which device.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InventorySummary holds what printer columns show, since they cannot compute.
type InventorySummary struct {
	// Number of devices in status.devices.
	// +optional
	Devices int32 `json:"devices"`
	// Number of devices whose health is Healthy.
	// +optional
	Healthy int32 `json:"healthy"`
	// Products with their counts (`8x NVIDIA H100 80GB HBM3`).
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Products string `json:"products,omitempty"`
	// Total memory of all devices, rounded for people (`637.2 GiB`).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Memory string `json:"memory,omitempty"`
	// Total memory of all devices in MiB (2^20 bytes).
	// +optional
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Memory that new work could use, rounded for people: of devices that are usable, not cordoned and not allocated to a
	// pod, less what others use. Plans whose pods do not run yet are not subtracted: `kubectl get splan` has those.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Free string `json:"free,omitempty"`
	// Memory in MiB (2^20 bytes) that new work could use: of devices that are usable, not cordoned and not allocated to a
	// pod, less what others use.
	// +optional
	FreeMiB int64 `json:"freeMiB,omitempty"`
	// Technologies that link the devices, each once (`NVLink`).
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Links string `json:"links,omitempty"`
	// Drivers of the devices with their versions, each once (`nvidia 580.105.08`).
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Drivers string `json:"drivers,omitempty"`
}

// DeviceServer is who serves a device to the kubelet.
// +kubebuilder:validation:Enum=Rankwright;DevicePlugin;DRA
type DeviceServer string

// The servers: the node agent, another device plugin, a DRA driver.
const (
	ServedByRankwright   DeviceServer = "Rankwright"
	ServedByDevicePlugin DeviceServer = "DevicePlugin"
	ServedByDRA          DeviceServer = "DRA"
)

// DeviceService says through what pods get a device.
type DeviceService struct {
	// Who offers the device to the kubelet: Rankwright's node agent, another device plugin, or a DRA driver.
	Server DeviceServer `json:"server"`
	// Extended resource under which pods ask for the device, or the name of its DRA driver; Rankwright's own driver is
	// `rankwright.dev`.
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource"`
}

// ClaimAttribute is an attribute of a device in a ResourceSlice that no other device of the driver on the node has with this
// value. Exactly one of string and int is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.string), has(self.int)].filter(x, x).size() == 1",message="exactly one of string and int must be set: keep the one of the attribute's type"
type ClaimAttribute struct {
	// Domain and name of the attribute, joined by a slash (`gpu.nvidia.com/uuid`).
	// +kubebuilder:validation:MaxLength=96
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[a-zA-Z_][a-zA-Z0-9_]*$')",message="must be a domain and a C identifier joined by a slash, such as gpu.nvidia.com/uuid"
	Name string `json:"name"`
	// Value of the attribute, where it is a text.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	String *string `json:"string,omitempty"`
	// Value of the attribute, where it is a number.
	// +optional
	Int *int64 `json:"int,omitempty"`
}

// Allocation says who holds a device.
type Allocation struct {
	// Id of the device that is held, as in status.devices.
	Device DeviceID `json:"device"`
	// Namespace of the pod that holds the device.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the pod that holds the device.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// Name of the container, in the pod, that was given the device.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// Extended resource, or name of the DRA driver, through which the pod was given the device.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource,omitempty"`
}

// BackendState is the outcome of a detection backend.
// +kubebuilder:validation:Enum=Found;Absent;Degraded;Failed
type BackendState string

// The outcomes. Degraded found devices but could not read all about them; Failed could not look, so that nothing is
// known about its devices.
const (
	BackendFound    BackendState = "Found"
	BackendAbsent   BackendState = "Absent"
	BackendDegraded BackendState = "Degraded"
	BackendFailed   BackendState = "Failed"
)

// ErrorKind is the kind of a problem of a detection backend, for programs: its message is for people.
// +kubebuilder:validation:Enum=PermissionDenied;NotFound;DriverMissing;ToolNotFound;ToolNotRun;ToolFailed;Timeout;Malformed;TooLarge;Defect;Other
type ErrorKind string

// The kinds. DriverMissing is a device that no driver of its vendor is bound to. ToolNotFound is a tool that is not
// installed, ToolNotRun one that may not be run (--no-exec), ToolFailed one that says that it failed. Malformed is what a file
// holds or a tool prints that cannot be understood, TooLarge what is longer or more than is read or listed, Defect a fault of
// the backend itself. Other is everything else, such as files that contradict each other.
const (
	ErrorPermissionDenied ErrorKind = "PermissionDenied"
	ErrorNotFound         ErrorKind = "NotFound"
	ErrorDriverMissing    ErrorKind = "DriverMissing"
	ErrorToolNotFound     ErrorKind = "ToolNotFound"
	ErrorToolNotRun       ErrorKind = "ToolNotRun"
	ErrorToolFailed       ErrorKind = "ToolFailed"
	ErrorTimeout          ErrorKind = "Timeout"
	ErrorMalformed        ErrorKind = "Malformed"
	ErrorTooLarge         ErrorKind = "TooLarge"
	ErrorDefect           ErrorKind = "Defect"
	ErrorOther            ErrorKind = "Other"
)

// BackendStatus is what a detection backend found.
type BackendStatus struct {
	// Name of the detection backend: nvidia, amd, tpu, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// Found: it found devices. Absent: there are none. Degraded: it found devices and could not read all about them. Failed:
	// it could not look, so that nothing is known of its devices.
	State BackendState `json:"state"`
	// Number of devices that the backend found.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Devices int32 `json:"devices,omitempty"`
	// Kind of the problem where the state is Degraded or Failed, for programs; of several problems, the kind of the first in
	// the message.
	// +optional
	ErrorKind ErrorKind `json:"errorKind,omitempty"`
	// Why the state is Degraded or Failed, with the remedy where there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// AcceleratorInventoryList is a list of inventories.
// +kubebuilder:object:root=true
type AcceleratorInventoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AcceleratorInventory `json:"items"`
}
