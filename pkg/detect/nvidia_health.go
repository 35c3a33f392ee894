package detect

import (
	"bytes"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// health is the worst of what can be observed. Where nothing can be, it is Unknown.
func (g *nvidiaGPU) health() v1alpha1.DeviceHealth {
	if fault, ok := faultHealth(g.fault); ok && (g.smi == nil || fault.State == v1alpha1.Unhealthy) {
		return fault
	}
	switch {
	case g.Driver != nvidiaDriver:
		return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "NoDriver", Message: "the nvidia driver is not bound to the GPU"}
	case g.smi == nil && g.fault != "":
		return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: "NotReported", Message: g.fault}
	case g.smi == nil:
		return notMonitored("nvidia-smi does not report the GPU")
	}
	worst := v1alpha1.DeviceHealth{State: v1alpha1.Healthy}
	if fault, ok := faultHealth(g.fault); ok {
		worst = fault
	}
	for _, check := range smiChecks {
		if health, bad := check(g.smi); bad && severity[health.State] > severity[worst.State] {
			worst = health
		}
	}
	return worst
}

var severity = map[v1alpha1.HealthState]int{v1alpha1.Healthy: 0, v1alpha1.Degraded: 1, v1alpha1.Unhealthy: 2}

// smiFaultTexts are the words of NVML for a GPU that does not answer, the worse ones first.
var smiFaultTexts = []struct {
	text   string
	state  v1alpha1.HealthState
	reason string
}{
	{"GPU is lost", v1alpha1.Unhealthy, "GPULost"},
	{"fallen off the bus", v1alpha1.Unhealthy, "GPULost"},
	{"GPU requires reset", v1alpha1.Unhealthy, "ResetRequired"},
	{"Unable to determine the device handle", v1alpha1.Unhealthy, "GPUInaccessible"},
	{"ERR!", v1alpha1.Unhealthy, "DriverError"},
	{"Unknown Error", v1alpha1.Unhealthy, "DriverError"},
	{"infoROM is corrupted", v1alpha1.Degraded, "InfoROMCorrupted"},
}

func faultHealth(said string) (v1alpha1.DeviceHealth, bool) {
	for _, fault := range smiFaultTexts {
		if strings.Contains(said, fault.text) {
			return v1alpha1.DeviceHealth{State: fault.state, Reason: fault.reason, Message: "nvidia-smi says: " + said}, true
		}
	}
	return v1alpha1.DeviceHealth{}, false
}

// smiChecks look for one fault each.
var smiChecks = []func(*smiGPU) (v1alpha1.DeviceHealth, bool){
	checkAnswers, checkRecovery, checkRows, checkFabric,
}

// checkAnswers looks for NVML's words for a broken GPU: anywhere in the report, but for `Unknown Error`, which single
// sensors of working GPUs print too.
func checkAnswers(gpu *smiGPU) (v1alpha1.DeviceHealth, bool) {
	for _, fault := range smiFaultTexts {
		if fault.text != "Unknown Error" && bytes.Contains(gpu.Raw, []byte(fault.text)) {
			return faultHealth(fault.text)
		}
	}
	for _, value := range []string{gpu.Product, gpu.UUID, gpu.Memory.Total} {
		if health, bad := faultHealth(value); bad {
			return health, true
		}
	}
	return v1alpha1.DeviceHealth{}, false
}

// recoveryActions is by NVML's nvmlDeviceGpuRecoveryAction as nvidia-smi words it. A GPU whose peer-to-peer traffic
// is to be drained still computes.
var recoveryActions = map[string]v1alpha1.DeviceHealth{
	"Reset":           {State: v1alpha1.Unhealthy, Reason: "ResetRequired", Message: "the driver asks for a reset of the GPU"},
	"GPU Reset":       {State: v1alpha1.Unhealthy, Reason: "ResetRequired", Message: "the driver asks for a reset of the GPU"},
	"Reboot":          {State: v1alpha1.Unhealthy, Reason: "RebootRequired", Message: "the driver asks for a reboot of the node"},
	"Node Reboot":     {State: v1alpha1.Unhealthy, Reason: "RebootRequired", Message: "the driver asks for a reboot of the node"},
	"Drain and Reset": {State: v1alpha1.Unhealthy, Reason: "DrainAndReset", Message: "the driver asks to drain the GPU and reset it"},
	"Drain P2P":       {State: v1alpha1.Degraded, Reason: "DrainP2P", Message: "the driver asks to drain peer-to-peer traffic"},
}

func checkRecovery(gpu *smiGPU) (v1alpha1.DeviceHealth, bool) {
	action := smiValue(gpu.RecoveryAction)
	if action == "" {
		return v1alpha1.DeviceHealth{}, false
	}
	if health, known := recoveryActions[action]; known {
		return health, true
	}
	return v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "RecoveryAction", Message: "the driver asks for: " + action}, true
}

// checkRows looks at memory that failed: rows that could not be remapped are still in use, remapped ones and retired
// pages wait for a reset.
func checkRows(gpu *smiGPU) (v1alpha1.DeviceHealth, bool) {
	facts := []struct {
		value  string
		health v1alpha1.DeviceHealth
	}{
		{gpu.RemapFailure, v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "RowRemapFailure", Message: "a row of memory could not be remapped: the GPU is to be replaced"}},
		{gpu.RemapPending, v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "RowRemapPending", Message: "a remapped row of memory waits for a reset of the GPU"}},
		{gpu.RetirePending, v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "PageRetirementPending", Message: "a retired page of memory waits for a reset of the GPU"}},
		{gpu.SRAMThresholdHit, v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "SRAMThresholdExceeded", Message: "uncorrectable errors of on-chip memory exceed the driver's threshold"}},
	}
	for _, fact := range facts {
		if strings.EqualFold(strings.TrimSpace(fact.value), "Yes") {
			return fact.health, true
		}
	}
	return v1alpha1.DeviceHealth{}, false
}

// checkFabric looks at the NVLink fabric: until it is up, a GPU that has one runs no CUDA.
func checkFabric(gpu *smiGPU) (v1alpha1.DeviceHealth, bool) {
	switch state := smiValue(gpu.FabricState); {
	case state == "In Progress" || state == "Not Started":
		return v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "FabricNotReady", Message: "the NVLink fabric is not up: see to nvidia-fabricmanager"}, true
	case state == fabricCompleted && smiValue(gpu.FabricStatus) != "" && smiValue(gpu.FabricStatus) != "Success":
		return v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "FabricError", Message: "the NVLink fabric came up with: " + smiValue(gpu.FabricStatus)}, true
	case smiValue(gpu.FabricHealth) == "Unhealthy":
		return v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: "FabricUnhealthy", Message: "the NVLink fabric reports itself unhealthy"}, true
	}
	return v1alpha1.DeviceHealth{}, false
}

const fabricCompleted = "Completed"
