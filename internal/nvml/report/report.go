// Package report is what `rankwright-nvml` prints, shared by the program that prints it and the detector that reads it.
// It knows neither the library nor the detector.
package report

import "cmp"

// Host is what NVML tells of a host: one JSON document.
type Host struct {
	// Library is the name or the path that NVML was loaded from; empty where no library was found.
	Library string `json:"library,omitempty"`
	// Problem says why nothing, or not all, could be asked; nil where all could.
	Problem *Problem `json:"problem,omitempty"`
	// Missing are the functions that the library does not have, in order of their names: what they would tell is absent.
	Missing []string `json:"missing,omitempty"`

	DriverVersion string `json:"driverVersion,omitempty"`
	// CUDAVersion is the highest version of CUDA that the driver supports (`13.0`).
	CUDAVersion string `json:"cudaVersion,omitempty"`
	GPUs        []GPU  `json:"gpus,omitempty"`
	// Unaddressed are failures of GPUs that NVML counts and does not hand out, so that it is not known which they are.
	Unaddressed []Fault `json:"unaddressed,omitempty"`
}

// Problem is why NVML could not be asked.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// ProblemKind is a cause that the detector acts upon.
type ProblemKind string

// The causes: there is no library; there is one that could not be loaded or lacks what all of them have; it does not
// reach its driver.
const (
	NoLibrary  ProblemKind = "NoLibrary"
	BadLibrary ProblemKind = "BadLibrary"
	NoDriver   ProblemKind = "NoDriver"
)

// GPU is a GPU. What NVML does not tell is nil or empty.
type GPU struct {
	// PCI is the address as the kernel prints it (`0000:17:00.0`); empty of a GPU that NVML knows by its UUID alone.
	PCI               string `json:"pci"`
	UUID              string `json:"uuid,omitempty"`
	Name              string `json:"name,omitempty"`
	Minor             *int32 `json:"minor,omitempty"`
	VBIOS             string `json:"vbios,omitempty"`
	Architecture      string `json:"architecture,omitempty"`
	ComputeCapability string `json:"computeCapability,omitempty"`

	Memory  *Memory  `json:"memory,omitempty"`
	NVLinks []NVLink `json:"nvLinks,omitempty"`
	Fabric  *Fabric  `json:"fabric,omitempty"`
	MIG     *MIG     `json:"mig,omitempty"`

	ECC *ECC `json:"ecc,omitempty"`
	// RetiredPagesPending says that a retired page waits for a reset.
	RetiredPagesPending *bool         `json:"retiredPagesPending,omitempty"`
	RemappedRows        *RemappedRows `json:"remappedRows,omitempty"`
	// RecoveryAction is NVML's nvmlDeviceGpuRecoveryAction.
	RecoveryAction *int64 `json:"recoveryAction,omitempty"`

	PersistenceMode    *bool  `json:"persistenceMode,omitempty"`
	TemperatureC       *int64 `json:"temperatureC,omitempty"`
	PowerMilliW        *int64 `json:"powerMilliW,omitempty"`
	UtilizationPercent *int64 `json:"utilizationPercent,omitempty"`

	// Faults are the calls that failed for another reason than that the product or the library does not support them.
	Faults []Fault `json:"faults,omitempty"`
}

// Key tells the GPU from the host's others: its address, else its UUID.
func (g *GPU) Key() string { return cmp.Or(g.PCI, g.UUID) }

// Memory is in MiB.
type Memory struct {
	TotalMiB int64 `json:"totalMiB"`
	// UsedMiB is what processes have allocated, without what is reserved.
	UsedMiB int64 `json:"usedMiB"`
	// ReservedMiB is what driver and firmware hold; nil where the library counts it as used.
	ReservedMiB *int64 `json:"reservedMiB,omitempty"`
}

// Remote is what is at the other end of a link.
type Remote string

// The ends that NVML tells apart.
const (
	RemoteGPU     Remote = "GPU"
	RemoteSwitch  Remote = "Switch"
	RemoteCPU     Remote = "CPU"
	RemoteUnknown Remote = "Unknown"
)

