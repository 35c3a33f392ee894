package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PlacementPhase is the one-word summary of a placement.
// +kubebuilder:validation:Enum=Pending;Planned;Ready;Unplaceable;Degraded;Invalid
type PlacementPhase string

// The phases. Unplaceable waits for devices; Invalid waits for a better spec; Degraded lost devices and holds.
const (
	PhasePending     PlacementPhase = "Pending"
	PhasePlanned     PlacementPhase = "Planned"
	PhaseReady       PlacementPhase = "Ready"
	PhaseUnplaceable PlacementPhase = "Unplaceable"
	PhaseDegraded    PlacementPhase = "Degraded"
	PhaseInvalid     PlacementPhase = "Invalid"
)

// ModelPlacementStatus is what was decided.
type ModelPlacementStatus struct {
	// The metadata.generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Summary in one word: Pending, Planned, Ready, Unplaceable (waits for devices), Degraded (lost devices) or Invalid
	// (waits for a better spec). The condition Ready says why.
	// +optional
	Phase PlacementPhase `json:"phase,omitempty"`
	// Name of the model as it was found in the catalogue or its files.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Degrees of parallelism of the plan in force, for people (`TP4 PP2 x2`: tensor 4, pipeline 2, two copies).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Strategy string `json:"strategy,omitempty"`
	// Number of devices that the plan in force holds.
	// +optional
	Devices int32 `json:"devices,omitempty"`
	// Number of nodes that the plan's devices are on.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// What the plan in force should deliver. It is computed, not measured.
	// +optional
	Estimate *Estimate `json:"estimate,omitempty"`
	// Name of the ShardingPlan in force; absent where none is.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan,omitempty"`
	// Name of the DeviceMesh of the plan in force; absent where there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Mesh string `json:"mesh,omitempty"`
	// Number of copies in the plan in force, which the scale subresource reads.
	// +optional
	Replicas int32 `json:"replicas"`
	// Label selector of the placement's pods, which the scale subresource reads.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// What is missing, in numbers, where the model cannot be placed; absent where it can.
	// +optional
	Shortfall *Shortfall `json:"shortfall,omitempty"`
	// Planned: a plan was found. Reserved: its devices are held. Meshed: they have ranks. Ready: all of that holds and no
	// device is lost.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Estimate is what a plan should deliver. It is computed, not measured. Low and high of a number are the range in which it
// is expected, as far as one is known.
type Estimate struct {
	// Generated tokens per second, over all copies, with as many requests at once as the workload says. In training, tokens
	// trained on per second.
	// +optional
	TokensPerSecond int64 `json:"tokensPerSecond,omitempty"`
	// Low end of the range in which tokensPerSecond is expected, in tokens per second; absent where it is not known.
	// +optional
	TokensPerSecondLow int64 `json:"tokensPerSecondLow,omitempty"`
	// High end of the range in which tokensPerSecond is expected, in tokens per second; absent where it is not known.
	// +optional
	TokensPerSecondHigh int64 `json:"tokensPerSecondHigh,omitempty"`
	// Time from a request to its first token, in milliseconds.
	// +optional
	TTFTMillis int64 `json:"ttftMillis,omitempty"`
	// Low end of the range in which ttftMillis is expected, in milliseconds; absent where it is not known.
	// +optional
	TTFTMillisLow int64 `json:"ttftMillisLow,omitempty"`
	// High end of the range in which ttftMillis is expected, in milliseconds; absent where it is not known.
	// +optional
	TTFTMillisHigh int64 `json:"ttftMillisHigh,omitempty"`
	// Time for each further token of a request, in microseconds.
	// +optional
	TPOTMicros int64 `json:"tpotMicros,omitempty"`
	// Low end of the range in which tpotMicros is expected, in microseconds; absent where it is not known.
	// +optional
	TPOTMicrosLow int64 `json:"tpotMicrosLow,omitempty"`
	// High end of the range in which tpotMicros is expected, in microseconds; absent where it is not known.
	// +optional
	TPOTMicrosHigh int64 `json:"tpotMicrosHigh,omitempty"`
	// Time of one training step, in milliseconds; absent for inference.
	// +optional
	StepMillis int64 `json:"stepMillis,omitempty"`
	// Low end of the range in which stepMillis is expected, in milliseconds; absent where it is not known.
	// +optional
	StepMillisLow int64 `json:"stepMillisLow,omitempty"`
	// High end of the range in which stepMillis is expected, in milliseconds; absent where it is not known.
	// +optional
	StepMillisHigh int64 `json:"stepMillisHigh,omitempty"`
	// Time to load the weights, from a disk of the node or over the network, in seconds; absent where neither's rate is
	// known.
	// +optional
	LoadSeconds int64 `json:"loadSeconds,omitempty"`
	// Price of a million generated tokens, in millionths of a US dollar; absent where no price of the devices is known.
	// +optional
	MicroUSDPerMillionTokens int64 `json:"microUSDPerMillionTokens,omitempty"`
	// Where the price of the devices comes from, and the day it was read.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	PriceBasis string `json:"priceBasis,omitempty"`
	// What the estimated numbers rest on.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Basis string `json:"basis,omitempty"`
}

// Shortfall says in numbers why a model cannot be placed.
type Shortfall struct {
	// Memory that one copy needs in the smallest form that was tried, in MiB (2^20 bytes).
	// +optional
	NeededMiB int64 `json:"neededMiB,omitempty"`
	// Memory that a plan may use on all matching devices together, in MiB (2^20 bytes).
	// +optional
	FreeMiB int64 `json:"freeMiB,omitempty"`
	// Number of devices that match spec.devices and are free.
	// +optional
	FreeDevices int32 `json:"freeDevices,omitempty"`
	// Free memory of the matching device that has most, in MiB (2^20 bytes).
	// +optional
	LargestDeviceMiB int64 `json:"largestDeviceMiB,omitempty"`
	// The smallest change, of all kinds, with which the model would fit, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Suggestion string `json:"suggestion,omitempty"`
	// The smallest change of each kind with which the model would fit.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Suggestion is a change that would make a model fit.
type Suggestion struct {
	// What would be changed, for programs: Precision, Context, Sequences, Copies, Degrees, Topology, Devices, Move, Limit,
	// ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`
	// The change, for people (`maxSequences 2 instead of 4`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Change string `json:"change"`
}

// ModelPlacementList is a list of placements.
// +kubebuilder:object:root=true
type ModelPlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelPlacement `json:"items"`
}
