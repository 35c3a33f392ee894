package nvidia

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
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

// nvidiaFacts are the facts of one GPU; what is not told is empty or nil.
type nvidiaFacts struct {
	product, architecture, capability, uuid, vbios string
	minor                                          *int32
	memory                                         nvidiaMemory

	// migOn is nil where the product has no MIG.
	migOn *bool
	mig   []migInstance
	// links is nil where they were not asked for.
	links  *nvLinkFacts
	fabric nvidiaFabric

	// broken are the faults that the driver has told in place of answers.
	broken []v1alpha1.DeviceHealth
	// silent says why nothing else is known: the driver did not answer in time.
	silent string
	// recoveryAction is in nvidia-smi's words; empty for none.
	recoveryAction string
	// recoveryKnown says that the driver knows of recovery actions.
	recoveryKnown bool
	// uncorrectable errors since the driver was loaded; nil where they are not counted.
	uncorrectable                                          *int64
	remapFailed, remapPending, retirePending, sramExceeded bool

	reading backend.Reading
}

func (f *nvidiaFacts) fill(other *nvidiaFacts) {
	f.product = cmp.Or(f.product, other.product)
	f.architecture = cmp.Or(f.architecture, other.architecture)
	f.capability = cmp.Or(f.capability, other.capability)
	f.uuid = cmp.Or(f.uuid, other.uuid)
	f.vbios = cmp.Or(f.vbios, other.vbios)
	f.minor = cmp.Or(f.minor, other.minor)
	f.memory = cmp.Or(f.memory, other.memory)
	f.migOn = cmp.Or(f.migOn, other.migOn)
	if len(f.mig) == 0 {
		f.mig = other.mig
	}
	f.links = cmp.Or(f.links, other.links)
	f.fabric = cmp.Or(f.fabric, other.fabric)
	f.broken = append(f.broken, other.broken...)
	f.recoveryAction = cmp.Or(f.recoveryAction, other.recoveryAction)
	f.recoveryKnown = f.recoveryKnown || other.recoveryKnown
	f.uncorrectable = cmp.Or(f.uncorrectable, other.uncorrectable)
	f.remapFailed = f.remapFailed || other.remapFailed
	f.remapPending = f.remapPending || other.remapPending
	f.retirePending = f.retirePending || other.retirePending
	f.sramExceeded = f.sramExceeded || other.sramExceeded
	f.reading.MemoryUsedMiB = cmp.Or(f.reading.MemoryUsedMiB, other.reading.MemoryUsedMiB)
	f.reading.TemperatureMilliC = cmp.Or(f.reading.TemperatureMilliC, other.reading.TemperatureMilliC)
	f.reading.PowerMilliW = cmp.Or(f.reading.PowerMilliW, other.reading.PowerMilliW)
	f.reading.UtilizationPercent = cmp.Or(f.reading.UtilizationPercent, other.reading.UtilizationPercent)
}

// nvidiaMemory is the memory of a GPU or a MIG device. Nothing is known of it where the total is 0. Of a GPU that shares
// the processor's address space (GH200) it is the GPU's own.
type nvidiaMemory struct{ totalMiB, usedMiB int64 }

// newNVIDIAMemory drops impossible numbers.
func newNVIDIAMemory(totalMiB, usedMiB int64) nvidiaMemory {
	if totalMiB <= 0 || totalMiB > backend.MaxMemoryMiB {
		return nvidiaMemory{}
	}
	return nvidiaMemory{totalMiB: totalMiB, usedMiB: min(max(usedMiB, 0), totalMiB)}
}

// device is the memory in the inventory; nil where it is not known. What the driver reserves is not in use by anyone:
// since driver 510 it is reported apart, and what older ones add to the used memory is less than a step.
func (m nvidiaMemory) device() *v1alpha1.DeviceMemory {
	return backend.Memory(m.totalMiB, m.usedMiB, v1alpha1.SourceDriver)
}

// used returns the used memory in MiB, for a reading; nil where it is not known.
func (m nvidiaMemory) used() *int64 {
	if m.totalMiB == 0 {
		return nil
	}
	return new(m.usedMiB)
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

// nvidiaFabric is the GPU's place in an NVLink fabric, in nvidia-smi's words.
type nvidiaFabric struct {
	state, status, clique, cluster string
	unhealthy                      bool
}

const fabricCompleted = "Completed"

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
