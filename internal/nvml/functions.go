package nvml

import (
	"reflect"
	"strings"
	"unsafe"
)

// functions are the entry points that are used, as nvml.h declares them, with their symbols. Those that are required are in every
// library that is NVML at all; another one that is missing in the library says so by its code when it is called.
type functions struct {
	initialize func() code `nvml:"nvmlInit_v2,required"`

	systemDriverVersion func(text *byte, size uint32) code `nvml:"nvmlSystemGetDriverVersion"`
	systemCUDAVersion   func(version *int32) code          `nvml:"nvmlSystemGetCudaDriverVersion_v2"`

	count         func(count *uint32) code                                                 `nvml:"nvmlDeviceGetCount_v2,required"`
	byIndex       func(index uint32, handle *device) code                                  `nvml:"nvmlDeviceGetHandleByIndex_v2,required"`
	byBusID       func(busID string, handle *device) code                                  `nvml:"nvmlDeviceGetHandleByPciBusId_v2"`
	pci           func(device, *pciInfo) code                                              `nvml:"nvmlDeviceGetPciInfo_v3,required"`
	uuid          func(d device, text *byte, size uint32) code                             `nvml:"nvmlDeviceGetUUID"`
	name          func(d device, text *byte, size uint32) code                             `nvml:"nvmlDeviceGetName"`
	vbios         func(d device, text *byte, size uint32) code                             `nvml:"nvmlDeviceGetVbiosVersion"`
	minor         func(device, *uint32) code                                               `nvml:"nvmlDeviceGetMinorNumber"`
	architecture  func(device, *uint32) code                                               `nvml:"nvmlDeviceGetArchitecture"`
	capability    func(d device, major, minor *int32) code                                 `nvml:"nvmlDeviceGetCudaComputeCapability"`
	memory        func(device, *memory) code                                               `nvml:"nvmlDeviceGetMemoryInfo"`
	memory2       func(device, *memory2) code                                              `nvml:"nvmlDeviceGetMemoryInfo_v2"`
	persistence   func(device, *uint32) code                                               `nvml:"nvmlDeviceGetPersistenceMode"`
	temperature   func(d device, sensor uint32, celsius *uint32) code                      `nvml:"nvmlDeviceGetTemperature"`
	power         func(d device, milliwatts *uint32) code                                  `nvml:"nvmlDeviceGetPowerUsage"`
	utilization   func(device, *utilization) code                                          `nvml:"nvmlDeviceGetUtilizationRates"`
	eccMode       func(d device, current, pending *uint32) code                            `nvml:"nvmlDeviceGetEccMode"`
	eccErrors     func(d device, kind, counter uint32, count *uint64) code                 `nvml:"nvmlDeviceGetTotalEccErrors"`
	sramErrors    func(device, *sramErrors) code                                           `nvml:"nvmlDeviceGetSramEccErrorStatus"`
	pendingPages  func(device, *uint32) code                                               `nvml:"nvmlDeviceGetRetiredPagesPendingStatus"`
	remappedRows  func(d device, correctable, uncorrectable, pending, failed *uint32) code `nvml:"nvmlDeviceGetRemappedRows"`
	fields        func(d device, count int32, values *fieldValue) code                     `nvml:"nvmlDeviceGetFieldValues"`
	linkState     func(d device, link uint32, active *uint32) code                         `nvml:"nvmlDeviceGetNvLinkState"`
	linkVersion   func(d device, link uint32, version *uint32) code                        `nvml:"nvmlDeviceGetNvLinkVersion"`
	linkRemote    func(d device, link uint32, kind *uint32) code                           `nvml:"nvmlDeviceGetNvLinkRemoteDeviceType"`
	linkRemotePCI func(d device, link uint32, pci *pciInfo) code                           `nvml:"nvmlDeviceGetNvLinkRemotePciInfo_v2"`
	fabric        func(device, *fabricInfo) code                                           `nvml:"nvmlDeviceGetGpuFabricInfo"`
	fabric2       func(device, *fabricInfo2) code                                          `nvml:"nvmlDeviceGetGpuFabricInfoV"`
	fabric3       func(device, *fabricInfo3) code                                          `nvml:"nvmlDeviceGetGpuFabricInfoV"`

	migMode         func(d device, current, pending *uint32) code  `nvml:"nvmlDeviceGetMigMode"`
	migCount        func(d device, count *uint32) code             `nvml:"nvmlDeviceGetMaxMigDeviceCount"`
	migByIndex      func(d device, index uint32, mig *device) code `nvml:"nvmlDeviceGetMigDeviceHandleByIndex"`
	gpuInstance     func(mig device, id *uint32) code              `nvml:"nvmlDeviceGetGpuInstanceId"`
	computeInstance func(mig device, id *uint32) code              `nvml:"nvmlDeviceGetComputeInstanceId"`
	attributes      func(mig device, attributes *attributes) code  `nvml:"nvmlDeviceGetAttributes_v2"`

	eventSetCreate  func(*eventSet) code                                          `nvml:"nvmlEventSetCreate"`
	eventsSupported func(d device, types *uint64) code                            `nvml:"nvmlDeviceGetSupportedEventTypes"`
	eventsRegister  func(d device, types uint64, set eventSet) code               `nvml:"nvmlDeviceRegisterEvents"`
	eventSetWait    func(set eventSet, data *eventData, milliseconds uint32) code `nvml:"nvmlEventSetWait_v2"`
}

// bind has find look every function up: it sets the variable that into points to, or says why the library has no such symbol. The
// error is of a function that is required; missing are the symbols of others.
func (f *functions) bind(find func(symbol string, into any) error) (missing []string, err error) {
	fields := reflect.ValueOf(f).Elem()
	for i := range fields.NumField() {
		symbol, required, _ := strings.Cut(fields.Type().Field(i).Tag.Get("nvml"), ",")
		into := reflect.NewAt(fields.Field(i).Type(), unsafe.Pointer(fields.Field(i).UnsafeAddr()))
		if err := find(symbol, into.Interface()); err != nil && required != "" {
			return nil, err
		} else if err != nil {
			missing = append(missing, symbol)
			into.Elem().Set(reflect.MakeFunc(fields.Field(i).Type(), absent))
		}
	}
	return missing, nil
}

// absent answers for every function that the library does not have.
func absent([]reflect.Value) []reflect.Value {
	return []reflect.Value{reflect.ValueOf(codeFunctionMissing)}
}
