package nvml

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// gpuReader asks for one GPU, or a MIG device of it, and keeps what fails.
type gpuReader struct {
	*Library
	handle device
	gpu    *report.GPU
}

// read fills the GPU in. The address is set already.
func (r *gpuReader) read() {
	r.gpu.UUID = r.text("nvmlDeviceGetUUID", r.uuid)
	r.gpu.Name = r.text("nvmlDeviceGetName", r.name)
	r.gpu.VBIOS = r.text("nvmlDeviceGetVbiosVersion", r.vbios)
	if minor := r.number("nvmlDeviceGetMinorNumber", r.minor); minor != nil {
		r.gpu.Minor = new(int32(*minor))
	}
	if generation := r.number("nvmlDeviceGetArchitecture", r.architecture); generation != nil {
		r.gpu.Architecture = architectures[*generation]
	}
	r.gpu.ComputeCapability = r.readCapability()
	r.gpu.Memory = r.readMemory()
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
	var buffer [textSize]byte
	if !r.ok(call, get(r.handle, &buffer[0], textSize)) {
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
	var value uint32
	if !r.ok(call, get(r.handle, &value)) {
		return nil
	}
	return new(int64(value))
}

func (r *gpuReader) readCapability() string {
	var major, minor int32
	if !r.ok("nvmlDeviceGetCudaComputeCapability", r.capability(r.handle, &major, &minor)) {
		return ""
	}
	return fmt.Sprintf("%d.%d", major, minor)
}

// readMemory asks for the memory of a GPU or a MIG device. Only the second version tells what the driver reserves from
// what processes use. What is used is what is neither free nor reserved: nvml.h and libraries do not agree whether its
// used memory includes the reserved one.
func (r *gpuReader) readMemory() *report.Memory {
	info := memory2{Version: structVersion[memory2](2)}
	if r.ok("nvmlDeviceGetMemoryInfo_v2", r.memory2(r.handle, &info)) {
		total, reserved, free := mib(info.Total), mib(info.Reserved), mib(info.Free)
		return &report.Memory{TotalMiB: total, UsedMiB: max(0, total-reserved-free), ReservedMiB: &reserved}
	}
	var old memory
	if r.ok("nvmlDeviceGetMemoryInfo", r.memory(r.handle, &old)) {
		return &report.Memory{TotalMiB: mib(old.Total), UsedMiB: mib(old.Used)}
	}
	return nil
}

func mib(bytes uint64) int64 { return int64(bytes >> 20) }

func (r *gpuReader) readSensors() {
	const dieSensor = 0 // NVML_TEMPERATURE_GPU, which every GPU has
	r.gpu.TemperatureC = r.number("nvmlDeviceGetTemperature", func(d device, celsius *uint32) code { return r.temperature(d, dieSensor, celsius) })
	r.gpu.PowerMilliW = r.number("nvmlDeviceGetPowerUsage", r.power)
	var rates utilization
	if r.ok("nvmlDeviceGetUtilizationRates", r.utilization(r.handle, &rates)) {
		r.gpu.UtilizationPercent = new(int64(rates.GPU))
	}
	if mode := r.number("nvmlDeviceGetPersistenceMode", r.persistence); mode != nil {
		r.gpu.PersistenceMode = new(*mode != 0)
	}
}
