package dashboards

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// exporters are what the vendors' own exporters would show of the recorded hosts: names and labels as their documents and samples have them
// (docs/dashboards.md says where), UUIDs and addresses as recorded, and numbers of no device.
func exporters(s *story) map[string]string {
	shown := map[string]string{}
	for _, name := range []string{"h100-0", "l40s-0"} {
		for i, d := range s.sites[name].devices(s.World) {
			labels := fmt.Sprintf(`gpu="%d",UUID=%q,pci_bus_id="0000%s",device="nvidia%d",modelName=%q,Hostname="dcgm-%s",DCGM_FI_DRIVER_VERSION="570.86.15"`, i, d.UUID, strings.ToUpper(d.PCI.Address), i, d.Product, name)
			shown["dcgm-"+name] += lines(labels, map[string]float64{"DCGM_FI_DEV_GPU_UTIL": 41, "DCGM_FI_DEV_FB_USED": 1024, "DCGM_FI_DEV_GPU_TEMP": 55, "DCGM_FI_DEV_POWER_USAGE": 212.5})
		}
	}
	for i, d := range s.sites["mi300x-0"].devices(s.World) {
		labels := fmt.Sprintf(`card_model="102-G30211-0C",gpu_compute_partition_type="spx",gpu_id="%d",gpu_partition_id="0",gpu_uuid=%q,hostname="mi300x-0",serial_number="6924090054%02d"`, i, amdUUID(&d), i)
		shown["amd"] += lines(labels, map[string]float64{"gpu_gfx_activity": 12, "gpu_used_vram": 2048, "gpu_junction_temperature": 47, "gpu_power_usage": 160})
	}
	for _, d := range s.sites["max-0"].devices(s.World) {
		labels := fmt.Sprintf(`node="max-0",pci_bdf=%q,hw_name=%q`, d.PCI.Address, d.Product)
		shown["xpum"] += lines(labels+`,hw_gpu_task="all"`, map[string]float64{"hw_gpu_utilization_ratio": 0.3}) +
			lines(labels+`,hw_memory_location="device"`, map[string]float64{"hw_memory_usage_bytes": 1 << 30}) +
			lines(labels+`,hw_sensor_location="gpu"`, map[string]float64{"hw_temperature_celsius": 39}) +
			lines(labels, map[string]float64{"hw_power_watts": 130})
	}
	return shown
}

func lines(labels string, values map[string]float64) string {
	var text strings.Builder
	for name, value := range values {
		_, _ = fmt.Fprintf(&text, "%s{%s} %g\n", name, labels, value)
	}
	return text.String()
}

// amdUUID is what AMD SMI makes of a device's unique id, byte 7 first: the function, the PCI device id, and the other bytes in the places of a UUID.
func amdUUID(d *v1alpha1.Device) string {
	id := strings.TrimPrefix(d.UUID, "GPU-")
	return fmt.Sprintf("%sff%s-0000-1000-80%s-%s", id[:2], d.PCI.DeviceID, id[2:4], id[4:])
}
