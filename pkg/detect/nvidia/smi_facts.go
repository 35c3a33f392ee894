package nvidia

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// facts returns what the element of a GPU says.
func (gpu *smiGPU) facts() *nvidiaFacts {
	facts := &nvidiaFacts{
		GPU: report.GPU{
			Name: smiValue(gpu.Product), Architecture: smiValue(gpu.Architecture), UUID: smiValue(gpu.UUID), VBIOS: smiValue(gpu.VBIOS),
			Minor: smiMinor(gpu.Minor), Memory: gpu.Memory.parse(),
			RemappedRows:        &report.RemappedRows{Pending: smiYes(gpu.RemapPending), Failed: smiYes(gpu.RemapFailure)},
			RetiredPagesPending: new(smiYes(gpu.RetirePending)),
			ECC:                 &report.ECC{SRAMThresholdExceeded: new(smiYes(gpu.SRAMThresholdHit))},
			Fabric: &report.Fabric{
				// The words are those of the document but for the space in them.
				State:       report.FabricState(strings.ReplaceAll(smiValue(gpu.FabricState), " ", "")),
				ClusterUUID: smiValue(gpu.FabricCluster), Unhealthy: new(smiValue(gpu.FabricHealth) == "Unhealthy"),
			},
			TemperatureC:       smiNumber(gpu.Temperature, " C", 1, backend.MaxCelsius),
			PowerMilliW:        smiNumber(gpu.power(), " W", 1000, backend.MaxMilliWatts),
			UtilizationPercent: smiNumber(gpu.Utilization, " %", 1, 100),
		},
		broken: gpu.broken(),
	}
	if clique, err := strconv.ParseInt(smiValue(gpu.FabricClique), 10, 64); err == nil {
		facts.Fabric.Clique = &clique
	}
	if status := smiValue(gpu.FabricStatus); status != "Success" {
		facts.fabricStatus = status
	}
	// `None` says that the driver knows of recovery actions, too.
	if action := smiValue(gpu.RecoveryAction); action != "" || strings.TrimSpace(gpu.RecoveryAction) == "None" {
		facts.recovery = &action
	}
	if mode := smiValue(gpu.MIGMode); mode != "" || len(gpu.MIG) > 0 {
		facts.MIG = &report.MIG{Enabled: mode == "Enabled"}
	}
	for _, device := range gpu.MIG {
		gpuInstance, err := strconv.ParseUint(smiValue(device.GPUInstanceID), 10, 16)
		computeInstance, err2 := strconv.ParseUint(smiValue(device.ComputeInstanceID), 10, 16)
		if err == nil && err2 == nil {
			facts.migNumbers = append(facts.migNumbers, smiValue(device.Index))
			facts.MIG.Devices = append(facts.MIG.Devices, report.MIGDevice{
				GPUInstance: int32(gpuInstance), ComputeInstance: int32(computeInstance), Memory: device.Memory.parse(),
			})
		}
	}
	return facts
}

// power is what the GPU draws now, where the product tells that, else on average; drivers before 535 had one number.
func (gpu *smiGPU) power() string {
	return cmp.Or(smiValue(gpu.PowerInstant), smiValue(gpu.PowerAverage), smiValue(gpu.PowerDraw), smiValue(gpu.PowerOld))
}

func smiYes(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "Yes") }

// smiNumber reads `68.92 W` in parts of the unit; nil where it is no such number, or one outside the bound.
func smiNumber(text, unit string, scale float64, bound int64) *int64 {
	if number, found := strings.CutSuffix(smiValue(text), unit); found {
		return backend.ParseNumber(number, scale, bound)
	}
	return nil
}

func (m smiMemory) parse() *report.Memory {
	total, used := smiNumber(m.Total, " MiB", 1, backend.MaxMemoryMiB), smiNumber(m.Used, " MiB", 1, backend.MaxMemoryMiB)
	return possible(&report.Memory{TotalMiB: *cmp.Or(total, new(int64)), UsedMiB: *cmp.Or(used, new(int64))})
}

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

// broken looks for NVML's words for a broken GPU: anywhere in the element, but for `Unknown Error`, which single sensors
// of working GPUs print too.
func (gpu *smiGPU) broken() []v1alpha1.DeviceHealth {
	for _, fault := range smiFaultTexts {
		if fault.text != "Unknown Error" && bytes.Contains(gpu.Raw, []byte(fault.text)) {
			health, _ := faultHealth(fault.text)
			return []v1alpha1.DeviceHealth{health}
		}
	}
	for _, value := range []string{gpu.Product, gpu.UUID, gpu.Memory.Total} {
		if health, bad := faultHealth(value); bad {
			return []v1alpha1.DeviceHealth{health}
		}
	}
	return nil
}
