package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeviceID names a device on its node: vendor and PCI address (`nvidia-0000:17:00.0`), with a partition where there is
// one (`nvidia-0000:17:00.0-mig7`), or the kernel's stable name where there is no PCI (`google-accel0`). It never comes
// from a tool, so it does not change when a driver loads.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=96
// +kubebuilder:validation:Pattern=`^[a-z0-9][a-zA-Z0-9.:_-]*$`
type DeviceID string

// DeviceFamily is the kind of processor.
// +kubebuilder:validation:Enum=GPU;TPU;NPU;ASIC;CPU
type DeviceFamily string

// The families.
const (
	FamilyGPU  DeviceFamily = "GPU"
	FamilyTPU  DeviceFamily = "TPU"
	FamilyNPU  DeviceFamily = "NPU"
	FamilyASIC DeviceFamily = "ASIC"
	FamilyCPU  DeviceFamily = "CPU"
)

// Precision is a number format of weights or arithmetic.
// +kubebuilder:validation:Enum=FP32;FP16;BF16;FP8;INT8;INT4;MXFP4;NVFP4;FP4
type Precision string

// The precisions. FP4 is a peak rate that holds for MXFP4 and NVFP4 alike; it is not a storage format.
const (
	FP32  Precision = "FP32"
	FP16  Precision = "FP16"
	BF16  Precision = "BF16"
	FP8   Precision = "FP8"
	INT8  Precision = "INT8"
	INT4  Precision = "INT4"
	MXFP4 Precision = "MXFP4"
	NVFP4 Precision = "NVFP4"
	FP4   Precision = "FP4"
)

// FactSource says where a number comes from.
// +kubebuilder:validation:Enum=Driver;Kernel;Catalogue
type FactSource string

// The sources: the driver's own tool or library, the kernel's files, or the embedded catalogue (nominal values).
const (
	SourceDriver    FactSource = "Driver"
	SourceKernel    FactSource = "Kernel"
	SourceCatalogue FactSource = "Catalogue"
)

// Device is one schedulable accelerator, or one partition of it.
type Device struct {
	// Name of the device, unique on its node: vendor and PCI address (`nvidia-0000:17:00.0`), with the partition if it is
	// one. It does not change when the node or a driver restarts.
	ID DeviceID `json:"id"`
	// Name of the vendor in lower case: nvidia, amd, intel, google, aws, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9-]*$`
	Vendor string `json:"vendor"`
	// Kind of processor: GPU, TPU, NPU, another ASIC, or the host's CPU.
	Family DeviceFamily `json:"family"`
	// Name of the detection backend that found the device, as in status.backends.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Backend string `json:"backend,omitempty"`
	// Name of the product as the driver reports it, else as the catalogue or the PCI ids give it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Product string `json:"product,omitempty"`
	// Name of the processor's architecture: Hopper, CDNA3, v5p, ….
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Architecture string `json:"architecture,omitempty"`
	// Compute capability as the vendor counts it (NVIDIA: 9.0; AMD: gfx942).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ComputeCapability string `json:"computeCapability,omitempty"`
	// Unique id that the driver reports (`GPU-…`). It is absent until a driver answers; id is the stable name.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UUID string `json:"uuid,omitempty"`
	// Number, from 0, that the vendor's driver gives the device on this node (NVIDIA: minor number; AMD: render minor). It
	// may change when the node restarts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Index *int32 `json:"index,omitempty"`
	// Name of the kernel driver that is bound to the device (`nvidia`, `vfio-pci`).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
	// Version of the kernel driver.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DriverVersion string `json:"driverVersion,omitempty"`
	// Highest version of CUDA that the driver runs (`12.8`).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CUDAVersion string `json:"cudaVersion,omitempty"`
	// Version of the device's firmware or VBIOS.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	FirmwareVersion string `json:"firmwareVersion,omitempty"`
	// Number of compute units that work can use, as the vendor counts them: streaming multiprocessors of NVIDIA, compute units
	// of AMD, NeuronCores of AWS. From the driver, else from the catalogue; absent where neither says.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ComputeUnits int32 `json:"computeUnits,omitempty"`
	// The device's function on PCI; absent where the device is not on PCI.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
	// Number, from 0, of the NUMA node that the device is attached to; absent where the kernel does not know it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`
	// Device nodes under /dev that belong to the device (`/dev/nvidia0`).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	Paths []string `json:"paths,omitempty"`
	// Memory that work on the device can use; absent where nothing reports it.
	// +optional
	Memory *DeviceMemory `json:"memory,omitempty"`
	// Peak rates of the product, from the catalogue; absent where the catalogue does not have it.
	// +optional
	Performance *DevicePerformance `json:"performance,omitempty"`
	// What the device is a part of, where it is a partition (MIG, CPX); absent for a whole device.
	// +optional
	Partition *DevicePartition `json:"partition,omitempty"`
	// Who offers the device to the kubelet, and as what; absent where nobody does.
	// +optional
	Service *DeviceService `json:"service,omitempty"`
	// Attribute by which a ResourceClaim selects the device; absent where no DRA driver offers it. Exactly one of string and int
	// is set.
	// +optional
	ClaimAttribute *ClaimAttribute `json:"claimAttribute,omitempty"`
	// Health of the device as it was last observed.
	// +optional
	Health DeviceHealth `json:"health,omitzero"`
}

