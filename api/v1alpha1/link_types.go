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
	// Link domains: sets of devices in which every member reaches every other.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Domains []LinkDomain `json:"domains,omitempty"`
	// Direct connections between two devices that are in no link domain together.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Pairs []LinkPair `json:"pairs,omitempty"`
	// Ids of devices that may have links of their own of which nothing told, neither that there are any nor that there are
	// none, in order of their ids.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Unread []DeviceID `json:"unread,omitempty"`
}

// LinkDomain is a set of devices in which every member reaches every other.
type LinkDomain struct {
	// Name of the link domain, unique on the node. It does not change when the node restarts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=96
	Name string `json:"name"`
	// Technology of the links: NVLink, XGMI, ICI, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// Switch: each member has its full rate to any others. Mesh: one link to each peer. Torus and Ring: members forward for
	// each other.
	Topology DomainTopology `json:"topology"`
	// Ids of the devices in the link domain, sorted. Members on other nodes are not listed: fabric joins the parts.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Members []DeviceID `json:"members"`
	// Generation of the technology (4 for NVLink 4); absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int32 `json:"generation,omitempty"`
	// Number of links that each device has into the domain, the smallest where members differ; absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Links int32 `json:"links,omitempty"`
	// What one device can send to all others of the domain together, in MB/s (10^6 bytes per second); absent where it is not
	// known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DeviceMBps int64 `json:"deviceMBps,omitempty"`
	// What one device can send to one other, in MB/s (10^6 bytes per second); absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PeerMBps int64 `json:"peerMBps,omitempty"`
	// Number of devices along each dimension of a torus; absent for other topologies.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=6
	Shape []int32 `json:"shape,omitempty"`
	// Which fabric the link domain is a part of, where it goes on beyond this node; absent where it does not.
	// +optional
	Fabric *Fabric `json:"fabric,omitempty"`
}

// Fabric identifies a link domain that spans nodes; domains with equal cluster and clique are one.
type Fabric struct {
	// UUID of the fabric (NVLink), or name of the slice (TPU).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ClusterUUID string `json:"clusterUUID"`
	// Number of the clique in the fabric, as the driver gives it; absent where the fabric has none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CliqueID string `json:"cliqueID,omitempty"`
}

// LinkPair is a direct connection of two devices.
type LinkPair struct {
	// Id of the device with the smaller id of the two.
	A DeviceID `json:"a"`
	// Id of the device with the larger id of the two.
	B DeviceID `json:"b"`
	// Technology of the links: NVLink, XGMI, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind"`
	// Generation of the technology (4 for NVLink 4); absent where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int32 `json:"generation,omitempty"`
	// Number of links between the two devices.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Count int32 `json:"count"`
	// Rate of all links between the two devices together, in one direction, in MB/s (10^6 bytes per second).
	// +kubebuilder:validation:Minimum=0
	MBps int64 `json:"mbps"`
}
