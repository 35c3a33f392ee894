package main

import "github.com/rankwright/rankwright/test/recordings/compose"

// guest returns a small virtual machine.
func guest(kernel, system string, dmi map[string]string) compose.Machine {
	return compose.Machine{
		Model: "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", VendorID: "GenuineIntel", Sockets: 1, CoresPerSocket: 8, ThreadsPerCore: 1, MemoryGiB: 32,
		Kernel: kernel, OS: system, DMI: dmi,
	}
}

// xenHost is no instance of AWS.
func xenHost() *compose.Host {
	h := compose.New(`
A guest of a Xen host that is not one of AWS: paravirtual network and disk, no PCI functions but the emulated ones. What firmware
says is from memory; device names are those of drivers/xen/xenbus.`)
	h.Machine(guest("6.12.48+deb13-amd64", "Debian GNU/Linux 13 (trixie)", map[string]string{
		"sys_vendor": "Xen", "bios_vendor": "Xen", "bios_version": "4.17", "product_name": "HVM domU",
	}))
	h.PCI(compose.Function{Place: "pci0000:00/0000:00:02.0", IDs: "5853:0001 5853:0001", Class: "ff8000", Revision: "01", Driver: "xen-platform-pci", NUMA: -1})
	h.Link("/sys/devices/vif-0/driver", "/sys/bus/xen/drivers/vif")
	h.Interface("/sys/devices/vif-0", compose.Interface{Name: "enX0", Mbps: -1})
	h.Disk("/sys/devices/vbd-51712", compose.Disk{Name: "xvda", GB: 107, Rotational: "0", Driver: "vbd"})
	h.Software("lo")
	return h
}

// hyperVHost is no virtual machine of Azure.
func hyperVHost() *compose.Host {
	h := compose.New(`
A guest of a Hyper-V host that is not one of Azure: the same firmware but for the chassis' asset tag, and no virtual function below
its interface. What firmware says is from memory.`)
	h.Machine(guest("6.8.0-60-generic", "Ubuntu 24.04.2 LTS", map[string]string{
		"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine", "chassis_asset_tag": "0000-0015-5555-5555-5555-5555-55",
	}))
	addNetVSC(h, nil)
	addHyperVDisk(h, "sda", 137)
	h.Software("lo")
	return h
}

// microVMHost has no PCI at all.
func microVMHost() *compose.Host {
	h := compose.NewWithoutPCI(`
A microVM without a PCI bus, as Firecracker starts it: network and disk are virtio devices on memory-mapped I/O, and there is no
firmware. Folders are from memory.`)
	h.Machine(guest("6.1.155", "Ubuntu 24.04.2 LTS", nil))
	h.Folder("/sys/bus/virtio/devices")
	const bus = "/sys/devices/virtio-mmio-cmdline"
	h.Disk(bus+"/virtio-mmio.0/virtio0", compose.Disk{Name: "vda", GB: 11, Rotational: "1", Driver: "virtio_blk"})
	h.Link(bus+"/virtio-mmio.1/virtio1/driver", "/sys/bus/virtio/drivers/virtio_net")
	h.Interface(bus+"/virtio-mmio.1/virtio1", compose.Interface{Name: "eth0", Mbps: -1})
	h.Software("lo")
	return h
}

const podUID = "3f1b8f0e-8f0a-4f0e-9d55-0e4e2c7d9a11"

// podHost sees what a pod sees of its node.
func podHost() *compose.Host {
	h := compose.New(`
What a pod sees of its node that mounts nothing of the node's: cgroup version 2 in a namespace of its own, containerd, no service
account's token, the network of the pod and the disks of the node. Made up after proc_pid_mountinfo(5) and the kubelet's mounts.`)
	h.File("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz\nphysical id\t: 0\ncore id\t\t: 0\n")
	h.File("/proc/meminfo", "MemTotal:       33554432 kB")
	h.Files("/proc/sys/kernel", map[string]string{"osrelease": "6.8.0-60-generic", "arch": "x86_64"})
	h.File("/etc/os-release", `PRETTY_NAME="Alpine Linux v3.22"`)
	h.File("/etc/hosts", "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost")
	h.File("/proc/1/cgroup", "0::/")
	h.File("/proc/self/cgroup", "0::/")
	h.Files("/sys/fs/cgroup", map[string]string{"cpu.max": "200000 100000", "memory.max": "1073741824"})
	h.File("/proc/self/mountinfo", `1201 1100 0:201 / / ro,relatime master:400 - overlay overlay ro,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/41/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/90/fs
1202 1201 0:204 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
1203 1201 0:205 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
1204 1203 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
1205 1201 259:2 /var/lib/kubelet/pods/`+podUID+`/etc-hosts /etc/hosts rw,relatime - ext4 /dev/nvme0n1p2 rw
1206 1201 259:2 /var/lib/kubelet/pods/`+podUID+`/containers/agent/0a1b2c3d /dev/termination-log rw,relatime - ext4 /dev/nvme0n1p2 rw`)
	disk := compose.Function{
		Place: "pci0000:00/0000:00:1d.0/0000:01:00.0", IDs: "144d:a80a 144d:a801", Class: "010802", Revision: "00", Driver: "nvme", Link: "16.0 GT/s PCIe x4",
	}
	h.PCI(compose.Bridge("pci0000:00/0000:00:1d.0", "8086:a330 8086:7270", "8.0 GT/s PCIe x4", 0), disk)
	h.NVMe(disk.Folder(), 0, "SAMSUNG MZ1L2960HCJR-00A07", 960)
	h.Software("lo", "eth0")
	return h
}
