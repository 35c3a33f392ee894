package nvidia

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// health is the worst of what can be observed. Where nothing can be, it is Unknown.
func (g *nvidiaGPU) health() v1alpha1.DeviceHealth {
	fault, faulty := faultHealth(g.fault)
	if faulty && (g.facts == nil || fault.State == v1alpha1.Unhealthy) {
		return fault
	}
	switch {
	case g.Driver != nvidiaDriver:
		return backend.Unknown("NoDriver", "the nvidia driver is not bound to the GPU")
	case g.facts == nil && g.fault != "":
		return backend.Unknown("NotReported", g.fault)
	case g.facts == nil && g.othersReported:
		return backend.Unknown("NotReported", "the driver reports other GPUs and not this one: it is broken, excluded, or not given to the container that looks")
	case g.facts == nil:
		return backend.NotMonitored("the driver is bound to the GPU, and only its own tools can tell more: neither rankwright-nvml nor nvidia-smi reported it, install one or make the driver's library visible")
	case g.facts.silent != "":
		return backend.Unknown("NoAnswer", g.facts.silent)
	}
	worst := backend.Healthy("the driver answers and reports no fault")
	if faulty {
		worst = fault
	}
	for _, check := range nvidiaChecks {
		if health, bad := check(g.facts); bad && severity[health.State] > severity[worst.State] {
			worst = health
		}
	}
	if worst.State == v1alpha1.Healthy && !g.answers() {
		return backend.NotMonitored("the driver reports the GPU, but neither its UUID nor its memory")
	}
	return worst
}

var severity = map[v1alpha1.HealthState]int{v1alpha1.Healthy: 0, v1alpha1.Degraded: 1, v1alpha1.Unhealthy: 2}

// nvidiaChecks look for one fault each.
var nvidiaChecks = []func(*nvidiaFacts) (v1alpha1.DeviceHealth, bool){
	checkAnswers, checkRecovery, checkRows, checkFabric,
}

// checkAnswers returns the worst of what the driver has told in place of answers.
func checkAnswers(facts *nvidiaFacts) (worst v1alpha1.DeviceHealth, bad bool) {
	for _, health := range facts.broken {
		if !bad || severity[health.State] > severity[worst.State] {
			worst, bad = health, true
		}
	}
	return worst, bad
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

func checkRecovery(facts *nvidiaFacts) (v1alpha1.DeviceHealth, bool) {
	if facts.recovery == nil || *facts.recovery == "" {
		return v1alpha1.DeviceHealth{}, false
	}
	if health, known := recoveryActions[*facts.recovery]; known {
		return health, true
	}
	return backend.Degraded("RecoveryAction", "the driver asks for: "+*facts.recovery), true
}

// checkRows looks at memory that failed: rows that could not be remapped are still in use, remapped ones and retired
// pages wait for a reset.
func checkRows(gpu *nvidiaFacts) (v1alpha1.DeviceHealth, bool) {
	rows, ecc := cmp.Or(gpu.RemappedRows, &report.RemappedRows{}), cmp.Or(gpu.ECC, &report.ECC{})
	facts := []struct {
		is     bool
		health v1alpha1.DeviceHealth
	}{
		{rows.Failed, backend.Unhealthy("RowRemapFailure", "a row of memory could not be remapped: the GPU is to be replaced")},
		{rows.Pending, backend.Degraded("RowRemapPending", "a remapped row of memory waits for a reset of the GPU")},
		{isTrue(gpu.RetiredPagesPending), backend.Degraded("PageRetirementPending", "a retired page of memory waits for a reset of the GPU")},
		{isTrue(ecc.SRAMThresholdExceeded), backend.Degraded("SRAMThresholdExceeded", "uncorrectable errors of on-chip memory exceed the driver's threshold")},
	}
	for _, fact := range facts {
		if fact.is {
			return fact.health, true
		}
	}
	return v1alpha1.DeviceHealth{}, false
}

// checkFabric looks at the NVLink fabric: until it is up, a GPU that has one runs no CUDA.
func checkFabric(facts *nvidiaFacts) (v1alpha1.DeviceHealth, bool) {
	switch fabric := cmp.Or(facts.Fabric, &report.Fabric{}); {
	case fabric.State == report.FabricInProgress || fabric.State == report.FabricNotStarted:
		return backend.Unhealthy("FabricNotReady", "the NVLink fabric is not up: see to nvidia-fabricmanager"), true
	case fabric.State == report.FabricCompleted && facts.fabricStatus != "":
		return backend.Degraded("FabricError", "the NVLink fabric came up with: "+facts.fabricStatus), true
	case isTrue(fabric.Unhealthy):
		return backend.Degraded("FabricUnhealthy", "the NVLink fabric reports itself unhealthy"), true
	}
	return v1alpha1.DeviceHealth{}, false
}

// signs are what else the driver's facts tell. A driver that knows of recovery actions remembers in them what an XID has
// told of; of an older one, XIDs are told as events alone.
func (g *nvidiaGPU) signs() backend.Signs {
	if g.Driver != nvidiaDriver || !g.answers() {
		return backend.Signs{}
	}
	signs := backend.Signs{
		NoActionNeeded: g.facts.recovery != nil && *g.facts.recovery == "" && len(g.facts.broken) == 0,
		ByEvents:       g.facts.recovery == nil,
	}
	if ecc := g.facts.ECC; ecc != nil {
		if count := backend.AtMost(ecc.VolatileUncorrectable, backend.MaxErrors); count != nil {
			signs.Count(backend.ReasonUncorrectable, *count)
		}
	}
	return signs
}
