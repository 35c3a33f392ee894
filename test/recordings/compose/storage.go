package compose

import (
	"fmt"
	"path"
	"strings"
)

// Disk is a block device.
type Disk struct {
	Name          string
	Vendor, Model string
	GB            int // of 10^9 bytes, as disks are sold
	// Rotational is what the file queue/rotational says; empty where there is none.
	Rotational string
	Removable  bool
	// Driver is the driver of the device that is the disk; NVMe has none.
	Driver string
}

// NVMe adds controller and namespace 1 of an NVMe disk at a function: nvme0 and nvme0n1 for number 0.
func (h *Host) NVMe(folder string, number int, model string, gb int) {
	controller := fmt.Sprintf("%s/nvme/nvme%d", folder, number)
	h.Link(controller+"/device", "../../../"+path.Base(folder))
	h.disk(controller, controller, Disk{Name: fmt.Sprintf("nvme%dn1", number), Model: model, GB: gb, Rotational: "0"})
}

// Disk adds a disk that is the device at a folder, such as a SCSI unit or a virtio device.
func (h *Host) Disk(folder string, d Disk) { h.disk(folder, folder+"/block", d) }

func (h *Host) disk(device, above string, d Disk) {
	node := path.Join(above, d.Name)
	h.Link("/sys/block/"+d.Name, ".."+strings.TrimPrefix(node, "/sys"))
	h.Link(node+"/device", strings.Repeat("../", strings.Count(strings.TrimPrefix(node, device), "/")+1)+path.Base(device))
	removable := "0"
	if d.Removable {
		removable = "1"
	}
	h.Files(node, map[string]string{"size": fmt.Sprint(d.GB * 1_000_000_000 / 512), "removable": removable})
	for name, content := range map[string]string{"model": d.Model, "vendor": d.Vendor} {
		if content != "" {
			h.File(path.Join(device, name), content)
		}
	}
	if d.Rotational != "" {
		h.File(node+"/queue/rotational", d.Rotational)
	}
	if d.Driver != "" {
		h.Link(path.Join(device, "driver"), "/sys/bus/drivers/"+d.Driver)
	}
}
