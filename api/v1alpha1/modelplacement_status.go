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
	// Generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// One-word summary.
	// +optional
	Phase PlacementPhase `json:"phase,omitempty"`
	// Name of the model as resolved.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Model string `json:"model,omitempty"`
	// Chosen strategy for people (`TP4 PP2 x2`).
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Strategy string `json:"strategy,omitempty"`
	// Devices taken.
	// +optional
	Devices int32 `json:"devices,omitempty"`
	// Nodes they are on.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// What the plan should deliver; an estimate.
	// +optional
	Estimate *Estimate `json:"estimate,omitempty"`
	// Name of the current plan.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan,omitempty"`
	// Name of the current mesh.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Mesh string `json:"mesh,omitempty"`
	// Copies that are planned; the scale subresource reads it.
	// +optional
	Replicas int32 `json:"replicas"`
	// Selector of the placement's pods; the scale subresource reads it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// What is missing, when the model cannot be placed.
	// +optional
	Shortfall *Shortfall `json:"shortfall,omitempty"`
	// Planned, Reserved, Meshed and, above them, Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Estimate is what a plan should deliver. It is computed, not measured. Low and high of a number are the range in which it
// is expected, as far as one is known.
type Estimate struct {
	// Generated tokens per second over all copies, at the workload's concurrency; in training the tokens trained on.
	// +optional
	TokensPerSecond int64 `json:"tokensPerSecond,omitempty"`
	// Low end of tokensPerSecond.
	// +optional
	TokensPerSecondLow int64 `json:"tokensPerSecondLow,omitempty"`
	// High end of tokensPerSecond.
	// +optional
	TokensPerSecondHigh int64 `json:"tokensPerSecondHigh,omitempty"`
	// Time to the first token in milliseconds.
	// +optional
	TTFTMillis int64 `json:"ttftMillis,omitempty"`
	// Low end of ttftMillis.
	// +optional
	TTFTMillisLow int64 `json:"ttftMillisLow,omitempty"`
	// High end of ttftMillis.
	// +optional
	TTFTMillisHigh int64 `json:"ttftMillisHigh,omitempty"`
	// Time for each further token in microseconds.
	// +optional
	TPOTMicros int64 `json:"tpotMicros,omitempty"`
	// Low end of tpotMicros.
	// +optional
	TPOTMicrosLow int64 `json:"tpotMicrosLow,omitempty"`
	// High end of tpotMicros.
	// +optional
	TPOTMicrosHigh int64 `json:"tpotMicrosHigh,omitempty"`
	// Time of a training step in milliseconds.
	// +optional
	StepMillis int64 `json:"stepMillis,omitempty"`
	// Low end of stepMillis.
	// +optional
	StepMillisLow int64 `json:"stepMillisLow,omitempty"`
	// High end of stepMillis.
	// +optional
	StepMillisHigh int64 `json:"stepMillisHigh,omitempty"`
	// Time to load the weights from where the nodes have them, in seconds.
	// +optional
	LoadSeconds int64 `json:"loadSeconds,omitempty"`
	// Price of a million generated tokens in millionths of a US dollar.
	// +optional
	MicroUSDPerMillionTokens int64 `json:"microUSDPerMillionTokens,omitempty"`
	// Where the price of the devices comes from, and of which day it is.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	PriceBasis string `json:"priceBasis,omitempty"`
	// What the numbers rest on.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Basis string `json:"basis,omitempty"`
}

// Shortfall says in numbers why a model cannot be placed.
type Shortfall struct {
	// Memory that one copy needs, in MiB, in the smallest form that was tried.
	// +optional
	NeededMiB int64 `json:"neededMiB,omitempty"`
	// Memory that a plan may use on all devices that match, in MiB.
	// +optional
	FreeMiB int64 `json:"freeMiB,omitempty"`
	// Devices that match and are free.
	// +optional
	FreeDevices int32 `json:"freeDevices,omitempty"`
	// Free memory of the largest of them, in MiB.
	// +optional
	LargestDeviceMiB int64 `json:"largestDeviceMiB,omitempty"`
	// Smallest change that would make it fit.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Suggestion string `json:"suggestion,omitempty"`
	// Smallest change of each kind that would make it fit.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Suggestion is a change that would make a model fit.
type Suggestion struct {
	// What is changed: Precision, Context, Sequences, Copies, Degrees, Topology, Devices, Move, Limit, ….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Kind string `json:"kind"`
	// The change.
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
