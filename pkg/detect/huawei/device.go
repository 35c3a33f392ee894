package huawei

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

var ascendKind = backend.Kind{Backend: "ascend", Vendor: "huawei", Family: v1alpha1.FamilyNPU}

// ascendSharedNodes are what a process needs beside the NPU's own node: the driver's management, memory and
// communication (Huawei, Ascend Docker runtime).
var ascendSharedNodes = []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}

func (n *ascendNPU) device(files host.Files, version string) v1alpha1.Device {
	device, row, _ := ascendKind.Device(files, n.Function, n.product())
	n.row = row
	device.ID, device.Index, device.DriverVersion = n.id(), n.index(), ""
	device.Architecture = "Ascend"
	if n.Driver == ascendDriver {
		device.DriverVersion = version
	}
	if n.smi != nil && n.smi.totalMiB > 0 {
		device.Memory = backend.Memory(n.smi.totalMiB, n.smi.usedMiB, v1alpha1.SourceDriver)
	}
	device.Paths = n.paths(files)
	device.Partition = n.partition()
	device.Health = n.health(device.Paths)
	return device
}

func (n *ascendNPU) id() v1alpha1.DeviceID {
	if n.chips < 2 {
		return n.whole()
	}
	return v1alpha1.DeviceID(fmt.Sprintf("%s-%d", n.whole(), n.chip))
}

// product is the name that npu-smi gives (`910B2`, `310P3`), else what the PCI id tells. npu-smi calls a 910C by the
// name of the whole line (`Ascend910`).
func (n *ascendNPU) product() string {
	if n.smi != nil && n.smi.name != "" && n.DeviceID != "d803" {
		return "Ascend " + strings.TrimPrefix(n.smi.name, "Ascend")
	}
	return ascendChips[n.DeviceID]
}

func (n *ascendNPU) index() *int32 {
	if n.number == nil && n.smi != nil {
		return n.smi.physical
	}
	return n.number
}

func (n *ascendNPU) paths(files host.Files) []string {
	number := n.index()
	if number == nil {
		return nil
	}
	own := fmt.Sprint("/dev/davinci", *number)
	if !host.Exists(files, own) {
		return nil
	}
	paths := []string{own}
	for _, shared := range ascendSharedNodes {
		if host.Exists(files, shared) {
			paths = append(paths, shared)
		}
	}
	return paths
}

// partition says what the chip is a part of: of a function with two chips, or of a 910C's package, whose dies have the
// numbers 2n and 2n+1.
func (n *ascendNPU) partition() *v1alpha1.DevicePartition {
	switch {
	case n.chips > 1:
		return &v1alpha1.DevicePartition{Kind: "chip", Parent: n.whole(), Index: int32(n.chip)}
	case n.DeviceID == "d803" && n.number != nil:
		parent := ascendKind.ID(fmt.Sprint("npu", *n.number/2))
		return &v1alpha1.DevicePartition{Kind: "die", Parent: parent, Index: *n.number % 2}
	default:
		return nil
	}
}

// ascendHealth is what npu-smi's words mean: it prints the worst alarm of a chip, from minor to critical.
var ascendHealth = map[string]v1alpha1.HealthState{
	"OK": v1alpha1.Healthy, "Warning": v1alpha1.Degraded, "Alarm": v1alpha1.Unhealthy, "Critical": v1alpha1.Unhealthy,
}

func (n *ascendNPU) health(paths []string) v1alpha1.DeviceHealth {
	seen := backend.HealthUnder(n.Driver, paths, ascendRemedy, ascendDriver)
	switch {
	case n.Driver != ascendDriver:
		return seen
	case n.omitted:
		return backend.Unknown("NotListed", "npu-smi info lists other NPUs and not this one: it does not answer the driver (see dmesg and npu-smi info -l), or another container or virtual machine has it")
	case n.smi == nil:
		return seen
	}
	state, known := ascendHealth[n.smi.health]
	switch {
	case !known:
		return backend.Unknown("HealthUnknown", fmt.Sprintf("npu-smi calls its health %q", host.Clip(n.smi.health, 64)))
	case state != v1alpha1.Healthy:
		return v1alpha1.DeviceHealth{
			State: state, Reason: "Alarm",
			Message: fmt.Sprintf("npu-smi calls its health %s: see npu-smi info -t health -i %d -c %d", n.smi.health, n.smi.npu, n.smi.chip),
		}
	case seen.State == v1alpha1.Healthy:
		return backend.Healthy("npu-smi calls its health " + n.smi.health)
	default:
		return seen
	}
}
