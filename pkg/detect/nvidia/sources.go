package nvidia

import (
	"context"
	"slices"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// askNVIDIA asks NVIDIA's driver about the GPUs that it has: NVML, in a process of its own, then nvidia-smi where that is
// not installed, fails, or lacks what every driver knows. The report holds what could be had, the problems say what to do
// about the rest.
func askNVIDIA(ctx context.Context, h *host.Host, gpus []nvidiaGPU) (nvidiaReport, []error) {
	if !slices.ContainsFunc(gpus, func(g nvidiaGPU) bool { return g.Driver == nvidiaDriver }) {
		return newNVIDIAReport(), nil // each GPU's own problem says what to do
	}
	report, err := queryNVML(ctx, h)
	problems := []error{err}
	if wholeReport(report, gpus) {
		return report, problems
	}
	smi, smiProblems := askSMI(ctx, h, gpus)
	report.fill(smi)
	return report, append(problems, smiProblems...)
}

// wholeReport says whether the essentials of every GPU are known. A GPU that is not in a report which holds others is
// not given to this container, or excluded: no tool of the driver's reports it.
func wholeReport(report nvidiaReport, gpus []nvidiaGPU) bool {
	for i := range gpus {
		gpu := gpus[i]
		gpu.facts = report.gpus[gpu.Address]
		if gpu.facts != nil && !gpu.answers() && len(gpu.facts.broken) == 0 && gpu.facts.silent == "" {
			return false
		}
	}
	return report.answered()
}
