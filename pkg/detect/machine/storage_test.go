package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func disks(t *testing.T, h *host.Host) ([]v1alpha1.StorageDevice, v1alpha1.BackendStatus) {
	t.Helper()
	status := detect.Detect(t.Context(), h, detect.Options{Backends: []backend.Backend{machine.Storage()}}).Status
	return status.Storage, status.Backends[0]
}

func TestStorageDisks(t *testing.T) {
	disk := func(name, vendor, model, driver, rotational string) func(*compose.Host, string) {
		return func(h *compose.Host, folder string) {
			h.Disk(folder+"/unit", compose.Disk{Name: name, Vendor: vendor, Model: model, GB: 960, Rotational: rotational, Driver: driver})
		}
	}
	const mib = 915527 // of 960 GB
	tests := map[string]struct {
		compose func(h *compose.Host, folder string)
		want    []v1alpha1.StorageDevice
	}{
		"NVMe": {
			func(h *compose.Host, folder string) { h.NVMe(folder, 0, "SAMSUNG MZQL2960HCJR-00A07", 960) },
			[]v1alpha1.StorageDevice{{Name: "nvme0n1", Kind: "NVMe", Model: "SAMSUNG MZQL2960HCJR-00A07", SizeMiB: mib}},
		},
		"a volume on the network that looks like NVMe keeps its model": {
			func(h *compose.Host, folder string) { h.NVMe(folder, 0, "Amazon Elastic Block Store", 960) },
			[]v1alpha1.StorageDevice{{Name: "nvme0n1", Kind: "NVMe", Model: "Amazon Elastic Block Store", SizeMiB: mib}},
		},
		"SATA SSD": {
			disk("sda", "ATA", "INTEL SSDSC2KB96", "sd", "0"),
			[]v1alpha1.StorageDevice{{Name: "sda", Kind: "SSD", Model: "INTEL SSDSC2KB96", SizeMiB: mib}},
		},
		"SAS HDD": {
			disk("sda", "SEAGATE", "ST960", "sd", "1"),
			[]v1alpha1.StorageDevice{{Name: "sda", Kind: "HDD", Model: "SEAGATE ST960", SizeMiB: mib}},
		},
		"nothing said of rotation": {
			disk("sda", "", "", "sd", ""),
			[]v1alpha1.StorageDevice{{Name: "sda", Kind: "Unknown", SizeMiB: mib}},
		},
		// The hypervisor's default is 1, whatever is below.
		"virtio": {
			disk("vda", "0x1af4", "", "virtio_blk", "1"),
			[]v1alpha1.StorageDevice{{Name: "vda", Kind: "Unknown", SizeMiB: mib}},
		},
		"Xen":     {disk("xvda", "", "", "vbd", "0"), []v1alpha1.StorageDevice{{Name: "xvda", Kind: "Unknown", SizeMiB: mib}}},
		"Hyper-V": {disk("sda", "Msft", "Virtual Disk", "sd", "1"), []v1alpha1.StorageDevice{{Name: "sda", Kind: "Unknown", Model: "Msft Virtual Disk", SizeMiB: mib}}},
		"Google":  {disk("sda", "Google", "PersistentDisk", "sd", "1"), []v1alpha1.StorageDevice{{Name: "sda", Kind: "Unknown", Model: "Google PersistentDisk", SizeMiB: mib}}},
		"eMMC": {
			func(h *compose.Host, folder string) {
				h.Disk(folder+"/mmc0:0001", compose.Disk{Name: "mmcblk0", GB: 960, Rotational: "0"})
				h.File(folder+"/mmc0:0001/name", "DG4064")
				h.Disk(folder+"/mmc0:0001", compose.Disk{Name: "mmcblk0boot0", GB: 4, Rotational: "0"})
			},
			[]v1alpha1.StorageDevice{{Name: "mmcblk0", Kind: "SSD", Model: "DG4064", SizeMiB: mib}},
		},
		"one namespace on two paths": {
			func(h *compose.Host, folder string) {
				const subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
				h.File(folder+"/nvme/nvme0/model", "path")
				h.Link(folder+"/nvme/nvme0/device", "../../../0000:01:00.0")
				h.Disk(folder+"/nvme/nvme0", compose.Disk{Name: "nvme0c0n1", GB: 960})
				h.Disk(folder+"/nvme/nvme0", compose.Disk{Name: "nvme0c1n1", GB: 960})
				h.Disk(subsystem, compose.Disk{Name: "nvme0n1", Model: "KIOXIA KCM61RUL960G", GB: 960, Rotational: "0"})
				h.Link(subsystem+"/nvme0", folder+"/nvme/nvme0")
			},
			[]v1alpha1.StorageDevice{{Name: "nvme0n1", Kind: "NVMe", Model: "KIOXIA KCM61RUL960G", SizeMiB: mib}},
		},
		"what is no disk": {
			func(h *compose.Host, folder string) {
				h.Disk(folder+"/1", compose.Disk{Name: "sr0", GB: 4, Rotational: "1"})
				h.Disk(folder+"/2", compose.Disk{Name: "sdb", GB: 32, Rotational: "1", Removable: true})
				h.Disk(folder+"/3", compose.Disk{Name: "sdc", Rotational: "1"})
				for _, name := range []string{"loop0", "dm-0", "ram0", "zram0", "md0", "nbd0"} {
					h.File("/sys/devices/virtual/block/"+name+"/size", "2048")
					h.Link("/sys/block/"+name, "../devices/virtual/block/"+name)
				}
			},
			nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := compose.New("disks")
			function := compose.Function{
				Place: "pci0000:00/0000:00:01.0/0000:01:00.0", IDs: "144d:a80a 144d:a801", Class: "010802", Driver: "nvme", NUMA: 1, Link: "16.0 GT/s PCIe x4",
			}
			h.PCI(function)
			test.compose(h, function.Folder())
			got, outcome := disks(t, h.Replay(t))
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(v1alpha1.StorageDevice{}, "PCI", "NUMANode")); diff != "" || outcome.Message != "" {
				t.Errorf("%+v\n%s", outcome, diff)
			}
			for _, disk := range got {
				if disk.PCI == nil || disk.PCI.Address != function.Address() || disk.PCI.LinkMTps != 16000 || disk.NUMANode == nil || *disk.NUMANode != 1 {
					t.Errorf("%s sits at %+v", disk.Name, disk.PCI)
				}
			}
		})
	}
}

// A disk on the network has a controller, but no place on PCI.
func TestStorageOverFabrics(t *testing.T) {
	h := compose.New("fabrics")
	const controller = "/sys/devices/virtual/nvme-fabrics/ctl/nvme0"
	h.File(controller+"/numa_node", "-1")
	h.Disk(controller, compose.Disk{Name: "nvme0n1", Model: "Linux", GB: 100, Rotational: "0"})
	got, _ := disks(t, h.Replay(t))
	want := []v1alpha1.StorageDevice{{Name: "nvme0n1", Kind: "NVMe", Model: "Linux", SizeMiB: 95367}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStorageWithoutSysfs(t *testing.T) {
	if got, outcome := disks(t, host.NewRecording().Host()); len(got) != 0 || outcome.State != v1alpha1.BackendFailed {
		t.Errorf("%+v, %+v", got, outcome)
	}
}
