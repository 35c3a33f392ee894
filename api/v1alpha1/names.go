package v1alpha1

// Prefix of every label and annotation that Rankwright writes.
const Prefix = "rankwright.dev/"

// SlotPrefix begins the resource of every slot (see Slot).
const SlotPrefix = Prefix + "slot-"

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
	// LabelWorker is the number of a pod among the pods of its copy, from 0.
	LabelWorker = Prefix + "worker"
	// LabelReleased is on a pod that spec.failurePolicy.drain holds no longer: the operator is about to evict it, or the time of the drain is
	// over. Its value says which. The operator alone writes it.
	LabelReleased = Prefix + "released"
)

// Annotations by which a bound pod says whose devices it has, whatever becomes of the plan that gave them to it.
const (
	// AnnotationPlacementUID is the uid of the pod's placement.
	AnnotationPlacementUID = Prefix + "placement-uid"
	// AnnotationDevices lists the ids of the pod's devices in order of rank, separated by commas.
	AnnotationDevices = Prefix + "devices"
)

// AnnotationUtilization is on the Lease of a node agent, and says how busy the node's devices were when it looked last: pkg/inventory has its form.
const AnnotationUtilization = Prefix + "utilization"

// Reasons of a device's health that others act on.
const (
	// ReasonNotMonitored says that a device is there and nothing observes it. Its state is Unknown, and work may be put on
	// it nevertheless: otherwise no node without a vendor's monitor could be used.
	ReasonNotMonitored = "NotMonitored"
)

// Condition types shared by the kinds.
const (
	// ConditionReady is the summary: the object is what its spec asks for.
	ConditionReady = "Ready"
	// ConditionPlaced says that a plan is in force (placement).
	ConditionPlaced = "Placed"
	// ConditionProgressing says that the placement still comes nearer to being ready (placement).
	ConditionProgressing = "Progressing"
	// ConditionObserved says that the agents of all nodes of the plan are heard of (placement). Where one is silent, what is known of its
	// devices may be out of date, which is no loss.
	ConditionObserved = "Observed"
	// ConditionDrifted says that pods have other devices than the plan gives them, by what kubelets report (placement).
	ConditionDrifted = "Drifted"
	// ConditionImprovable says that a plan made now would be better than the one in force, and by how much (placement). Nothing follows from
	// it.
	ConditionImprovable = "Improvable"
	// ConditionAsEstimated says that the pods are as fast as is estimated for their load, by their engines' metrics (placement). It is there where the
	// operator reads these.
	ConditionAsEstimated = "AsEstimated"
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

// Reasons of a placement's condition Placed that others act on.
const (
	// ReasonPlaced says that the plan in force is as it should be.
	ReasonPlaced = "Placed"
	// ReasonDevicesLost says that devices of the plan in force are lost, and no other plan is in its place.
	ReasonDevicesLost = "DevicesLost"
	// ReasonDraining says that the plan in force has devices on a cordoned node that it is to leave, and no other plan is in its place.
	// They serve meanwhile.
	ReasonDraining = "Draining"
	// ReasonScaledToZero says that no copy is asked for.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonSuspended says that spec.suspend gave the devices back.
	ReasonSuspended = "Suspended"
	// ReasonExpired says that the devices were given back because no pod came for spec.ttlSecondsWithoutPods.
	ReasonExpired = "ReservationExpired"
	// ReasonInvalidSpec says that no plan can be made for the spec, whatever devices there are.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonModelNotFound says that the catalogue does not have the model.
	ReasonModelNotFound = "ModelNotFound"
	// ReasonInvalidModel says that what describes the model cannot be used.
	ReasonInvalidModel = "InvalidModel"
	// ReasonConfigMapNotFound says that the model's ConfigMap is not there.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonKeyNotFound says that the model's ConfigMap lacks the key.
	ReasonKeyNotFound = "KeyNotFound"
)
