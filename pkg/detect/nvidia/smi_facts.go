package nvidia

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// facts returns what the element of a GPU says. names has the MIG devices' names, which the element lacks.
func (gpu *smiGPU) facts(names map[migKey]migName) *nvidiaFacts {
	facts := &nvidiaFacts{
		product: smiValue(gpu.Product), architecture: smiValue(gpu.Architecture), uuid: smiValue(gpu.UUID), vbios: smiValue(gpu.VBIOS),
		memory: gpu.Memory.parse(), mig: gpu.migInstances(names), recoveryAction: smiValue(gpu.RecoveryAction),
		recoveryKnown: smiKnownAction(gpu.RecoveryAction), broken: gpu.broken(),
		remapFailed: smiYes(gpu.RemapFailure), remapPending: smiYes(gpu.RemapPending),
		retirePending: smiYes(gpu.RetirePending), sramExceeded: smiYes(gpu.SRAMThresholdHit),
		fabric: nvidiaFabric{
			state: smiValue(gpu.FabricState), clique: smiValue(gpu.FabricClique), cluster: smiValue(gpu.FabricCluster),
			unhealthy: smiValue(gpu.FabricHealth) == "Unhealthy",
		},
		reading: backend.Reading{
			TemperatureMilliC:  smiNumber(gpu.Temperature, " C", 1000, backend.MaxCelsius*1000),
			PowerMilliW:        smiNumber(gpu.power(), " W", 1000, backend.MaxMilliWatts),
			UtilizationPercent: smiNumber(gpu.Utilization, " %", 1, 100),
		},
	}
	facts.reading.MemoryUsedMiB = facts.memory.used()
	if mode := smiValue(gpu.MIGMode); mode != "" {
		on := mode == "Enabled"
		facts.migOn = &on
	}
	if minor, ok := smiMinor(gpu.Minor); ok {
		facts.minor = &minor
	}
	if status := smiValue(gpu.FabricStatus); status != "Success" {
		facts.fabric.status = status
	}
	return facts
}

func (gpu *smiGPU) migInstances(names map[migKey]migName) []migInstance {
	var instances []migInstance
	for _, device := range gpu.MIG {
		gpuInstance, err := strconv.ParseUint(smiValue(device.GPUInstanceID), 10, 16)
		computeInstance, err2 := strconv.ParseUint(smiValue(device.ComputeInstanceID), 10, 16)
		if err != nil || err2 != nil {
			continue
		}
		name := names[migKey{smiValue(gpu.UUID), smiValue(device.Index)}]
		instances = append(instances, migInstance{
			gpu: int32(gpuInstance), compute: int32(computeInstance), uuid: name.uuid, profile: name.profile,
			memory: device.Memory.parse(),
		})
	}
	return instances
}

// power is what the GPU draws now, where the product tells that, else on average; drivers before 535 had one number.
func (gpu *smiGPU) power() string {
	return cmp.Or(smiValue(gpu.PowerInstant), smiValue(gpu.PowerAverage), smiValue(gpu.PowerDraw), smiValue(gpu.PowerOld))
}

func smiYes(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "Yes") }

// smiNumber reads `68.92 W` in parts of the unit; nil where it is no such number, or one outside the bound.
func smiNumber(text, unit string, scale, bound int64) *int64 {
	number, found := strings.CutSuffix(smiValue(text), unit)
	value, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(value >= 0 && value <= float64(bound)) {
		return nil
	}
	scaled := int64(value * float64(scale))
	return backend.AtMost(&scaled, bound)
}

func (m smiMemory) parse() nvidiaMemory { return newNVIDIAMemory(smiMiB(m.Total), smiMiB(m.Used)) }

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

// smiKnownAction says whether the driver knows of recovery actions: `None` is one, too.
func smiKnownAction(text string) bool {
	return strings.TrimSpace(text) == "None" || smiValue(text) != ""
}
