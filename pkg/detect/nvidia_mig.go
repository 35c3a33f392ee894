package detect

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// migInstance is a compute instance in a GPU instance: what work sees as a MIG device.
type migInstance struct {
	gpu, compute  int32
	index         string // nvidia-smi's, for its list of devices
	uuid, profile string
	memory        smiMemory
	paths         []string
}

// readMIG fills in the MIG devices of every GPU: from nvidia-smi's report, with their names from its list of devices;
// where there is no report, from the capabilities that the driver shows under /proc.
func readMIG(ctx context.Context, host *Host, gpus []nvidiaGPU) error {
	listed := false
	for i := range gpus {
		gpu := &gpus[i]
		if gpu.smi == nil {
			gpu.mig = migFromProc(host.Files, gpu.minor())
		} else if gpu.migOn() {
			gpu.mig = migFromSMI(gpu.smi.MIG)
			listed = listed || len(gpu.mig) > 0
		}
		for j := range gpu.mig {
			gpu.mig[j].paths = migPaths(host.Files, gpu.minor(), gpu.mig[j])
		}
	}
	if !listed {
		return nil
	}
	result, err := runTool(ctx, host, nvidiaSMI, "-L")
	if err != nil {
		return err
	}
	names := parseSMIList(string(result.Stdout))
	for i := range gpus {
		for j := range gpus[i].mig {
			instance := &gpus[i].mig[j]
			name := names[migKey{gpus[i].uuid(), instance.index}]
			instance.uuid, instance.profile = name.uuid, name.profile
		}
	}
	return nil
}

func migFromSMI(devices []smiMIG) []migInstance {
	var instances []migInstance
	for _, device := range devices {
		gpu, err := strconv.ParseUint(smiValue(device.GPUInstanceID), 10, 16)
		compute, err2 := strconv.ParseUint(smiValue(device.ComputeInstanceID), 10, 16)
		if err != nil || err2 != nil {
			continue
		}
		instances = append(instances, migInstance{
			gpu: int32(gpu), compute: int32(compute), index: smiValue(device.Index), memory: device.Memory,
		})
	}
	return instances
}

var (
	gpuInstanceName     = regexp.MustCompile(`^gi(\d{1,4})$`)
	computeInstanceName = regexp.MustCompile(`^ci(\d{1,4})$`)
)

func migFromProc(files Files, minor *int32) []migInstance {
	if minor == nil {
		return nil
	}
	folder := path.Join(nvidiaProcFolder, "capabilities", fmt.Sprintf("gpu%d", *minor), "mig")
	gpuInstances, _ := readNames(files, folder)
	var instances []migInstance
	for gpu, name := range numbered(gpuInstances, gpuInstanceName) {
		computeInstances, _ := readNames(files, path.Join(folder, name))
		for compute := range numbered(computeInstances, computeInstanceName) {
			instances = append(instances, migInstance{gpu: gpu, compute: compute})
		}
	}
	return instances
}

// migPaths are the nodes that a process needs: the GPU's, and those that grant the two instances.
func migPaths(files Files, minor *int32, m migInstance) []string {
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
		device.ID = v1alpha1.DeviceID(string(g.id()) + "-" + instance.name())
		device.UUID = instance.uuid
		device.Paths = instance.paths
		device.Partition = &v1alpha1.DevicePartition{
			Kind: "MIG", Parent: g.id(), Profile: instance.profile, Index: instance.gpu,
		}
		if total, ok := smiMiB(instance.memory.Total); ok {
			used, _ := smiMiB(instance.memory.Used)
			total, used = total/sharers[instance.gpu], used/sharers[instance.gpu]
			device.Memory = &v1alpha1.DeviceMemory{
				TotalMiB: total, UsedByOthersMiB: usedInSteps(used, total), Source: v1alpha1.SourceDriver,
			}
			device.Performance = g.migPerformance(instance, total)
		}
		devices = append(devices, device)
	}
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return devices
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

// migKey is a MIG device in the list that `nvidia-smi -L` prints: its GPU's UUID and its number there.
type migKey struct{ gpuUUID, index string }

type migName struct{ uuid, profile string }

var (
	smiListGPU = regexp.MustCompile(`^GPU (\d{1,4}): .*\(UUID: (GPU-[^)]+)\)`)
	smiListMIG = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d{1,3}): \(UUID: (MIG-[^)]+)\)`)
)

// parseSMIList reads lines of `GPU 0: NAME (UUID: GPU-…)`, each followed by those of its MIG devices.
func parseSMIList(text string) map[migKey]migName {
	names := map[migKey]migName{}
	var gpu string
	for line := range strings.Lines(text) {
		if match := smiListGPU.FindStringSubmatch(line); match != nil {
			gpu = match[2]
		} else if match := smiListMIG.FindStringSubmatch(line); match != nil {
			names[migKey{gpu, match[2]}] = migName{uuid: match[3], profile: match[1]}
		}
	}
	return names
}
