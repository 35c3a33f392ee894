package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// queryNVML runs rankwright-nvml, which asks NVML and prints a document: a process of its own, since a library can hang or crash its
// caller. That it is not installed, or finds no library, is no problem: nvidia-smi is asked then. It
// takes no more than half of the time that is left, so that nvidia-smi can be asked when NVML hangs.
func queryNVML(ctx context.Context, h *host.Host) (nvidiaReport, error) {
	none := newNVIDIAReport()
	if deadline, ok := ctx.Deadline(); ok {
		shorter, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = shorter
	}
	result, err := host.Query(ctx, h, "nvidia-smi is asked instead", host.NVMLQuery...)
	switch {
	case host.CannotAsk(h, err):
		return none, nil
	case errors.Is(err, context.DeadlineExceeded):
		return none, fmt.Errorf("%w: GPUs without persistence mode take seconds each to start (nvidia-smi -pm 1, or nvidia-persistenced); "+
			"else the driver hangs, see Xid messages in dmesg; nvidia-smi is asked instead", err)
	case err != nil:
		return none, fmt.Errorf("%w: nvidia-smi is asked instead", err)
	}
	document, err := report.Parse(result.Stdout)
	if err != nil {
		return none, host.CommandError(host.NVMLQuery, err)
	}
	if problem := document.Problem; problem != nil && problem.Kind != report.NoLibrary {
		err = host.CommandError(host.NVMLQuery, host.OfKind(v1alpha1.ErrorToolFailed, fmt.Errorf("%s: %s", problem.Kind, host.Clip(problem.Message, 256))))
	} else if len(document.Unaddressed) > 0 {
		err = host.CommandError(host.NVMLQuery, host.OfKind(v1alpha1.ErrorToolFailed, fmt.Errorf("%d GPUs do not answer: %s", len(document.Unaddressed), document.Unaddressed[0].Text)))
	}
	return nvmlReport(document), err
}

// nvmlReport is what the document says.
func nvmlReport(document report.Host) nvidiaReport {
	found := newNVIDIAReport()
	found.driverVersion, found.cudaVersion = document.DriverVersion, document.CUDAVersion
	linksAsked := !slices.Contains(document.Missing, "nvmlDeviceGetNvLinkState")
	for i := range document.GPUs {
		gpu := &document.GPUs[i]
		facts := nvmlFacts(gpu)
		if linksAsked && len(facts.broken) == 0 && facts.silent == "" {
			facts.links = nvmlLinks(gpu.NVLinks)
		}
		found.gpus[gpu.Key()] = facts
	}
	return found
}

func nvmlFacts(gpu *report.GPU) *nvidiaFacts {
	facts := &nvidiaFacts{GPU: *gpu}
	facts.Minor, facts.Memory = backend.Natural(gpu.Minor), possible(gpu.Memory)
	if mig := gpu.MIG; mig != nil {
		facts.MIG = &report.MIG{Enabled: mig.Enabled}
		for _, device := range mig.Devices {
			if device.GPUInstance >= 0 && device.ComputeInstance >= 0 {
				device.Memory = possible(device.Memory)
				facts.MIG.Devices = append(facts.MIG.Devices, device)
			}
		}
	}
	if action := gpu.RecoveryAction; action != nil {
		facts.recovery = new(nvmlAction(*action))
	}
	if gpu.Fabric != nil && gpu.Fabric.Status != 0 {
		facts.fabricStatus = "NVML's code " + strconv.FormatInt(gpu.Fabric.Status, 10)
	}
	facts.broken, facts.silent = nvmlFaults(gpu.Faults)
	return facts
}

func isTrue(value *bool) bool { return value != nil && *value }

// nvmlActions are the values of nvmlDeviceGpuRecoveryAction_t in nvidia-smi's words. Versions of nvml.h disagree on what
// comes after them.
var nvmlActions = map[int64]string{0: "", 1: "GPU Reset", 2: "Node Reboot", 3: "Drain P2P", 4: "Drain and Reset"}

func nvmlAction(action int64) string {
	if word, ok := nvmlActions[action]; ok {
		return word
	}
	return "action " + strconv.FormatInt(action, 10)
}

// nvmlCodes are the codes that tell of a GPU's health.
var nvmlCodes = map[int64]v1alpha1.DeviceHealth{
	report.CodeGPULost:          {State: v1alpha1.Unhealthy, Reason: "GPULost"},
	report.CodeResetRequired:    {State: v1alpha1.Unhealthy, Reason: "ResetRequired"},
	report.CodeInfoROMCorrupted: {State: v1alpha1.Degraded, Reason: "InfoROMCorrupted"},
}

// essentialCalls fail on no GPU that works. If one fails with a code that nvmlCodes does not have, the driver is at fault.
var essentialCalls = []string{
	"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2",
}

func nvmlFaults(faults []report.Fault) (broken []v1alpha1.DeviceHealth, silent string) {
	for _, fault := range faults {
		said := host.Clip(fmt.Sprintf("NVML says: %s (%s)", fault.Text, fault.Call), backend.MaxMessage)
		health, known := nvmlCodes[fault.Code]
		switch {
		case fault.Code == report.CodeNoAnswer:
			silent = said
			continue
		case known:
		case slices.Contains(essentialCalls, fault.Call):
			health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "DriverError"}
		default:
			continue // single sensors of working GPUs fail, too
		}
		health.Message = said
		broken = append(broken, health)
	}
	return broken, silent
}

// nvmlLinks adds up what is active.
func nvmlLinks(links []report.NVLink) *nvLinkFacts {
	facts := &nvLinkFacts{total: len(links), remotes: map[string]int{}}
	for _, link := range links {
		if !link.Active {
			continue
		}
		facts.active++
		if link.MBps > 0 && link.MBps <= maxNVLinkGBps*1000 {
			facts.mbps += link.MBps
		}
		facts.toSwitch = facts.toSwitch || link.Remote == report.RemoteSwitch
		if link.RemotePCI != "" && (link.Remote == report.RemoteGPU || link.Remote == report.RemoteUnknown) {
			facts.remotes[link.RemotePCI]++
		}
	}
	return facts
}
