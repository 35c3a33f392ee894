package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeviceMesh says which device is which rank of a placement, and which ranks form which process groups.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=dmesh,categories=rankwright
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`
// +kubebuilder:printcolumn:name="Order",type=string,JSONPath=`.spec.order`
// +kubebuilder:printcolumn:name="Shape",type=string,JSONPath=`.spec.shape`
// +kubebuilder:printcolumn:name="World",type=integer,JSONPath=`.spec.worldSize`
// +kubebuilder:printcolumn:name="Copies",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Library",type=string,JSONPath=`.spec.library`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].reason`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.spec.plan`,priority=1
// +kubebuilder:printcolumn:name="Slots",type=string,JSONPath=`.spec.slotPrefix`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DeviceMesh struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which device is which rank, and which ranks form which process groups.
	Spec DeviceMeshSpec `json:"spec"`
	// Whether all members are there, and what was measured of their links.
	// +optional
	Status DeviceMeshStatus `json:"status,omitzero"`
}

// DeviceMeshSpec holds ranks and groups. Every copy has ranks of its own, from 0 to worldSize-1, and the groups of its shape.
//
// +kubebuilder:validation:XValidation:rule="self.dimensions.all(d, self.worldSize % d.size == 0)",message="the size of each of dimensions must divide worldSize: worldSize is the product of all sizes"
// +kubebuilder:validation:XValidation:rule="self.groups.all(g, g.count * g.size == self.worldSize)",message="count x size of each of groups must be worldSize: every rank is in exactly one group of a kind"
// +kubebuilder:validation:XValidation:rule="!has(self.otherShapes) || size(self.otherShapes) == 0 || (self.otherShapes[0].firstReplica > 0 && self.otherShapes.map(s, s.firstReplica).isSorted() && self.otherShapes.all(s, s.firstReplica + self.otherShapes.filter(o, o.firstReplica >= s.firstReplica).map(o, o.replicas).sum() == self.replicas && self.otherShapes.exists_one(o, o.firstReplica == s.firstReplica)))",message="otherShapes must be in order and without a gap: firstReplica of the first is above 0, firstReplica + replicas of each is firstReplica of the next, and of the last replicas of the mesh"
type DeviceMeshSpec struct {
	// The ModelPlacement, in the same namespace, that the mesh is for.
	Placement PlacementRef `json:"placement"`
	// Name of the ShardingPlan that the mesh was made from.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan"`
	// Engine whose order of ranks the mesh has.
	Engine Engine `json:"engine"`
	// Names of the dimensions from the fastest to the slowest (`tp-pp-dp`). A rank is the sum of coordinate times stride
	// over the dimensions; the stride of the first is 1, and of each further one the product of the sizes before it.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9_]*(-[a-z][a-z0-9_]*)*$')",message="must be dimensions joined by hyphens, from the fastest to the slowest, such as tp-pp-dp"
	Order string `json:"order"`
	// Sizes of the dimensions in the first copies, in the sequence of order.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Dimensions []MeshDimension `json:"dimensions"`
	// Sizes above 1, for people (`tp4 pp2`); where copies differ, of all shapes (`tp2 x2 + tp4 x2`).
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Shape string `json:"shape,omitempty"`
	// Number of ranks of each of the first copies. Ranks are from 0 to worldSize-1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	WorldSize int32 `json:"worldSize"`
	// Number of independent copies, of all shapes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Replicas int32 `json:"replicas"`
	// Communication library of the devices of the first copies: NCCL, RCCL, HCCL, oneCCL, XLA or Gloo.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Library string `json:"library,omitempty"`
	// Beginning of the extended resources (Slot) or of the keys of the taints (Claim) by which each device is kept; absent with
	// Advisory. Under Slot the number of the device on its node follows, as status.slots of the node's inventory says
	// (`rankwright.dev/slot-3`); under Claim the copy and the rank in it (`rankwright.dev/slot-7f3a9c21-0-3`).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SlotPrefix string `json:"slotPrefix,omitempty"`
	// Which device is which rank: a row for each run of consecutive ranks on a node, in order of copy and rank.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16384
	Members []MeshMember `json:"members"`
	// The process groups of each of the first copies, by kind.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Groups []ProcessGroups `json:"groups"`
	// Shapes of the copies that follow the first ones, where they differ from those. Absent where all copies are alike.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	OtherShapes []MeshShape `json:"otherShapes,omitempty"`
}

// MeshShape holds sizes and groups of consecutive copies. The order of their dimensions is that of the mesh.
//
// +kubebuilder:validation:XValidation:rule="self.dimensions.all(d, self.worldSize % d.size == 0)",message="the size of each of dimensions must divide worldSize: worldSize is the product of all sizes"
// +kubebuilder:validation:XValidation:rule="self.groups.all(g, g.count * g.size == self.worldSize)",message="count x size of each of groups must be worldSize: every rank is in exactly one group of a kind"
type MeshShape struct {
	// Number, from 0, of the first copy of this shape.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	FirstReplica int32 `json:"firstReplica"`
	// Number of copies of this shape.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Replicas int32 `json:"replicas"`
	// Sizes of the dimensions in these copies, in the sequence of the mesh's order.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Dimensions []MeshDimension `json:"dimensions"`
	// Sizes above 1 in these copies, for people (`tp4 pp2`).
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Shape string `json:"shape,omitempty"`
	// Number of ranks of each of these copies. Ranks are from 0 to worldSize-1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	WorldSize int32 `json:"worldSize"`
	// Communication library of the devices of these copies: NCCL, RCCL, HCCL, oneCCL, XLA or Gloo.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Library string `json:"library,omitempty"`
	// The process groups of each of these copies, by kind.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Groups []ProcessGroups `json:"groups"`
}

