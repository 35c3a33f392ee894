package v1alpha1

// Host is what a node is apart from its accelerators.
type Host struct {
	// Processors.
	// +optional
	CPU CPU `json:"cpu,omitzero"`
	// Memory.
	// +optional
	Memory HostMemory `json:"memory,omitzero"`
	// NUMA nodes, in order of their numbers.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=256
	NUMANodes []NUMANode `json:"numaNodes,omitempty"`
	// Kernel release.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Kernel string `json:"kernel,omitempty"`
	// Operating system's pretty name.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	OS string `json:"os,omitempty"`
	// Cloud provider, from DMI: aws, gcp, azure, ….
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Cloud string `json:"cloud,omitempty"`
	// Instance type, where DMI has it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	InstanceType string `json:"instanceType,omitempty"`
	// Region, as the Node's labels say (`topology.kubernetes.io/region`), else as cloud-init has written it down.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`
	// Zone of the region, as the Node's labels say (`topology.kubernetes.io/zone`), else as cloud-init has written it down.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Zone string `json:"zone,omitempty"`
	// Container runtime around the detecting process; empty on a bare host.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Container string `json:"container,omitempty"`
	// Whether the detecting process runs in a pod of Kubernetes.
	// +optional
	Kubernetes bool `json:"kubernetes,omitempty"`
}

// CPU is the processors of a host.
type CPU struct {
	// Model name.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Machine architecture as Go names it: amd64, arm64, ….
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Architecture string `json:"architecture,omitempty"`
	// Sockets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sockets int32 `json:"sockets,omitempty"`
	// Physical cores.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cores int32 `json:"cores,omitempty"`
	// Hardware threads.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Threads int32 `json:"threads,omitempty"`
	// Limit of the detecting process's cgroup in thousandths of a CPU; absent where there is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LimitMilli int64 `json:"limitMilli,omitempty"`
}

// HostMemory is the memory of a host.
type HostMemory struct {
	// Total in MiB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalMiB int64 `json:"totalMiB,omitempty"`
	// Limit of the detecting process's cgroup in MiB; absent where there is none below the total.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LimitMiB int64 `json:"limitMiB,omitempty"`
}

// NUMANode is a NUMA node of a host.
type NUMANode struct {
	// Number of the node.
	// +kubebuilder:validation:Minimum=0
	ID int32 `json:"id"`
	// Its CPUs in the kernel's list format (`0-31,64-95`).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// Its memory in MiB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// How far each of the host's nodes is from it, in their order, as firmware says: 10 is the node itself, 20 takes twice
	// as long to reach. Absent where the kernel does not say.
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
	// Name: device and port of a port that speaks RDMA (`mlx5_0/1`), else the interface's (`eth0`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// What it speaks. RoCE is RDMA over Ethernet, iWARP is RDMA over TCP, EFA is the RDMA of AWS.
	// +kubebuilder:validation:Enum=InfiniBand;RoCE;iWARP;EFA;Ethernet
	Kind string `json:"kind"`
	// Versions of RoCE that it speaks, of v1 and v2.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=8
	RoCEVersions []string `json:"roceVersions,omitempty"`
	// Network interfaces of the port (`ib0`, `eth0`).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	Interfaces []string `json:"interfaces,omitempty"`
	// Kernel driver.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
	// Rate in Gbps; 0 where the port is down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Gbps int32 `json:"gbps,omitempty"`
	// Whether the port has a link.
	// +optional
	Up bool `json:"up,omitempty"`
	// NUMA node; absent where the kernel does not know.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`
	// Where it sits on PCI.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
}

// StorageDevice is a disk.
type StorageDevice struct {
	// Kernel name (`nvme0n1`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// What it is. NVMe says how the host speaks to it, which in a virtual machine may be to a volume on the network: the
	// model tells. Unknown is a disk whose hypervisor or array hides what it is.
	// +kubebuilder:validation:Enum=NVMe;SSD;HDD;Unknown
	Kind string `json:"kind"`
	// Model as the disk reports it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Size in MiB.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SizeMiB int64 `json:"sizeMiB,omitempty"`
	// NUMA node; absent where the kernel does not know.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANode *int32 `json:"numaNode,omitempty"`
	// Where it, or the controller it is attached to, sits on PCI.
	// +optional
	PCI *PCIDevice `json:"pci,omitempty"`
}