// PCIDevice is a function on a PCI bus. Numbers are as the kernel prints them: lower-case hex without 0x.
type PCIDevice struct {
	// PCI address: domain, bus, device and function (`0000:17:00.0`).
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`
	Address string `json:"address"`
	// PCI vendor id (`10de` is NVIDIA).
	// +optional
	// +kubebuilder:validation:MaxLength=4
	VendorID string `json:"vendorID,omitempty"`
	// PCI device id, which tells a vendor's products apart (`2330`).
	// +optional
	// +kubebuilder:validation:MaxLength=4
	DeviceID string `json:"deviceID,omitempty"`
	// PCI vendor id of the board's maker.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	SubsystemVendorID string `json:"subsystemVendorID,omitempty"`
	// PCI id of the board, which tells boards of one chip apart.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	SubsystemDeviceID string `json:"subsystemDeviceID,omitempty"`
	// PCI revision of the chip (`a1`).
	// +optional
	// +kubebuilder:validation:MaxLength=2
	Revision string `json:"revision,omitempty"`
	// Name of the host bridge that the device is under (`pci0000:15`), which is part of a processor. Two devices with the
	// same root share it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Root string `json:"root,omitempty"`
	// PCI addresses of the bridges between the host bridge and the device, outermost first. Two devices under the same last
	// bridge share a switch.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=16
	Bridges []string `json:"bridges,omitempty"`
	// Highest rate of the PCIe link in mega-transfers per second on each lane (32000 is PCIe 5).
	// +optional
	// +kubebuilder:validation:Minimum=0
	LinkMTps int32 `json:"linkMTps,omitempty"`
	// Highest number of lanes of the PCIe link.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	LinkWidth int32 `json:"linkWidth,omitempty"`
}

// DeviceMemory is the memory that work on the device can use.
type DeviceMemory struct {
	// Memory of the device in MiB (2^20 bytes), as the driver reports it, else as the catalogue has it: source says which.
	// +kubebuilder:validation:Minimum=0
	TotalMiB int64 `json:"totalMiB"`
	// Memory in MiB (2^20 bytes) that processes use which belong to no allocation known here. It is published in steps, so
	// that it does not change with every scan.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UsedByOthersMiB int64 `json:"usedByOthersMiB,omitempty"`
	// Where totalMiB comes from: the driver, the kernel, or the catalogue (nominal).
	// +optional
	Source FactSource `json:"source,omitempty"`
	// How memory is divided where processor and device work in the same memory; absent where the device has its own.
	// +optional
	Shared *SharedMemory `json:"shared,omitempty"`
}

// SharedMemory is memory of the host that a device works in, as graphics of a processor do.
type SharedMemory struct {
	// Memory that the firmware sets aside for the device (carve-out), in MiB (2^20 bytes). The host does not count it as its
	// own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CarveOutMiB int64 `json:"carveOutMiB,omitempty"`
	// Memory of the host that the device can use as well (AMD: GTT), in MiB (2^20 bytes). What one takes, the other lacks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	HostMiB int64 `json:"hostMiB,omitempty"`
}

// DevicePerformance holds the peak rates of a product, from the catalogue.
type DevicePerformance struct {
	// Peak bandwidth of the device's memory, in MB/s (10^6 bytes per second).
	// +optional
	// +kubebuilder:validation:Minimum=0
	MemoryBandwidthMBps int64 `json:"memoryBandwidthMBps,omitempty"`
	// Peak dense rates of arithmetic, one for each number format that the product computes natively.
	// +optional
	// +listType=map
	// +listMapKey=precision
	// +kubebuilder:validation:MaxItems=16
	Peak []PeakRate `json:"peak,omitempty"`
	// Where the rates come from, and how sure they are.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Source string `json:"source,omitempty"`
}

// PeakRate is the dense peak of a precision.
type PeakRate struct {
	// Number format that the rate is for.
	Precision Precision `json:"precision"`
	// Peak dense rate in GFLOPS (10^9 operations per second).
	// +kubebuilder:validation:Minimum=0
	GFLOPS int64 `json:"gflops"`
}

// DevicePartition says what a device is a part of.
type DevicePartition struct {
	// Kind of partitioning: MIG, CPX, SPX, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// Id of the physical device. It is not in status.devices itself while it is partitioned.
	Parent DeviceID `json:"parent"`
	// Size of the partition in the vendor's words (`3g.40gb`, `CPX/NPS4`).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Profile string `json:"profile,omitempty"`
	// Number, from 0, of the partition in its physical device, as the driver counts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index,omitempty"`
}

// HealthState is how a device is.
// +kubebuilder:validation:Enum=Healthy;Degraded;Unhealthy;Unknown
type HealthState string

// The states. Unknown is what cannot be observed; it is never taken for Healthy.
const (
	Healthy   HealthState = "Healthy"
	Degraded  HealthState = "Degraded"
	Unhealthy HealthState = "Unhealthy"
	Unknown   HealthState = "Unknown"
)

// DeviceHealth is a device's state with its evidence.
type DeviceHealth struct {
	// Healthy, Degraded (works, with less), Unhealthy (takes no work) or Unknown (cannot be observed; never taken for
	// Healthy).
	State HealthState `json:"state"`
	// Word for the cause of the state, for programs (`NotMonitored`, `ECCErrors`).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([A-Za-z][A-Za-z0-9]*)?$`
	Reason string `json:"reason,omitempty"`
	// What was observed, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// Time when the state last changed.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
