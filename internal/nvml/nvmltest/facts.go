package nvmltest

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/nvml/report"
)

// Files beside the library, which it reads: what it tells, and the errors that happen.
const (
	FactsName  = "libnvidia-ml.facts"
	eventsName = "libnvidia-ml.events"
)

// Facts are what the library tells, by key: `driver`, `gpu0.memory`, `gpu0.link3`, `fault.gpu1`. The library's source says
// what each holds; a fault is a code to fail with, Hang or Crash.
type Facts map[string]string

// What becomes of a call, where it is not to fail with a code of NVML's.
const (
	Hang  = "hang"
	Crash = "crash"
)

// ReadFacts reads what the library in a folder tells.
func ReadFacts(folder string) (Facts, error) {
	text, err := os.ReadFile(filepath.Join(folder, FactsName))
	if err != nil {
		return nil, err
	}
	f := Facts{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		f[key] = value
	}
	return f, nil
}

// Write makes these what the library in a folder tells from now on, all at once.
func (f Facts) Write(folder string) error {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&text, "%s %s\n", key, f[key])
	}
	name := filepath.Join(folder, FactsName)
	if err := os.WriteFile(name+".new", []byte(text.String()), 0o644); err != nil { //nolint:gosec // other users' tools read it
		return err
	}
	return os.Rename(name+".new", name)
}

// Event is an error that a GPU reports.
type Event struct {
	// GPU is the index of the GPU in the facts.
	GPU int
	// Type is an event type of nvml.h, Data the number of an XID error.
	Type, Data uint64
	// Instances are GPU instance and compute instance; nil where the event belongs to no MIG device.
	Instances *[2]uint32
}

// Raise has the library in a folder tell an event to who waits for it.
func Raise(folder string, e Event) error {
	file, err := os.OpenFile(filepath.Join(folder, eventsName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // other users' tools read it
	if err != nil {
		return err
	}
	instances := [2]uint32{math.MaxUint32, math.MaxUint32}
	if e.Instances != nil {
		instances = *e.Instances
	}
	if _, err := fmt.Fprintf(file, "%d %d %d %d %d\n", e.GPU, e.Type, e.Data, instances[0], instances[1]); err != nil {
		return err
	}
	return file.Close()
}

// Types of events (nvml.h).
const (
	SingleBitECC uint64 = 0x1
	DoubleBitECC uint64 = 0x2
	XID          uint64 = 0x8
)

// Values of nvml.h's enumerations, by what the document calls them.
var (
	architectures = map[string]int{"Kepler": 2, "Maxwell": 3, "Pascal": 4, "Volta": 5, "Turing": 6, "Ampere": 7, "Ada": 8, "Hopper": 9, "Blackwell": 10}
	linkVersions  = map[string]int{"1.0": 1, "2.0": 2, "2.2": 3, "3.0": 4, "3.1": 5, "4.0": 6, "5.0": 7, "6.0": 8}
	remotes       = map[report.Remote]int{report.RemoteGPU: 0, report.RemoteCPU: 1, report.RemoteSwitch: 2, report.RemoteUnknown: 255}
	fabricStates  = map[report.FabricState]int{report.FabricNotStarted: 1, report.FabricInProgress: 2, report.FabricCompleted: 3}
)

// FactsOf returns the facts by which the library tells what the document says.
func FactsOf(host report.Host) Facts {
	f := Facts{"driver": host.DriverVersion}
	var major, minor int
	if _, err := fmt.Sscanf(host.CUDAVersion, "%d.%d", &major, &minor); err == nil {
		f["cuda"] = fmt.Sprint(1000*major + 10*minor)
	}
	for i := range host.GPUs {
		f.add(fmt.Sprintf("gpu%d", i), &host.GPUs[i])
	}
	return f
}

func (f Facts) add(name string, g *report.GPU) {
	f.set(name+".pci", g.PCI)
	f.set(name+".uuid", g.UUID)
	f.set(name+".name", g.Name)
	f.set(name+".vbios", g.VBIOS)
	if number, known := architectures[g.Architecture]; known {
		f.set(name+".architecture", number)
	}
	f.set(name+".capability", strings.ReplaceAll(g.ComputeCapability, ".", " "))
	setNumber(f, name+".minor", g.Minor)
	setNumber(f, name+".temperature", g.TemperatureC)
	setNumber(f, name+".power", g.PowerMilliW)
	setNumber(f, name+".recovery", g.RecoveryAction)
	if g.UtilizationPercent != nil {
		f.set(name+".utilization", *g.UtilizationPercent, 0)
	}
	setNumber(f, name+".persistence", asNumber(g.PersistenceMode))
	setNumber(f, name+".retired", asNumber(g.RetiredPagesPending))
	f.addMemory(name, g.Memory)
	f.addErrors(name, g)
	for _, link := range g.NVLinks {
		f.set(fmt.Sprintf("%s.link%d", name, link.Index), bit(link.Active), linkVersions[link.Version], remotes[link.Remote], link.MBps, link.RemotePCI)
	}
	if fabric := g.Fabric; fabric != nil {
		unhealthy := 0
		if fabric.Unhealthy != nil {
			unhealthy = 1 + bit(*fabric.Unhealthy)
		}
		f.set(name+".fabric", fabricStates[fabric.State], fabric.Status, value(fabric.Clique), unhealthy, strings.ReplaceAll(fabric.ClusterUUID, "-", ""))
	}
	if g.MIG != nil {
		f.AddMIG(name, *g.MIG)
	}
}

// AddMIG partitions a GPU (`gpu0`), in place of what it was before.
func (f Facts) AddMIG(gpu string, mig report.MIG) {
	maps.DeleteFunc(f, func(key, _ string) bool { return strings.HasPrefix(key, gpu+".mig") })
	f.set(gpu+".mig", bit(mig.Enabled), bit(mig.Pending))
	for i, device := range mig.Devices {
		name := fmt.Sprintf("%s.mig%d", gpu, i)
		f.set(name+".instances", device.GPUInstance, device.ComputeInstance)
		f.set(name+".uuid", device.UUID)
		f.set(name+".name", f[gpu+".name"]+" MIG "+device.Profile)
		f.addMemory(name, device.Memory)
	}
}

func (f Facts) addMemory(name string, m *report.Memory) {
	if m != nil {
		f.set(name+".memory", m.TotalMiB, m.UsedMiB, value(m.ReservedMiB))
	}
}

func (f Facts) addErrors(name string, g *report.GPU) {
	if ecc := g.ECC; ecc != nil {
		f.set(name+".ecc", bit(ecc.Enabled), bit(ecc.Enabled))
		f.set(name+".uncorrectable", value(ecc.VolatileUncorrectable), value(ecc.AggregateUncorrectable))
		setNumber(f, name+".sram", asNumber(ecc.SRAMThresholdExceeded))
	}
	if rows := g.RemappedRows; rows != nil {
		f.set(name+".remapped", rows.Correctable, rows.Uncorrectable, bit(rows.Pending), bit(rows.Failed))
	}
}

// set sets a fact to the values, joined; without values there is no such fact.
func (f Facts) set(key string, values ...any) {
	if text := strings.TrimSpace(fmt.Sprintln(values...)); text != "" {
		f[key] = text
	}
}

func setNumber[T int | int32 | int64](f Facts, key string, number *T) {
	if number != nil {
		f.set(key, *number)
	}
}

func value(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}

func bit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func asNumber(yes *bool) *int {
	if yes == nil {
		return nil
	}
	return new(bit(*yes))
}
