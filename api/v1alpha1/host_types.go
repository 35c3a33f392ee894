package v1alpha1

// Host is what a node is apart from its accelerators.
type Host struct {
	// Processors of the host.
	// +optional
	CPU CPU `json:"cpu,omitzero"`
	// Memory of the host.
	// +optional
	Memory HostMemory `json:"memory,omitzero"`
	// NUMA nodes of the host, in order of their numbers.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=256
	NUMANodes []NUMANode `json:"numaNodes,omitempty"`
	// Release of the kernel, as `uname -r` prints it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Kernel string `json:"kernel,omitempty"`
	// Name of the operating system, as PRETTY_NAME of /etc/os-release has it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	OS string `json:"os,omitempty"`
	// Name of the cloud provider, from the firmware's tables (DMI): aws, gcp, azure, …; absent elsewhere.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Cloud string `json:"cloud,omitempty"`
	// Instance type of the cloud's machine, where the firmware's tables (DMI) have it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`
	// Region of the cloud, as the Node's label `topology.kubernetes.io/region` says, else as cloud-init has written it down.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`
	// Zone of the region, as the Node's label `topology.kubernetes.io/zone` says, else as cloud-init has written it down.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Zone string `json:"zone,omitempty"`
	// Container runtime that the detecting process runs under; absent on a bare host.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Container string `json:"container,omitempty"`
	// Whether the detecting process runs in a pod. Default: false.
	// +optional
	Kubernetes bool `json:"kubernetes,omitempty"`
}

// CPU is the processors of a host.
type CPU struct {
	// Name of the processor's model.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Machine architecture as Go names it: amd64, arm64, ….
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture,omitempty"`
	// Number of processor sockets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sockets int32 `json:"sockets,omitempty"`
	// Number of physical cores, over all sockets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cores int32 `json:"cores,omitempty"`
	// Number of hardware threads, over all cores.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Threads int32 `json:"threads,omitempty"`
	// CPU limit of the detecting process's cgroup in thousandths of a CPU; absent where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LimitMilli int64 `json:"limitMilli,omitempty"`
}

// HostMemory is the memory of a host.
type HostMemory struct {
	// Memory of the host in MiB (2^20 bytes).
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalMiB int64 `json:"totalMiB,omitempty"`
	// Memory limit of the detecting process's cgroup in MiB (2^20 bytes); absent where there is none below the total.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LimitMiB int64 `json:"limitMiB,omitempty"`
}

// NUMANode is a NUMA node of a host.
type NUMANode struct {
	// Number of the NUMA node, from 0, as the kernel counts.
	// +kubebuilder:validation:Minimum=0
	ID int32 `json:"id"`
	// Numbers of the NUMA node's CPUs, from 0, in the kernel's list format (`0-31,64-95`).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// Memory of the NUMA node in MiB (2^20 bytes).
	// +optional
	// +kubebuilder:validation:Minimum=0
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Distance to each NUMA node of the host, in order of their numbers, as firmware says: 10 is the node itself, 20 takes
	// twice as long to reach. Absent where the kernel does not say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Distances []int32 `json:"distances,omitempty"`
}

// The kinds of network ports: what a port speaks. RoCE is RDMA over Ethernet, iWARP is RDMA over TCP, EFA is the RDMA of
// AWS over a transport of its own.
const (
	NICInfiniBand = "InfiniBand"
	NICRoCE       = "RoCE"
	NICIWARP      = "iWARP"
	NICEFA        = "EFA"
	NICEthernet   = "Ethernet"
)

// The kinds of disks. Unknown is a disk whose hypervisor or array hides what it is.
const (
	StorageNVMe    = "NVMe"
	StorageSSD     = "SSD"
	StorageHDD     = "HDD"
	StorageUnknown = "Unknown"
)

// NIC is a network port.
type NIC struct {
	// Name of the port: device and port where it speaks RDMA (`mlx5_0/1`), else the network interface (`eth0`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// What the port speaks. RoCE is RDMA over Ethernet, iWARP is RDMA over TCP, EFA is the RDMA of AWS.
	// +kubebuilder:validation:Enum=InfiniBand;RoCE;iWARP;EFA;Ethernet
	Kind string `json:"kind"`
	// Versions of RoCE that the port speaks (`v1`, `v2`); absent for other kinds.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=8
	RoCEVersions []string `json:"roceVersions,omitempty"`
	// Names of the network interfaces of the port (`ib0`, `eth0`).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	Interfaces []string `json:"interfaces,omitempty"`
	// Name of the port's kernel driver.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
	// Rate of the port in Gbps (10^9 bits per second); 0 or absent where the port is down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Gbps int32 `json:"gbps,omitempty"`
	// Whether the port has a link. Default: false.
	// +optional
	Up bool `json:"up,omitempty"`
	// Number, from 0, of the NUMA node that the port is attached to; absent where the kernel does not know it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`
	// The port's function on PCI; absent where the port is not on PCI.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
}

// StorageDevice is a disk.
type StorageDevice struct {
	// Kernel's name of the disk (`nvme0n1`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// Kind of disk. NVMe is how the host speaks to it, which in a virtual machine may be to a volume on the network: the
	// model tells. Unknown is a disk whose hypervisor or array hides what it is.
	// +kubebuilder:validation:Enum=NVMe;SSD;HDD;Unknown
	Kind string `json:"kind"`
	// Model as the disk itself reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Size of the disk in MiB (2^20 bytes).
	// +optional
	// +kubebuilder:validation:Minimum=0
	SizeMiB int64 `json:"sizeMiB,omitempty"`
	// Number, from 0, of the NUMA node that the disk is attached to; absent where the kernel does not know it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`
	// The function on PCI of the disk, or of the controller that it is attached to; absent where there is none.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
}