// NVLink is one link of a GPU.
type NVLink struct {
	Index  int  `json:"index"`
	Active bool `json:"active"`
	// Version is of the protocol (`4.0`).
	Version string `json:"version,omitempty"`
	Remote  Remote `json:"remote,omitempty"`
	// RemotePCI is the address of the other end as the kernel prints it.
	RemotePCI string `json:"remotePCI,omitempty"`
	// MBps is the line rate in one direction.
	MBps int64 `json:"mbps,omitempty"`
}

// FabricState is how far the GPU got in joining its NVLink fabric.
type FabricState string

// The states of nvmlGpuFabricState_t.
const (
	FabricNotSupported FabricState = "NotSupported"
	FabricNotStarted   FabricState = "NotStarted"
	FabricInProgress   FabricState = "InProgress"
	FabricCompleted    FabricState = "Completed"
)

// Fabric is the GPU's place in an NVLink fabric.
type Fabric struct {
	State FabricState `json:"state"`
	// Status is the NVML code that joining ended with; it counts when the state is Completed.
	Status      int64  `json:"status"`
	ClusterUUID string `json:"clusterUUID,omitempty"`
	Clique      *int64 `json:"clique,omitempty"`
	// Unhealthy is nil where the library has no summary of the fabric's health.
	Unhealthy *bool `json:"unhealthy,omitempty"`
}

// MIG is the GPU's partitioning.
type MIG struct {
	Enabled bool        `json:"enabled"`
	Pending bool        `json:"pending,omitempty"`
	Devices []MIGDevice `json:"devices,omitempty"`
}

// MIGDevice is a compute instance in a GPU instance. The memory is the GPU instance's.
type MIGDevice struct {
	GPUInstance     int32   `json:"gpuInstance"`
	ComputeInstance int32   `json:"computeInstance"`
	UUID            string  `json:"uuid,omitempty"`
	Profile         string  `json:"profile,omitempty"`
	Memory          *Memory `json:"memory,omitempty"`
}

// ECC is error correction.
type ECC struct {
	Enabled bool `json:"enabled"`
	// Uncorrectable errors since the driver was loaded, and in the GPU's life.
	VolatileUncorrectable  *int64 `json:"volatileUncorrectable,omitempty"`
	AggregateUncorrectable *int64 `json:"aggregateUncorrectable,omitempty"`
	// SRAMThresholdExceeded says that the driver counts more errors of on-chip memory than it tolerates.
	SRAMThresholdExceeded *bool `json:"sramThresholdExceeded,omitempty"`
}

// RemappedRows are rows of memory that were replaced by spare ones.
type RemappedRows struct {
	Correctable   int64 `json:"correctable"`
	Uncorrectable int64 `json:"uncorrectable"`
	Pending       bool  `json:"pending"`
	Failed        bool  `json:"failed"`
}

// Fault is a call that failed.
type Fault struct {
	// Call is the function (`nvmlDeviceGetTemperature`).
	Call string `json:"call"`
	// Code is NVML's nvmlReturn_t, or NoAnswer.
	Code int64  `json:"code"`
	Text string `json:"text"`
}

// Codes of nvmlReturn_t that mean something to a detector.
const (
	CodeDriverNotLoaded  = 9
	CodeInfoROMCorrupted = 14
	CodeGPULost          = 15
	CodeResetRequired    = 16
	CodeUnknown          = 999
	// CodeNoAnswer says that a call did not return in time. NVML has no such code.
	CodeNoAnswer = -1
)

// Types of events. Watching is no error: it says that errors are watched from now on.
const (
	Watching     = "Watching"
	XID          = "XID"
	SingleBitECC = "SingleBitECC"
	DoubleBitECC = "DoubleBitECC"
)

// Event is a line that `rankwright-nvml events` prints.
type Event struct {
	// PCI is the address as the kernel prints it; empty where NVML does not say.
	PCI string `json:"pci,omitempty"`
	// Type is Watching, XID, SingleBitECC or DoubleBitECC.
	Type string `json:"type"`
	// XID is the driver's number of the error, where the type is XID.
	XID *int64 `json:"xid,omitempty"`
	// GPUInstance and ComputeInstance are set where the error belongs to a MIG device.
	GPUInstance     *int32 `json:"gpuInstance,omitempty"`
	ComputeInstance *int32 `json:"computeInstance,omitempty"`
}
