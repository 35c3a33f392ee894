package nvml

// functions are the entry points that are used, as nvml.h declares them. A nil one is missing in the library.
type functions struct {
	initialize func() code

	systemDriverVersion func(text *byte, size uint32) code
	systemCUDAVersion   func(version *int32) code

	count         func(count *uint32) code
	byIndex       func(index uint32, handle *device) code
	byBusID       func(busID string, handle *device) code
	pci           func(device, *pciInfo) code
	uuid          func(d device, text *byte, size uint32) code
	name          func(d device, text *byte, size uint32) code
	vbios         func(d device, text *byte, size uint32) code
	minor         func(device, *uint32) code
	architecture  func(device, *uint32) code
	capability    func(d device, major, minor *int32) code
	memory        func(device, *memory) code
	memory2       func(device, *memory2) code
	persistence   func(device, *uint32) code
	temperature   func(d device, sensor uint32, celsius *uint32) code
	power         func(d device, milliwatts *uint32) code
	utilization   func(device, *utilization) code
	eccMode       func(d device, current, pending *uint32) code
	eccErrors     func(d device, kind, counter uint32, count *uint64) code
	sramErrors    func(device, *sramErrors) code
	pendingPages  func(device, *uint32) code
	remappedRows  func(d device, correctable, uncorrectable, pending, failed *uint32) code
	fields        func(d device, count int32, values *fieldValue) code
	linkState     func(d device, link uint32, active *uint32) code
	linkVersion   func(d device, link uint32, version *uint32) code
	linkRemote    func(d device, link uint32, kind *uint32) code
	linkRemotePCI func(d device, link uint32, pci *pciInfo) code
	fabric        func(device, *fabricInfo) code
	fabric2       func(device, *fabricInfo2) code
	fabric3       func(device, *fabricInfo3) code

	migMode         func(d device, current, pending *uint32) code
	migCount        func(d device, count *uint32) code
	migByIndex      func(d device, index uint32, mig *device) code
	gpuInstance     func(mig device, id *uint32) code
	computeInstance func(mig device, id *uint32) code
	attributes      func(mig device, attributes *attributes) code

	eventSetCreate  func(*eventSet) code
	eventsSupported func(d device, types *uint64) code
	eventsRegister  func(d device, types uint64, set eventSet) code
	eventSetWait    func(set eventSet, data *eventData, milliseconds uint32) code
}

// binding is a symbol of the library and the function that it becomes.
type binding struct {
	symbol   string
	function any
	// required functions are in every library that is NVML at all.
	required bool
}

func (f *functions) bindings() []binding {
	return []binding{
		{symbol: "nvmlInit_v2", function: &f.initialize, required: true},
		{symbol: "nvmlSystemGetDriverVersion", function: &f.systemDriverVersion},
		{symbol: "nvmlSystemGetCudaDriverVersion_v2", function: &f.systemCUDAVersion},
		{symbol: "nvmlDeviceGetCount_v2", function: &f.count, required: true},
		{symbol: "nvmlDeviceGetHandleByIndex_v2", function: &f.byIndex, required: true},
		{symbol: "nvmlDeviceGetHandleByPciBusId_v2", function: &f.byBusID},
		{symbol: "nvmlDeviceGetPciInfo_v3", function: &f.pci, required: true},
		{symbol: "nvmlDeviceGetUUID", function: &f.uuid},
		{symbol: "nvmlDeviceGetName", function: &f.name},
		{symbol: "nvmlDeviceGetVbiosVersion", function: &f.vbios},
		{symbol: "nvmlDeviceGetMinorNumber", function: &f.minor},
		{symbol: "nvmlDeviceGetArchitecture", function: &f.architecture},
		{symbol: "nvmlDeviceGetCudaComputeCapability", function: &f.capability},
		{symbol: "nvmlDeviceGetMemoryInfo", function: &f.memory},
		{symbol: "nvmlDeviceGetMemoryInfo_v2", function: &f.memory2},
		{symbol: "nvmlDeviceGetPersistenceMode", function: &f.persistence},
		{symbol: "nvmlDeviceGetTemperature", function: &f.temperature},
		{symbol: "nvmlDeviceGetPowerUsage", function: &f.power},
		{symbol: "nvmlDeviceGetUtilizationRates", function: &f.utilization},
		{symbol: "nvmlDeviceGetEccMode", function: &f.eccMode},
		{symbol: "nvmlDeviceGetTotalEccErrors", function: &f.eccErrors},
		{symbol: "nvmlDeviceGetSramEccErrorStatus", function: &f.sramErrors},
		{symbol: "nvmlDeviceGetRetiredPagesPendingStatus", function: &f.pendingPages},
		{symbol: "nvmlDeviceGetRemappedRows", function: &f.remappedRows},
		{symbol: "nvmlDeviceGetFieldValues", function: &f.fields},
		{symbol: "nvmlDeviceGetNvLinkState", function: &f.linkState},
		{symbol: "nvmlDeviceGetNvLinkVersion", function: &f.linkVersion},
		{symbol: "nvmlDeviceGetNvLinkRemoteDeviceType", function: &f.linkRemote},
		{symbol: "nvmlDeviceGetNvLinkRemotePciInfo_v2", function: &f.linkRemotePCI},
		{symbol: "nvmlDeviceGetGpuFabricInfo", function: &f.fabric},
		{symbol: "nvmlDeviceGetGpuFabricInfoV", function: &f.fabric2},
		{symbol: "nvmlDeviceGetGpuFabricInfoV", function: &f.fabric3},
		{symbol: "nvmlDeviceGetMigMode", function: &f.migMode},
		{symbol: "nvmlDeviceGetMaxMigDeviceCount", function: &f.migCount},
		{symbol: "nvmlDeviceGetMigDeviceHandleByIndex", function: &f.migByIndex},
		{symbol: "nvmlDeviceGetGpuInstanceId", function: &f.gpuInstance},
		{symbol: "nvmlDeviceGetComputeInstanceId", function: &f.computeInstance},
		{symbol: "nvmlDeviceGetAttributes_v2", function: &f.attributes},
		{symbol: "nvmlEventSetCreate", function: &f.eventSetCreate},
		{symbol: "nvmlDeviceGetSupportedEventTypes", function: &f.eventsSupported},
		{symbol: "nvmlDeviceRegisterEvents", function: &f.eventsRegister},
		{symbol: "nvmlEventSetWait_v2", function: &f.eventSetWait},
	}
}
