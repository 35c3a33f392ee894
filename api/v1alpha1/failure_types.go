package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FailurePolicy says when something that the plan counts on is lost, and what follows. docs/use/failure.md has the whole table.
type FailurePolicy struct {
	// What follows a loss. SameShape plans anew with the same degrees, AnyShape (the default) with any degrees, and Hold keeps
	// the plan until what was lost is back or the placement changes.
	// +optional
	// +kubebuilder:default=AnyShape
	Action FailureAction `json:"action,omitempty"`
	// How long a node may be not ready before it counts as lost, in seconds. Default: 300, after which Kubernetes evicts pods.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	NodeNotReadySeconds *int32 `json:"nodeNotReadySeconds,omitempty"`
	// How long a node may have a NoExecute taint that the placement's pods do not tolerate, in seconds. Default: 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	NodeTaintedSeconds *int32 `json:"nodeTaintedSeconds,omitempty"`
	// How long a node may be cordoned without the placement's pods before it counts as drained, in seconds. Default: 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	NodeDrainedSeconds *int32 `json:"nodeDrainedSeconds,omitempty"`
	// How long a device may be unhealthy, or missing from its node, before it counts as lost, in seconds. Default: 0, since the
	// node agents judge health with patience of their own.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	DeviceUnhealthySeconds *int32 `json:"deviceUnhealthySeconds,omitempty"`
	// How long a pod that is none of the placement's may hold a device that the plan counts on, in seconds. Default: 60.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	DeviceOccupiedSeconds *int32 `json:"deviceOccupiedSeconds,omitempty"`
	// Moves the copies off a node that is cordoned, one by one, and holds their pods until it is their turn: by a
	// PodDisruptionBudget, which evictions of others, as of kubectl drain, respect. Absent means that a drain evicts all pods
	// of the node at once. The API server evicts no pod that several budgets select: set it only where no other budget selects
	// the placement's pods.
	// +optional
	Drain *DrainPolicy `json:"drain,omitempty"`
}

// DrainPolicy says for how long a drain is held.
type DrainPolicy struct {
	// How long pods are held on a cordoned node, in seconds from when the operator first saw the cordon. Those that are still
	// there may be evicted then, also where there is no place for them elsewhere. Default: 3600.
	// +optional
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// FailureAction is what follows a loss.
// +kubebuilder:validation:Enum=SameShape;AnyShape;Hold
type FailureAction string

// The actions.
const (
	FailureSameShape FailureAction = "SameShape"
	FailureAnyShape  FailureAction = "AnyShape"
	FailureHold      FailureAction = "Hold"
)

// LossReason is why something cannot serve.
// +kubebuilder:validation:MaxLength=64
type LossReason string

// The reasons, those of nodes before those of devices.
const (
	// LossNodeGone: there is no such Node any more.
	LossNodeGone LossReason = "NodeGone"
	// LossNodeOutOfService: somebody gave the node the taint node.kubernetes.io/out-of-service.
	LossNodeOutOfService LossReason = "NodeOutOfService"
	// LossNodeNotReady: the kubelet says that the node is not ready, or says nothing any more.
	LossNodeNotReady LossReason = "NodeNotReady"
	// LossNodeTainted: the node has a NoExecute taint that the placement's pods do not tolerate.
	LossNodeTainted LossReason = "NodeTainted"
	// LossNodeDrained: the node is cordoned, and pods of the placement that should be there are not.
	LossNodeDrained LossReason = "NodeDrained"
	// LossNodeDraining: the node is cordoned, and the placement moves off such nodes (spec.failurePolicy.drain). What is there still runs.
	LossNodeDraining LossReason = "NodeDraining"
	// LossDeviceGone: the node agent does not find the device any more.
	LossDeviceGone LossReason = "DeviceGone"
	// LossDeviceUnhealthy: the node agent says that the device is unhealthy.
	LossDeviceUnhealthy LossReason = "DeviceUnhealthy"
	// LossDeviceOccupied: the kubelet says that a pod holds the device which belongs to no placement.
	LossDeviceOccupied LossReason = "DeviceOccupied"
)

// Loss is something that the plan in force counts on and that cannot serve, or is about to be taken away.
type Loss struct {
	// Why it cannot serve: NodeGone, NodeOutOfService, NodeNotReady, NodeTainted, NodeDrained, DeviceGone, DeviceUnhealthy or
	// DeviceOccupied. NodeDraining: it serves until its copies have moved.
	Reason LossReason `json:"reason"`
	// Name of the node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// Id of the device; absent where the node as a whole is lost.
	// +optional
	Device DeviceID `json:"device,omitempty"`
	// Copies of the model that have ranks there, from 0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Replicas []int32 `json:"replicas,omitempty"`
	// What is known beyond the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// When the operator first saw it.
	Since metav1.Time `json:"since"`
	// When its grace ends.
	Due metav1.Time `json:"due"`
}
