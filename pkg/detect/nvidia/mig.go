package nvidia

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// migInstance is a compute instance in a GPU instance: what work sees as a MIG device.
type migInstance struct {
	gpu, compute  int32
	uuid, profile string
	// memory is the GPU instance's, which the compute instances in it share.
	memory nvidiaMemory
	paths  []string
}

// readMIG fills in the GPU's MIG devices: as the driver reports them, else from the capabilities that it shows under
// /proc.
func (g *nvidiaGPU) readMIG(files host.Files) {
	switch {
	case g.facts == nil || !g.answers() && len(g.facts.mig) == 0:
		g.mig = migFromProc(files, g.minor())
	case g.migOn():
		g.mig = slices.Clone(g.facts.mig)
	}
	for i := range g.mig {
		g.mig[i].paths = migPaths(files, g.minor(), g.mig[i])
	}
}

func migFromProc(files host.Files, minor *int32) []migInstance {
	if minor == nil {
		return nil
	}
	folder := path.Join(nvidiaProcFolder, "capabilities", fmt.Sprintf("gpu%d", *minor), "mig")
	gpuInstances, _ := host.ReadNumbered(files, folder, "gi")
	var instances []migInstance
	for _, gpu := range gpuInstances {
		computeInstances, _ := host.ReadNumbered(files, fmt.Sprint(folder, "/gi", gpu), "ci")
		for _, compute := range computeInstances {
			instances = append(instances, migInstance{gpu: int32(gpu), compute: int32(compute)})
		}
	}
	return instances
}

// migPaths are the nodes that a process needs: the GPU's, and those that grant the two instances.
func migPaths(files host.Files, minor *int32, m migInstance) []string {
	if minor == nil {
		return nil
	}
	paths := []string{fmt.Sprintf("/dev/nvidia%d", *minor)}
	gpuInstance := fmt.Sprintf("gpu%d/mig/gi%d", *minor, m.gpu)
	for _, capability := range []string{gpuInstance + "/access", fmt.Sprintf("%s/ci%d/access", gpuInstance, m.compute)} {
		if node := capabilityPath(files, capability); node != "" {
			paths = append(paths, node)
		}
	}
	return paths
}

// migDevices lists the MIG devices. Compute instances of one GPU instance share its memory: each is listed with an equal
// part, so that it is counted once.
func (g *nvidiaGPU) migDevices() []v1alpha1.Device {
	sharers := map[int32]int64{}
	for _, instance := range g.mig {
		sharers[instance.gpu]++
	}
	devices := make([]v1alpha1.Device, 0, len(g.mig))
	for _, instance := range g.mig {
		device := g.device()
		device.ID = g.migID(instance)
		device.UUID = instance.uuid
		device.Paths = instance.paths
		device.Partition = &v1alpha1.DevicePartition{
			Kind: "MIG", Parent: g.id(), Profile: instance.profile, Index: instance.gpu,
		}
		instance.memory = instance.memory.share(sharers[instance.gpu])
		if device.Memory = instance.memory.device(); device.Memory != nil {
			device.Performance = g.migPerformance(instance, device.Memory.TotalMiB)
		}
		devices = append(devices, device)
	}
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return devices
}

// share is an equal part of a memory.
func (m nvidiaMemory) share(sharers int64) nvidiaMemory {
	return nvidiaMemory{totalMiB: m.totalMiB / sharers, usedMiB: m.usedMiB / sharers}
}

func (g *nvidiaGPU) migID(instance migInstance) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(string(g.id()) + "-" + instance.name())
}

// name is made of the instances' own numbers, which do not change when others come and go: mig7, and mig7.1 for a second
// compute instance.
func (m migInstance) name() string {
	if m.compute == 0 {
		return fmt.Sprintf("mig%d", m.gpu)
	}
	return fmt.Sprintf("mig%d.%d", m.gpu, m.compute)
}

// migProfile matches 3g.40gb, 1c.3g.40gb and 1g.10gb+me: compute slices, else GPU slices.
var migProfile = regexp.MustCompile(`^(?:([1-7])c\.)?([1-7])g\.`)

// migSlices is the number of compute slices of a GPU by PCI device id, where it is not 7 (MIG user guide: A30, RTX PRO
// 6000 Blackwell).
var migSlices = map[string]int64{"20b7": 4, "2bb1": 4, "2bb4": 4, "2bb5": 4}

// migPerformance is the instance's part of the product's rates: bandwidth goes with its memory, arithmetic with its
// slices.
func (g *nvidiaGPU) migPerformance(instance migInstance, memoryMiB int64) *v1alpha1.DevicePerformance {
	match := migProfile.FindStringSubmatch(instance.profile)
	whole := g.reportedMiB()
	if !g.known || match == nil || whole <= 0 {
		return nil
	}
	allSlices := cmp.Or(migSlices[g.DeviceID], 7)
	own, _ := strconv.ParseInt(cmp.Or(match[1], match[2]), 10, 64)
	part := *g.product.Performance.DeepCopy()
	part.MemoryBandwidthMBps = int64(float64(part.MemoryBandwidthMBps) * min(1, float64(memoryMiB)/float64(whole)))
	for i := range part.Peak {
		part.Peak[i].GFLOPS = part.Peak[i].GFLOPS * min(own, allSlices) / allSlices
	}
	return &part
}
