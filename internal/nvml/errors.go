package nvml

import "github.com/rankwright/rankwright/internal/nvml/report"

// Arguments of nvmlDeviceGetTotalEccErrors.
const (
	uncorrected  = 1 // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
	volatileECC  = 0 // since the driver was loaded
	aggregateECC = 1 // in the GPU's life
)

// Field ids of nvmlDeviceGetFieldValues.
const (
	fieldLinkSpeedCommon = 90  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
	fieldLinkSpeed       = 164 // NVML_FI_DEV_NVLINK_GET_SPEED, the scope is the link
	fieldRecoveryAction  = 230 // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
)

// readErrors asks what went wrong with the GPU so far.
func (r *gpuReader) readErrors() {
	r.gpu.ECC = r.readECC()
	if pending := r.number("nvmlDeviceGetRetiredPagesPendingStatus", r.pendingPages); pending != nil {
		r.gpu.RetiredPagesPending = new(*pending != 0)
	}
	var correctable, uncorrectable, pending, failed uint32
	if r.ok("nvmlDeviceGetRemappedRows", r.remappedRows(r.handle, &correctable, &uncorrectable, &pending, &failed)) {
		r.gpu.RemappedRows = &report.RemappedRows{
			Correctable: int64(correctable), Uncorrectable: int64(uncorrectable), Pending: pending != 0, Failed: failed != 0,
		}
	}
	if action, ok := r.field(fieldRecoveryAction, 0); ok {
		r.gpu.RecoveryAction = &action
	}
}

func (r *gpuReader) readECC() *report.ECC {
	var current, pending uint32
	if !r.ok("nvmlDeviceGetEccMode", r.eccMode(r.handle, &current, &pending)) {
		return nil
	}
	ecc := &report.ECC{Enabled: current != 0}
	if !ecc.Enabled {
		return ecc
	}
	ecc.VolatileUncorrectable = r.eccCount(volatileECC)
	ecc.AggregateUncorrectable = r.eccCount(aggregateECC)
	status := sramErrors{Version: structVersion[sramErrors](1)}
	if r.ok("nvmlDeviceGetSramEccErrorStatus", r.sramErrors(r.handle, &status)) {
		ecc.SRAMThresholdExceeded = new(status.ThresholdExceeded != 0)
	}
	return ecc
}

func (r *gpuReader) eccCount(counter uint32) *int64 {
	var count uint64
	if !r.ok("nvmlDeviceGetTotalEccErrors", r.eccErrors(r.handle, uncorrected, counter, &count)) {
		return nil
	}
	return new(int64(min(count, 1<<62)))
}

// field asks for a numeric field; ok is false where it is not supported.
func (r *gpuReader) field(id, scope uint32) (int64, bool) {
	value := fieldValue{FieldID: id, ScopeID: scope}
	if !r.ok("nvmlDeviceGetFieldValues", r.fields(r.handle, 1, &value)) || value.Return != codeSuccess {
		return 0, false
	}
	return value.integer()
}

// integer reads the union by its type (nvmlValueType_t): on 64-bit machines of the byte order that all of NVIDIA's have,
// the smaller members are its lowest bytes.
func (v fieldValue) integer() (int64, bool) {
	switch v.ValueType {
	case 1: // unsigned int
		return int64(uint32(v.Value)), true
	case 2, 3, 4: // unsigned long, unsigned long long, signed long long
		return int64(v.Value), true
	case 5: // int
		return int64(int32(uint32(v.Value))), true
	case 6: // unsigned short
		return int64(uint16(v.Value)), true
	default:
		return 0, false
	}
}
