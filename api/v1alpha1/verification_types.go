package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Verification says whether the pods of a placement verify their mesh before they start, and what follows.
type Verification struct {
	// Off verifies nothing. Report, the default, measures, writes what was found into the status of the mesh, and starts the
	// pods whatever it was. Require starts them only when nothing was wrong; until then they begin again.
	// +optional
	// +kubebuilder:default=Report
	Mode VerificationMode `json:"mode,omitempty"`
	// Time that each pod has for the verification from its start, waiting for the other pods included, in seconds. A quarter
	// of it, and at most a minute, is kept for finding out which link is at fault. Default: 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	DeadlineSeconds int32 `json:"deadlineSeconds,omitempty"`
	// Share, in percent, of the expected rate below which a link counts as slow; 0 calls no link slow. Expected is the
	// median of the links between the placement's pods and, where the plan's network is Ethernet without RDMA, what the plan
	// assumes; never more than the measuring program can move itself. Default: 25.
	// +optional
	// +kubebuilder:default=25
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MinimumSharePercent *int32 `json:"minimumSharePercent,omitempty"`
	// Time before which nothing that pods reported counts: the present one asks them to verify anew. They do so when they are made
	// anew. Absent means that every report counts.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
}

// VerificationMode is what becomes of a verification.
// +kubebuilder:validation:Enum=Off;Report;Require
type VerificationMode string

// The modes.
const (
	VerificationOff     VerificationMode = "Off"
	VerificationReport  VerificationMode = "Report"
	VerificationRequire VerificationMode = "Require"
)

// Defaults of Verification, for objects that no API server completed.
const (
	DefaultVerificationDeadlineSeconds     = 300
	DefaultVerificationMinimumSharePercent = 25
)

// Asked says whether a mesh is to be verified.
func (v *Verification) Asked() bool { return v != nil && v.Mode != VerificationOff }

// Counts says whether something of a time is late enough to count.
func (v *Verification) Counts(at metav1.Time) bool {
	return v == nil || v.NotBefore == nil || !at.Before(v.NotBefore)
}

// Deadline is the time in seconds that a pod has.
func (v *Verification) Deadline() int32 {
	if v == nil || v.DeadlineSeconds == 0 {
		return DefaultVerificationDeadlineSeconds
	}
	return v.DeadlineSeconds
}

// MinimumShare is the share in percent below which a link is slow.
func (v *Verification) MinimumShare() int32 {
	if v == nil || v.MinimumSharePercent == nil {
		return DefaultVerificationMinimumSharePercent
	}
	return *v.MinimumSharePercent
}

// FindingReason is what is wrong with a mesh.
// +kubebuilder:validation:Enum=PodMissing;PodUnreachable;ResultWrong;LinkBroken;LinkSlow;GroupFailed;ReportInvalid
type FindingReason string

// The reasons, worst first.
const (
	// FindingPodMissing is a pod that said nothing until the deadline.
	FindingPodMissing FindingReason = "PodMissing"
	// FindingPodUnreachable is a pod that no other reaches.
	FindingPodUnreachable FindingReason = "PodUnreachable"
	// FindingReportInvalid is a pod whose message is none of a verification.
	FindingReportInvalid FindingReason = "ReportInvalid"
	// FindingResultWrong is a link, or a group, that delivers other bytes than were sent.
	FindingResultWrong FindingReason = "ResultWrong"
	// FindingLinkBroken is a link over which two pods do not reach each other, or that breaks.
	FindingLinkBroken FindingReason = "LinkBroken"
	// FindingLinkSlow is a link that moves less than its share of what is expected.
	FindingLinkSlow FindingReason = "LinkSlow"
	// FindingGroupFailed is a group whose collectives fail although its links do not.
	FindingGroupFailed FindingReason = "GroupFailed"
)

// VerificationFinding is something that is wrong with a mesh.
type VerificationFinding struct {
	// Word for what is wrong: a pod that said nothing (PodMissing) or that no other reaches (PodUnreachable), a link or
	// group that delivers other bytes than were sent (ResultWrong), a link that breaks (LinkBroken) or is slow (LinkSlow), a
	// group whose collectives fail though its links work (GroupFailed), or a pod whose report cannot be read
	// (ReportInvalid).
	Reason FindingReason `json:"reason"`
	// Number of the copy, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replica int32 `json:"replica,omitempty"`
	// The pod that is at fault, or the sending end of a link that is.
	Pod MeshEnd `json:"pod"`
	// The receiving end of a link that is at fault; absent where the finding is about no link.
	// +optional
	Peer *MeshEnd `json:"peer,omitempty"`
	// Name of the kind of process groups in which it showed, as in the mesh's spec.groups.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Group string `json:"group,omitempty"`
	// Rate that was measured, in MB/s (10^6 bytes per second); absent where the finding is about no rate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MBps int64 `json:"mbps,omitempty"`
	// Rate that was expected, in MB/s (10^6 bytes per second); absent where the finding is about no rate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ExpectedMBps int64 `json:"expectedMBps,omitempty"`
	// The finding in a sentence, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// MeshEnd is a pod's place in a mesh.
type MeshEnd struct {
	// Number of the pod among all pods of the mesh, from 0.
	// +kubebuilder:validation:Minimum=0
	Index int32 `json:"index"`
	// Name of the pod; absent where there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// Name of the node that the pod belongs on.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// First rank of the pod in its copy, from 0.
	// +kubebuilder:validation:Minimum=0
	FirstRank int32 `json:"firstRank"`
	// Ids of the pod's devices in order of rank, the first 16 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Devices []DeviceID `json:"devices,omitempty"`
}
