package nvml

import "unsafe"

// device is nvmlDevice_t, eventSet is nvmlEventSet_t: pointers of the library's own.
type (
	device   uintptr
	eventSet uintptr
)

// code is nvmlReturn_t.
type code int32

// Codes of nvmlReturn_t that decide what to do next; the report package has those that tell of a GPU's health.
const (
	codeSuccess         code = 0
	codeInvalidArgument code = 2
	codeNotSupported    code = 3
	codeNoPermission    code = 4
	codeNotFound        code = 6
	codeTimeout         code = 10
	codeFunctionMissing code = 13
	codeVersionMismatch code = 25
	codeDeprecated      code = 26
)

// codeTexts are the library's words for its codes (nvmlErrorString), which nvidia-smi prints, too.
var codeTexts = map[code]string{
	1: "Uninitialized", 2: "Invalid Argument", 3: "Not Supported", 4: "Insufficient Permissions", 6: "Not Found",
	7: "Insufficient Size", 8: "Insufficient External Power", 9: "Driver Not Loaded", 10: "Timeout",
	11: "Interrupt Request Issue", 12: "NVML Shared Library Not Found", 13: "Function Not Found",
	14: "infoROM is corrupted", 15: "GPU is lost", 16: "GPU requires reset",
	17: "The operating system has blocked the request", 18: "Driver/library version mismatch", 19: "In use by another client",
	20: "Insufficient Memory", 21: "No data", 23: "Insufficient Resources", 999: "Unknown Error",
}

// Sizes of the library's texts (nvml.h). The largest is taken for all: a longer buffer is never wrong.
const textSize = 96

// pciInfo is nvmlPciInfo_t (nvmlPciInfo_v3_t).
type pciInfo struct {
	BusIDLegacy [16]byte
	Domain      uint32
	Bus         uint32
	Device      uint32
	DeviceID    uint32
	SubsystemID uint32
	BusID       [32]byte
}

// memory is nvmlMemory_t, in bytes; used includes what is reserved.
type memory struct{ Total, Free, Used uint64 }

// memory2 is nvmlMemory_v2_t, in bytes.
type memory2 struct {
	Version                     uint32
	Total, Reserved, Free, Used uint64
}

// utilization is nvmlUtilization_t, in per cent.
type utilization struct{ GPU, Memory uint32 }

// attributes is nvmlDeviceAttributes_t of a MIG device.
type attributes struct {
	Multiprocessors, CopyEngines, Decoders, Encoders, JPEG, OFA uint32
	GPUInstanceSlices, ComputeInstanceSlices                    uint32
	MemoryMiB                                                   uint64
}

// sramErrors is nvmlEccSramErrorStatus_v1_t.
type sramErrors struct {
	Version                                                        uint32
	AggregateParity, AggregateSECDED, AggregateCorrectable         uint64
	VolatileParity, VolatileSECDED, VolatileCorrectable            uint64
	BucketL2, BucketSM, BucketPCIe, BucketController, BucketOthers uint64
	ThresholdExceeded                                              uint32
}

// fabricInfo is nvmlGpuFabricInfo_t.
type fabricInfo struct {
	ClusterUUID [16]byte
	Status      uint32
	CliqueID    uint32
	State       uint8
}

// fabricInfo2 is nvmlGpuFabricInfo_v2_t.
type fabricInfo2 struct {
	Version uint32
	fabricInfo
	HealthMask uint32
}

// fabricInfo3 is nvmlGpuFabricInfo_v3_t.
type fabricInfo3 struct {
	fabricInfo2
	HealthSummary uint8
}

// fieldValue is nvmlFieldValue_t. The value is a union of eight bytes.
type fieldValue struct {
	FieldID, ScopeID       uint32
	Timestamp, LatencyUSec int64
	ValueType              uint32
	Return                 code
	Value                  uint64
}

// eventData is nvmlEventData_t as nvmlEventSetWait_v2 fills it.
type eventData struct {
	Device                       device
	Type, Data                   uint64
	GPUInstance, ComputeInstance uint32
}

// structVersion is NVML_STRUCT_VERSION: the size of the struct, with the version in the highest byte.
func structVersion[T any](version uint32) uint32 {
	var zero T
	return uint32(unsafe.Sizeof(zero)) | version<<24
}
