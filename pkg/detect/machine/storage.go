package machine

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Storage is the backend that lists the host's disks from /sys/block. It lists no devices and runs no command.
//
// A namespace that is reached on several paths (native NVMe multipath) is one disk. Software (loop, device mapper, RAM,
// RAID), removable media and drives without a medium are not listed.
func Storage() backend.Backend { return backend.New("storage", detectStorage) }

const blockFolder = "/sys/block"

// notDisks are names of block devices that have hardware, or seem to, and are no disks: optical and floppy drives, flash
// without a translation layer, boot partitions of eMMC, paths below a multipath namespace, volumes of Ceph.
var notDisks = regexp.MustCompile(`^(sr|fd|mtdblock|rbd|nbd)\d|^mmcblk\d+(boot\d|rpmb)|^nvme\d+c\d+n\d+$`)

func detectStorage(_ context.Context, h *host.Host) (backend.Found, error) {
	names, err := host.ReadNames(h.Files, blockFolder)
	if err != nil {
		return backend.Found{}, err
	}
	functions, pciErr := pci.Functions(h)
	places := pci.PlacesOf(functions)
	var found backend.Found
	for _, name := range names {
		if disk, ok := readDisk(h.Files, places, name); ok {
			found.Storage = append(found.Storage, disk)
		}
	}
	if len(found.Storage) == 0 {
		return backend.Found{}, pciErr
	}
	found.Degrade(pciErr)
	return found, nil
}

const nvmeSubsystems = "/devices/virtual/nvme-subsystem/"

// readDisk reads a block device; ok is false where it is no disk of this host's.
func readDisk(files host.Files, places pci.Places, name string) (disk v1alpha1.StorageDevice, ok bool) {
	folder := path.Join(blockFolder, name)
	target, err := files.ReadLink(folder)
	if err != nil || notDisks.MatchString(name) || strings.Contains(target, "/devices/virtual/") && !isNVMe(target) {
		return disk, false
	}
	a, ok := pci.Attached(files, places, folder)
	sectors, _, err := host.ReadInt(files, path.Join(folder, "size"))
	if !ok || err != nil || sectors>>sectorsToMiB <= 0 {
		return disk, false
	}
	if removable, _, err := host.ReadInt(files, path.Join(folder, "removable")); err == nil && removable == 1 {
		return disk, false
	}
	if strings.Contains(target, nvmeSubsystems) {
		a = controllerOf(files, places, a)
	}
	disk = v1alpha1.StorageDevice{
		Name: name, Model: readModel(files, folder), SizeMiB: sectors >> sectorsToMiB, NUMANode: a.Numa, PCI: a.Pci,
	}
	disk.Kind = diskKind(files, folder, a.Driver)
	return disk, true
}

// sectorsToMiB: sizes are in sectors of 512 bytes, whatever the disk's own are.
const sectorsToMiB = 11

// isNVMe says whether a link of /sys/block leads to an NVMe namespace that the kernel keeps among its virtual devices:
// one with several paths, or one of a controller on the network.
func isNVMe(target string) bool {
	return strings.Contains(target, nvmeSubsystems) || strings.Contains(target, "/devices/virtual/nvme-fabrics/")
}

// controllerOf is where the first controller of an NVMe subsystem sits.
func controllerOf(files host.Files, places pci.Places, subsystem pci.Attachment) pci.Attachment {
	numbers, _ := host.ReadNumbered(files, subsystem.Folder, "nvme")
	for _, number := range numbers {
		folder, err := files.RealPath(fmt.Sprint(subsystem.Folder, "/nvme", number))
		if err != nil {
			continue
		}
		if a, ok := pci.Attached(files, places, folder); ok {
			return a
		}
	}
	return subsystem
}

// readModel joins vendor and model of a disk; `ATA` is no vendor but SCSI's word for a disk that has none.
func readModel(files host.Files, folder string) string {
	model, _, _ := host.ReadText(files, path.Join(folder, "device/model"))
	vendor, _, _ := host.ReadText(files, path.Join(folder, "device/vendor"))
	if model == "" {
		model, _, _ = host.ReadText(files, path.Join(folder, "device/name")) // of an SD card or eMMC
	}
	if vendor == "" || vendor == "ATA" || strings.HasPrefix(vendor, "0x") {
		return model
	}
	return strings.TrimSpace(vendor + " " + model)
}

// paravirtual are the drivers, and hypervisors the SCSI vendors, of disks of which a guest sees no more than a size:
// whether they rotate is what the hypervisor's default says.
var (
	paravirtual = map[string]bool{"virtio_blk": true, "vbd": true}
	hypervisors = map[string]bool{
		"QEMU": true, "VMware": true, "Msft": true, "Google": true, "VBOX": true, "NUTANIX": true, "ORACLE": true, "LIO-ORG": true,
	}
)

func diskKind(files host.Files, folder, driver string) string {
	if strings.HasPrefix(path.Base(folder), "nvme") {
		return v1alpha1.StorageNVMe
	}
	vendor, _, _ := host.ReadText(files, path.Join(folder, "device/vendor"))
	if paravirtual[driver] || hypervisors[vendor] {
		return v1alpha1.StorageUnknown
	}
	switch rotational, ok, err := host.ReadInt(files, path.Join(folder, "queue/rotational")); {
	case err != nil || !ok:
		return v1alpha1.StorageUnknown
	case rotational == 0:
		return v1alpha1.StorageSSD
	default:
		return v1alpha1.StorageHDD
	}
}
