package v1alpha1

// DomainTopology is how the members of a link domain reach each other.
// +kubebuilder:validation:Enum=Switch;Mesh;Torus;Ring
type DomainTopology string

// The topologies. A switch gives each member its full rate at any group size; in a mesh k members use k-1 links of the
// peer rate each; torus and ring forward through neighbours.
const (
	TopologySwitch DomainTopology = "Switch"
	TopologyMesh   DomainTopology = "Mesh"
	TopologyTorus  DomainTopology = "Torus"
	TopologyRing   DomainTopology = "Ring"
)

// Links are the connections between the devices of a node that are faster than PCIe.
type Links struct {
	// Sets of devices in which every member reaches every other.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Domains []LinkDomain `json:"domains,omitempty"`
	// Direct connections that do not form a domain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Pairs []LinkPair `json:"pairs,omitempty"`
	// Devices that may have links of their own, and that nothing has told of: neither that they have any nor that they have
	// none. In order of their ids.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Unread []DeviceID `json:"unread,omitempty"`
}

// LinkDomain is a set of devices in which every member reaches every other.
type LinkDomain struct {
	// Name, unique on the node and stable over restarts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=96
	Name string `json:"name"`
	// Technology: NVLink, XGMI, ICI, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// How the members reach each other.
	Topology DomainTopology `json:"topology"`
	// The devices, in order of their ids.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Members []DeviceID `json:"members"`
	// Generation of the technology (NVLink 4); absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int32 `json:"generation,omitempty"`
	// Links that each device has into the domain, the smallest number where members differ; absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Links int32 `json:"links,omitempty"`
	// What one device can send to all others together, in MB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DeviceMBps int64 `json:"deviceMBps,omitempty"`
	// What one device can send to one other, in MB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PeerMBps int64 `json:"peerMBps,omitempty"`
	// Size of each dimension of a torus.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	Shape []int32 `json:"shape,omitempty"`
	// Set where the domain goes on beyond this node.
	// +optional
	Fabric *Fabric `json:"fabric,omitempty"`
}

// Fabric identifies a link domain that spans nodes; domains with equal cluster and clique are one.
type Fabric struct {
	// UUID of the fabric or name of the slice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ClusterUUID string `json:"clusterUUID"`
	// Clique in the fabric.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CliqueID string `json:"cliqueID,omitempty"`
}

// LinkPair is a direct connection of two devices.
type LinkPair struct {
	// The device with the smaller id.
	A DeviceID `json:"a"`
	// The device with the larger id.
	B DeviceID `json:"b"`
	// Technology: NVLink, XGMI, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// Generation of the technology (NVLink 4); absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int32 `json:"generation,omitempty"`
	// Number of links between the two.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Count int32 `json:"count"`
	// Rate of all of them together in one direction, in MB/s.
	// +kubebuilder:validation:Minimum=0
	MBps int64 `json:"mbps"`
}
