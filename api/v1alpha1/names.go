package v1alpha1

// Prefix of every label and annotation that Rankwright writes.
const Prefix = "rankwright.dev/"

// DRADriver is the name of the node agents' own DRA driver, of the domain of its attributes, and of the DeviceClass of its
// devices.
const DRADriver = "rankwright.dev"

// DRADeviceClass is the DeviceClass of the operator's claims. It selects nothing: each request selects one device of a plan,
// whatever its driver.
const DRADeviceClass = "placement.rankwright.dev"

// Field managers of the two writers.
const (
	NodeAgentFieldManager = "rankwright-node-agent"
	OperatorFieldManager  = "rankwright-operator"
)

// Labels on plans, meshes and the pods of a placement.
const (
	LabelPlacement = Prefix + "placement"
	LabelPlan      = Prefix + "plan"
	LabelRevision  = Prefix + "revision"
)

// Reasons of a device's health that others act on.
const (
	// ReasonNotMonitored is that of a device which is there and which nothing observes. Its state is Unknown, and work may
	// be put on it nevertheless: otherwise no node without a vendor's monitor could be used.
	ReasonNotMonitored = "NotMonitored"
)

// Condition types shared by the kinds.
const (
	// ConditionReady is the summary: the object is what its spec asks for.
	ConditionReady = "Ready"
	// ConditionPlanned says that a plan was found (placement).
	ConditionPlanned = "Planned"
	// ConditionReserved says that the plan's devices are reserved in the ledger (placement).
	ConditionReserved = "Reserved"
	// ConditionMeshed says that the mesh of the current plan exists (placement).
	ConditionMeshed = "Meshed"
	// ConditionActive says that the ledger holds the plan (plan).
	ConditionActive = "Active"
	// ConditionDetected says that every backend could look (inventory).
	ConditionDetected = "Detected"
	// ConditionLabelled says that all node labels could be written (inventory).
	ConditionLabelled = "Labelled"
	// ConditionMonitored says that something observes the health of every device (inventory).
	ConditionMonitored = "Monitored"
	// ConditionServed says that the kubelet takes every device that the agent is to serve (inventory).
	ConditionServed = "Served"
	// ConditionAllocationsCurrent says that the kubelet still says which pod holds which device (inventory).
	ConditionAllocationsCurrent = "AllocationsCurrent"
	// NodeConditionAcceleratorsReady says that new pods can have each accelerator of the node (Node).
	NodeConditionAcceleratorsReady = "AcceleratorsReady"
	// ConditionLaunchable says that the files that launchers need are written (mesh).
	ConditionLaunchable = "Launchable"
	// ConditionClaimed says that each pod of the mesh has a ResourceClaim for its devices (mesh).
	ConditionClaimed = "Claimed"
	// ConditionDegraded says that members of a mesh are lost (mesh).
	ConditionDegraded = "Degraded"
	// ConditionVerified says that the pods verified their mesh over the network (mesh).
	ConditionVerified = "Verified"
)
