package binding

import "fmt"

// Reasons of refusals: words that events and messages carry.
const (
	ReasonPlacementMissing   = "PlacementMissing"
	ReasonMeshMissing        = "MeshMissing"
	ReasonNodeChosen         = "NodeChosen"
	ReasonTopologyByKueue    = "TopologyByKueue"
	ReasonWorkloadUnknown    = "WorkloadUnknown"
	ReasonWorkloadDiffers    = "WorkloadDiffers"
	ReasonIndexUnknown       = "IndexUnknown"
	ReasonIndexDiffers       = "IndexDiffers"
	ReasonIndexOutOfRange    = "IndexOutOfRange"
	ReasonIndexTaken         = "IndexTaken"
	ReasonGroupsDiffer       = "GroupsDiffer"
	ReasonDevicesDiffer      = "DevicesDiffer"
	ReasonContainerUnknown   = "ContainerUnknown"
	ReasonVerifierMissing    = "VerifierMissing"
	ReasonEnforcementUnknown = "EnforcementUnknown"
	ReasonClaimDiffers       = "ClaimDiffers"
	ReasonSlotMissing        = "SlotMissing"
	ReasonDeviceUnclaimed    = "DeviceUnclaimed"
	ReasonAffinityEmpty      = "AffinityEmpty"
)

// Refusal says why a pod gets no place, and what to do about it.
type Refusal struct {
	// Reason is one of the Reason constants.
	Reason string
	// Message names field, value and remedy.
	Message string
}

// Error returns reason and message.
func (r *Refusal) Error() string { return r.Reason + ": " + r.Message }

func refuse(reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
