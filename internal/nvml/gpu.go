package nvml

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// gpuReader asks for one GPU and keeps what fails.
type gpuReader struct {
	*Library
	handle device
	gpu    report.GPU
}

// read fills the GPU in. The address is set already.
func (r *gpuReader) read() {
	r.gpu.UUID = r.text("nvmlDeviceGetUUID", r.uuid)
	r.gpu.Name = r.text("nvmlDeviceGetName", r.name)
	r.gpu.VBIOS = r.text("nvmlDeviceGetVbiosVersion", r.vbios)
	if minor := r.number("nvmlDeviceGetMinorNumber", r.minor); minor != nil {
		value := int32(*minor)
		r.gpu.Minor = &value
	}
	if generation := r.number("nvmlDeviceGetArchitecture", r.architecture); generation != nil {
		r.gpu.Architecture = architectures[*generation]
	}
	r.gpu.ComputeCapability = r.readCapability()
	r.gpu.Memory = r.readMemory(r.handle)
	r.readSensors()
	r.readErrors()
	r.gpu.NVLinks = r.readLinks()
	r.gpu.Fabric = r.readFabric()
	r.gpu.MIG = r.readMIG()
}

// architectures are the values of nvmlDeviceArchitecture_t. Those of the integrated GPUs of Tegra are left out.
var architectures = map[int64]string{
	2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada", 9: "Hopper", 10: "Blackwell",
}

// ok says whether a call succeeded. A failure that tells of the GPU, rather than of what product and library support, is
// kept.
func (r *gpuReader) ok(call string, result code) bool {
	switch result {
	case codeSuccess:
		return true
	case codeNotSupported, codeFunctionMissing, codeNotFound, codeNoPermission, codeInvalidArgument, codeVersionMismatch, codeDeprecated:
		return false
	}
	if len(r.gpu.Faults) < maxFaults {
		r.gpu.Faults = append(r.gpu.Faults, fault(call, result))
	}
	return false
}

// maxFaults bounds what is said of a GPU: a lost one fails every call.
const maxFaults = 8

func fault(call string, result code) report.Fault {
	text, ok := codeTexts[result]
	if !ok {
		text = fmt.Sprintf("Code %d", result)
	}
	return report.Fault{Call: call, Code: int64(result), Text: text}
}

func (r *gpuReader) text(call string, get func(device, *byte, uint32) code) string {
	return r.textOf(r.handle, call, get)
}

func (r *gpuReader) textOf(handle device, call string, get func(device, *byte, uint32) code) string {
	if get == nil {
		return ""
	}
	var buffer [textSize]byte
	if !r.ok(call, get(handle, &buffer[0], textSize)) {
		return ""
	}
	return cString(buffer[:])
}

// cString is the text before the first NUL, without what is no UTF-8.
func cString(buffer []byte) string {
	text, _, _ := strings.Cut(string(buffer), "\x00")
	return strings.ToValidUTF8(strings.TrimSpace(text), "")
}

func (r *gpuReader) number(call string, get func(device, *uint32) code) *int64 {
	return r.numberOf(r.handle, call, get)
}

func (r *gpuReader) numberOf(handle device, call string, get func(device, *uint32) code) *int64 {
	var value uint32
	if get == nil || !r.ok(call, get(handle, &value)) {
		return nil
	}
	number := int64(value)
	return &number
}

func (r *gpuReader) readCapability() string {
	var major, minor int32
	if r.capability == nil || !r.ok("nvmlDeviceGetCudaComputeCapability", r.capability(r.handle, &major, &minor)) {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// readMemory asks for the memory of a GPU or a MIG device. Only the second version tells what the driver reserves from
// what processes use. What is used is what is neither free nor reserved: nvml.h and libraries do not agree whether its
// used memory includes the reserved one.
func (r *gpuReader) readMemory(handle device) *report.Memory {
	info := memory2{Version: structVersion[memory2](2)}
	if r.memory2 != nil && r.ok("nvmlDeviceGetMemoryInfo_v2", r.memory2(handle, &info)) {
		total, reserved, free := mib(info.Total), mib(info.Reserved), mib(info.Free)
		return &report.Memory{TotalMiB: total, UsedMiB: max(0, total-reserved-free), ReservedMiB: &reserved}
	}
	var old memory
	if r.memory != nil && r.ok("nvmlDeviceGetMemoryInfo", r.memory(handle, &old)) {
		return &report.Memory{TotalMiB: mib(old.Total), UsedMiB: mib(old.Used)}
	}
	return nil
}

func mib(bytes uint64) int64 { return int64(bytes >> 20) }

func (r *gpuReader) readSensors() {
	r.gpu.TemperatureC = r.number("nvmlDeviceGetTemperature", r.dieTemperature())
	r.gpu.PowerMilliW = r.number("nvmlDeviceGetPowerUsage", r.power)
	var rates utilization
	if r.utilization != nil && r.ok("nvmlDeviceGetUtilizationRates", r.utilization(r.handle, &rates)) {
		percent := int64(rates.GPU)
		r.gpu.UtilizationPercent = &percent
	}
	if mode := r.number("nvmlDeviceGetPersistenceMode", r.persistence); mode != nil {
		on := *mode != 0
		r.gpu.PersistenceMode = &on
	}
}

// dieTemperature is the sensor that every GPU has (NVML_TEMPERATURE_GPU).
func (r *gpuReader) dieTemperature() func(device, *uint32) code {
	if r.temperature == nil {
		return nil
	}
	return func(d device, celsius *uint32) code { return r.temperature(d, 0, celsius) }
}