// MeshDimension is a dimension of a mesh.
type MeshDimension struct {
	// Name of the dimension: tp, pp, dp, cp, ep, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// Number of ranks along the dimension.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	Size int32 `json:"size"`
}

// MeshMember is a run of consecutive ranks on one node.
type MeshMember struct {
	// Name of the node that the devices are on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// Address of the node on the network: an IP address, else a host name. Absent where neither is known.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Address string `json:"address,omitempty"`
	// Number of the copy, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replica int32 `json:"replica,omitempty"`
	// Rank of the first device in its copy, from 0; the other devices have the ranks that follow.
	// +kubebuilder:validation:Minimum=0
	FirstRank int32 `json:"firstRank"`
	// Ids of the devices, in order of rank.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Devices []DeviceID `json:"devices"`
}

// ProcessGroups are all groups of one kind.
type ProcessGroups struct {
	// Name of the kind of groups: a dimension (`tp`), a product of dimensions (`tp-pp`), or `world`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// Dimensions along which the members of a group differ. The ranks of every group follow from them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	Dimensions []string `json:"dimensions,omitempty"`
	// Number of groups of this kind in a copy.
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// Number of ranks in each group.
	// +kubebuilder:validation:Minimum=1
	Size int32 `json:"size"`
	// Communication library of the groups: NCCL, RCCL, HCCL, oneCCL, XLA or Gloo.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Library string `json:"library,omitempty"`
	// Name of the groups' backend in torch.distributed (`nccl` for NCCL and RCCL alike).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	TorchBackend string `json:"torchBackend,omitempty"`
	// Ranks of each group, from 0 in a copy. They are written for worlds of up to 512 ranks; in larger ones they follow from
	// dimensions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Ranks []RankList `json:"ranks,omitempty"`
}

// RankList is the ranks of one group.
// +kubebuilder:validation:MaxItems=512
// +listType=atomic
type RankList []int32

// DeviceMeshStatus says whether all members are there.
type DeviceMeshStatus struct {
	// The metadata.generation of the mesh that its members' losses and slowest links are about; each condition has its own.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: every member is healthy. Degraded: members are lost. Launchable, Claimed and Verified: files of launchers are
	// written, pods have claims, links are verified.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Ranks whose devices are lost, at most 512 of them; the condition Degraded counts all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	LostRanks []LostRank `json:"lostRanks,omitempty"`
	// The slowest link of each kind of process group, over all copies, by what the inventories say. Groups of one rank have
	// none.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=64
	SlowestLinks []SlowestLink `json:"slowestLinks,omitempty"`
	// Bandwidth of each kind of process group, as the last verification measured it.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +kubebuilder:validation:MaxItems=64
	Verified []VerifiedBandwidth `json:"verified,omitempty"`
	// What the last verification found wrong, worst first; the condition Verified counts all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Findings []VerificationFinding `json:"findings,omitempty"`
}

// LostRank is a rank whose device is lost.
type LostRank struct {
	// Number of the copy, from 0. Absent means 0.
	// +optional
	Replica int32 `json:"replica,omitempty"`
	// Rank of the device in its copy, from 0.
	Rank int32 `json:"rank"`
	// Name of the node that has, or had, the device.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// Id of the device, as in the inventory of its node.
	Device DeviceID `json:"device"`
	// Why the rank cannot run, as the reasons of a placement's losses, with what is known beyond it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// SlowestLink is the slowest link between two ranks that share a group of a kind.
type SlowestLink struct {
	// Name of the kind of process groups, as in spec.groups.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Group string `json:"group"`
	// Technology of the link: NVLink, XGMI, ICI, PCIe with what lies between the two devices (`PCIe SYS`), or network.
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`
	// What one of the two ranks can send to the other, in MB/s (10^6 bytes per second), by what the inventories say; absent
	// where it is not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MBps int64 `json:"mbps,omitempty"`
	// Number of the copy, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replica int32 `json:"replica,omitempty"`
	// The two ranks that the link joins, from 0 in their copy, the smaller one first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=2
	Ranks []int32 `json:"ranks"`
}

// VerifiedBandwidth is the bandwidth of the slowest group of a kind.
type VerifiedBandwidth struct {
	// Name of the kind of process groups, as in spec.groups.
	// +kubebuilder:validation:MaxLength=64
	Group string `json:"group"`
	// Bus bandwidth of an all-reduce between the pods of the slowest group, in MB/s (10^6 bytes per second); 0 where all
	// groups are within pods.
	// +kubebuilder:validation:Minimum=0
	MBps int64 `json:"mbps"`
	// What the plan assumes of the network of the group's slowest pod, in MB/s (10^6 bytes per second); absent where it is
	// not known or cannot be compared.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PlannedMBps int64 `json:"plannedMBps,omitempty"`
	// Time of the smallest all-reduce of the slowest group, in microseconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LatencyMicros int64 `json:"latencyMicros,omitempty"`
	// Time of the measurement.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
}

// DeviceMeshList is a list of meshes.
// +kubebuilder:object:root=true
type DeviceMeshList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeviceMesh `json:"items"`
}
