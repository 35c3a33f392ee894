package nvidia

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// nvidiaReport is what NVIDIA's driver tells of its GPUs, whoever asked it: NVML or nvidia-smi. All that is concluded
// (health, links, MIG devices) is concluded from this.
type nvidiaReport struct {
	driverVersion string
	cudaVersion   string                  // the highest that the driver runs
	gpus          map[string]*nvidiaFacts // by PCI address as the kernel prints it, else by UUID
	faults        map[string]string       // by PCI address: what was said about a GPU that is not in gpus, or beside it
}

func newNVIDIAReport() nvidiaReport {
	return nvidiaReport{gpus: map[string]*nvidiaFacts{}, faults: map[string]string{}}
}

// answered says whether the driver told anything.
func (r nvidiaReport) answered() bool { return len(r.gpus) > 0 }

// fill adds what the other report has and this one lacks.
func (r *nvidiaReport) fill(other nvidiaReport) {
	r.driverVersion = cmp.Or(r.driverVersion, other.driverVersion)
	r.cudaVersion = cmp.Or(r.cudaVersion, other.cudaVersion)
	for address, facts := range other.gpus {
		if own := r.gpus[address]; own != nil {
			own.fill(facts)
		} else {
			r.gpus[address] = facts
		}
	}
	faults := maps.Clone(other.faults)
	maps.Copy(faults, r.faults)
	r.faults = faults
}

// nvidiaFacts are the facts of one GPU in the form of NVML's document, whoever told them; what is not told is empty or nil.
type nvidiaFacts struct {
	report.GPU
	// links is nil where they were not asked for.
	links *nvLinkFacts
	// broken are the faults that the driver has told in place of answers.
	broken []v1alpha1.DeviceHealth
	// silent says why nothing else is known: the driver did not answer in time.
	silent string
	// recovery is the action that the driver asks for in nvidia-smi's words, empty for none; nil where the driver does not know of
	// recovery actions.
	recovery *string
	// fabricStatus is what joining the NVLink fabric ended with; empty for success.
	fabricStatus string
	// migNumbers are the numbers by which nvidia-smi lists the MIG devices.
	migNumbers []string
}

// fill adds what the other tool tells and this one does not.
func (f *nvidiaFacts) fill(other *nvidiaFacts) {
	if f.MIG != nil && other.MIG != nil && len(f.MIG.Devices) == 0 {
		f.MIG.Devices = other.MIG.Devices
	}
	fillGPU(&f.GPU, other.GPU)
	f.links = cmp.Or(f.links, other.links)
	f.broken = append(f.broken, other.broken...)
	f.recovery = cmp.Or(f.recovery, other.recovery)
	f.fabricStatus = cmp.Or(f.fabricStatus, other.fabricStatus)
}

// fillGPU sets the fields that are not told, which are zero, to what the other source tells.
func fillGPU(gpu *report.GPU, other report.GPU) {
	own, others := reflect.ValueOf(gpu).Elem(), reflect.ValueOf(other)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(others.Field(i))
		}
	}
}

// reading is what the GPU's sensors show.
func (f *nvidiaFacts) reading() backend.Reading {
	return backend.Reading{
		MemoryUsedMiB:      usedMiB(f.Memory),
		TemperatureMilliC:  backend.Thousandths(f.TemperatureC, backend.MaxCelsius),
		PowerMilliW:        backend.AtMost(f.PowerMilliW, backend.MaxMilliWatts),
		UtilizationPercent: backend.AtMost(f.UtilizationPercent, 100),
	}
}

// possible is the memory of a GPU or a MIG device; nil where no device has that much. Of a GPU that shares the processor's address space
// (GH200) it is the GPU's own.
func possible(memory *report.Memory) *report.Memory {
	if memory == nil || memory.TotalMiB <= 0 || memory.TotalMiB > backend.MaxMemoryMiB {
		return nil
	}
	return &report.Memory{TotalMiB: memory.TotalMiB, UsedMiB: min(max(memory.UsedMiB, 0), memory.TotalMiB)}
}

// deviceMemory is an equal part of the memory in the inventory; nil where it is not known. What the driver reserves is not in use by
// anyone: since driver 510 it is reported apart, and what older ones add to the used memory is less than a step.
func deviceMemory(memory *report.Memory, parts int64) *v1alpha1.DeviceMemory {
	if memory == nil {
		return nil
	}
	return backend.Memory(memory.TotalMiB/parts, memory.UsedMiB/parts, v1alpha1.SourceDriver)
}

// usedMiB is the used memory for a reading; nil where it is not known.
func usedMiB(memory *report.Memory) *int64 {
	if memory == nil {
		return nil
	}
	return &memory.UsedMiB
}

type nvLinkFacts struct {
	// total is the number of links that the GPU has, active how many of them are up.
	total, active int
	// mbps is the line rate of the active ones together, in one direction.
	mbps int64
	// remotes is the number of active links to each other end that is known, by PCI address.
	remotes map[string]int
	// toSwitch says that the driver has told of a link to an NVSwitch.
	toSwitch bool
}

// askNVIDIA asks NVIDIA's driver about the GPUs that it has: NVML, in a process of its own, then nvidia-smi where that is
// not installed, fails, or lacks what every driver knows. The report holds what could be had, the problems say what to do
// about the rest.
func askNVIDIA(ctx context.Context, h *host.Host, gpus []nvidiaGPU) (nvidiaReport, []error) {
	if !slices.ContainsFunc(gpus, func(g nvidiaGPU) bool { return g.Driver == nvidiaDriver }) {
		return newNVIDIAReport(), nil // each GPU's own problem says what to do
	}
	told, err := queryNVML(ctx, h)
	problems := []error{err}
	if wholeReport(told, gpus) {
		return told, problems
	}
	smi, smiProblems := askSMI(ctx, h, gpus)
	told.fill(smi)
	return told, append(problems, smiProblems...)
}

// wholeReport says whether the essentials of every GPU are known. A GPU that is not in a report which holds others is
// not given to this container, or excluded: no tool of the driver's reports it.
func wholeReport(told nvidiaReport, gpus []nvidiaGPU) bool {
	for i := range gpus {
		gpu := gpus[i]
		gpu.take(told.gpus[gpu.Address])
		if gpu.facts != nil && !gpu.answers() && len(gpu.facts.broken) == 0 && gpu.facts.silent == "" {
			return false
		}
	}
	return told.answered()
}
