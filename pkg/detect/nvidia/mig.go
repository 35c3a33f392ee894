package nvidia

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// migInstance is a compute instance in a GPU instance: what work sees as a MIG device.
type migInstance struct {
	report.MIGDevice
	paths []string
}

// readMIG fills in the GPU's MIG devices: as the driver reports them, else from the capabilities that it shows under
// /proc.
func (g *nvidiaGPU) readMIG(files host.Files) {
	var devices []report.MIGDevice
	switch {
	case g.facts == nil || !g.answers() && (g.facts.MIG == nil || len(g.facts.MIG.Devices) == 0):
		devices = migFromProc(files, g.said.Minor)
	case g.migOn():
		devices = g.facts.MIG.Devices
	}
	for _, device := range devices {
		g.mig = append(g.mig, migInstance{device, migPaths(files, g.said.Minor, device)})
	}
}

func migFromProc(files host.Files, minor *int32) []report.MIGDevice {
	if minor == nil {
		return nil
	}
	folder := path.Join(nvidiaProcFolder, "capabilities", fmt.Sprintf("gpu%d", *minor), "mig")
	gpuInstances, _ := host.ReadNumbered(files, folder, "gi")
	var devices []report.MIGDevice
	for _, gpu := range gpuInstances {
		computeInstances, _ := host.ReadNumbered(files, fmt.Sprint(folder, "/gi", gpu), "ci")
		for _, compute := range computeInstances {
			devices = append(devices, report.MIGDevice{GPUInstance: int32(gpu), ComputeInstance: int32(compute)})
		}
	}
	return devices
}

// migPaths are the nodes that a process needs: the GPU's, and those that grant the two instances.
func migPaths(files host.Files, minor *int32, m report.MIGDevice) []string {
	if minor == nil {
		return nil
	}
	paths := []string{fmt.Sprintf("/dev/nvidia%d", *minor)}
	gpuInstance := fmt.Sprintf("gpu%d/mig/gi%d", *minor, m.GPUInstance)
	for _, capability := range []string{gpuInstance + "/access", fmt.Sprintf("%s/ci%d/access", gpuInstance, m.ComputeInstance)} {
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
		sharers[instance.GPUInstance]++
	}
	devices := make([]v1alpha1.Device, 0, len(g.mig))
	for _, instance := range g.mig {
		device := g.device()
		device.ID = g.migID(instance)
		device.UUID = instance.UUID
		device.Paths = instance.paths
		device.Partition = &v1alpha1.DevicePartition{
			Kind: "MIG", Parent: g.id(), Profile: instance.Profile, Index: instance.GPUInstance,
		}
		if device.Memory = deviceMemory(instance.Memory, sharers[instance.GPUInstance]); device.Memory != nil {
			device.Performance = g.migPerformance(instance, device.Memory.TotalMiB)
		}
		devices = append(devices, device)
	}
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return devices
}

func (g *nvidiaGPU) migID(instance migInstance) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(string(g.id()) + "-" + instance.name())
}

// name is made of the instances' own numbers, which do not change when others come and go: mig7, and mig7.1 for a second
// compute instance.
func (m migInstance) name() string {
	if m.ComputeInstance == 0 {
		return fmt.Sprintf("mig%d", m.GPUInstance)
	}
	return fmt.Sprintf("mig%d.%d", m.GPUInstance, m.ComputeInstance)
}

// migProfile matches 3g.40gb, 1c.3g.40gb and 1g.10gb+me: compute slices, else GPU slices.
var migProfile = regexp.MustCompile(`^(?:([1-7])c\.)?([1-7])g\.`)

// migSlices is the number of compute slices of a GPU by PCI device id, where it is not 7 (MIG user guide: A30, RTX PRO
// 6000 Blackwell).
var migSlices = map[string]int64{"20b7": 4, "2bb1": 4, "2bb4": 4, "2bb5": 4}

// migPerformance is the instance's part of the product's rates: bandwidth goes with its memory, arithmetic with its
// slices.
func (g *nvidiaGPU) migPerformance(instance migInstance, memoryMiB int64) *v1alpha1.DevicePerformance {
	match := migProfile.FindStringSubmatch(instance.Profile)
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
