package nodeagent

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure"
)

var healthStates = []v1alpha1.HealthState{v1alpha1.Healthy, v1alpha1.Degraded, v1alpha1.Unhealthy, v1alpha1.Unknown}

// deviceTables are the metrics of what is published of the node's devices, so that they agree with the inventory.
type deviceTables struct {
	count, info, health, memory, pods *measure.Table
}

func newDeviceTables(maker measure.Maker) *deviceTables {
	return &deviceTables{
		count: maker.Table("node_agent_devices", "Devices in the inventory.", "vendor", "health"),
		info: maker.Table("device_info", "Always 1; the labels say what a device is, and by what other exporters name it.",
			"device", "vendor", "family", "product", "partition", "uuid", "pci", "driver_version"),
		health: maker.Table("device_health", "1 for the state of health that a device is in, 0 for the others.", "device", "vendor", "state"),
		memory: maker.Table("device_memory_bytes", "Memory of the device that work can use.", "device", "vendor", "product"),
		pods: maker.Table("device_pod_info", "Always 1, for each container that holds a device, by what the kubelet says.",
			"device", "vendor", "namespace", "pod", "container", "resource"),
	}
}

// set is what an inventory says.
func (t *deviceTables) set(status *v1alpha1.AcceleratorInventoryStatus) {
	counts := map[[2]string]float64{}
	var count, info, health, memory, pods []measure.Row
	for i := range status.Devices {
		d := &status.Devices[i]
		counts[[2]string{d.Vendor, string(d.Health.State)}]++
		info = append(info, measure.Row{Value: 1, Labels: []string{string(d.ID), d.Vendor, string(d.Family), d.Product, partitionOf(d), d.UUID, addressOf(d), d.DriverVersion}})
		for _, state := range healthStates {
			health = append(health, measure.Row{Value: measure.Bool(d.Health.State == state), Labels: []string{string(d.ID), d.Vendor, string(state)}})
		}
		if d.Memory != nil {
			memory = append(memory, measure.Row{Value: float64(d.Memory.TotalMiB) * (1 << 20), Labels: []string{string(d.ID), d.Vendor, d.Product}})
		}
	}
	for labels, n := range counts {
		count = append(count, measure.Row{Value: n, Labels: labels[:]})
	}
	for _, a := range status.Allocations {
		pods = append(pods, measure.Row{Value: 1, Labels: []string{string(a.Device), a.Device.Vendor(), a.Namespace, a.Pod, a.Container, a.Resource}})
	}
	t.count.Set(count)
	t.info.Set(info)
	t.health.Set(health)
	t.memory.Set(memory)
	t.pods.Set(pods)
}

func addressOf(d *v1alpha1.Device) string {
	if d.PCI == nil {
		return ""
	}
	return d.PCI.Address
}

// partitionOf is what a device is a part as, in the vendor's words; empty for a whole one.
func partitionOf(d *v1alpha1.Device) string {
	if d.Partition == nil {
		return ""
	}
	return cmp.Or(d.Partition.Profile, d.Partition.Kind)
}
