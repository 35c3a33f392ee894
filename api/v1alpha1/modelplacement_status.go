package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ModelPlacementStatus is what was decided, and what became of it. docs/use/status.md has the table of its conditions.
type ModelPlacementStatus struct {
	// The metadata.generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
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
	// What the pods deliver, by their engines' metrics, beside what is estimated for the load that they have; absent where the operator does not read
	// metrics, or there are none.
	// +optional
	Observed *ObservedService `json:"observed,omitempty"`
	// Name of the ShardingPlan in force; absent where none is.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan,omitempty"`
	// Number of the last plan that the operator saw in force for the placement. Plans are numbered from 1 and no number is given
	// twice, also when plans were deleted.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// The metadata.generation of the latest spec that the plan in force answers: it was made for it, or a plan that was made
	// for it would be the same.
	// +optional
	PlanGeneration int64 `json:"planGeneration,omitempty"`
	// Name of the DeviceMesh of the plan in force; absent where there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Mesh string `json:"mesh,omitempty"`
	// Number of copies in the plan in force.
	// +optional
	PlannedReplicas int32 `json:"plannedReplicas,omitempty"`
	// Number of copies that are there: of which the first pod, the one that selector matches, is bound and has not ended,
	// ready or not. The scale subresource reads it, and autoscalers divide by it.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Number of copies of the plan in force of which all pods run as planned.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Label selector of the first pod of each copy, which the scale subresource reads: an autoscaler multiplies the number of
	// pods that it matches.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Selector string `json:"selector,omitempty"`
	// What printer columns show.
	// +optional
	Summary PlacementSummary `json:"summary,omitzero"`
	// When the placement last came nearer to its being ready: another spec was looked at, another plan came into force, or
	// more pods run as planned. spec.progressDeadlineSeconds counts from it.
	// +optional
	LastProgressTime *metav1.Time `json:"lastProgressTime,omitempty"`
	// Since when the placement has had a plan and no pod; absent where it has a pod, or spec.ttlSecondsWithoutPods is absent.
	// +optional
	WithoutPodsSince *metav1.Time `json:"withoutPodsSince,omitempty"`
	// What is missing, in numbers, where the model cannot be placed; absent where it can.
	// +optional
	Shortfall *Shortfall `json:"shortfall,omitempty"`
	// What the plan in force counts on and cannot serve, the oldest first, at most 256 of them; absent where nothing is lost.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Losses []Loss `json:"losses,omitempty"`
	// Placed: a plan is in force. Ready: all pods of it run as planned, and it answers the spec. Progressing: the placement
	// still comes nearer to that.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PlacementSummary holds what printer columns show, since they cannot compute.
type PlacementSummary struct {
	// Pods that run as planned, of those that the plan in force has (`3/4`).
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Pods string `json:"pods,omitempty"`
}

// Expected is a computed number with the range in which it is expected.
type Expected struct {
	// The most likely value, in the unit that the field's name says.
	// +optional
	Value int64 `json:"value"`
	// Low end of the range; absent where the range is not known.
	// +optional
	Low int64 `json:"low,omitempty"`
	// High end of the range; absent where the range is not known.
	// +optional
	High int64 `json:"high,omitempty"`
}

// Estimate is what a plan should deliver. It is computed, not measured.
type Estimate struct {
	// Generated tokens per second, over all copies, with as many requests at once as the workload says. In training, tokens
	// trained on per second.
	// +optional
	TokensPerSecond Expected `json:"tokensPerSecond,omitzero"`
	// Time from a request to its first token, in milliseconds; absent in training.
	// +optional
	TTFTMillis Expected `json:"ttftMillis,omitzero"`
	// Time for each further token of a request, in microseconds; absent in training.
	// +optional
	TPOTMicros Expected `json:"tpotMicros,omitzero"`
	// Time of one training step, in milliseconds; absent for inference.
	// +optional
	StepMillis Expected `json:"stepMillis,omitzero"`
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
	// What would be estimated without the site's own measurements, which moved the numbers above; absent where none did.
	// +optional
	Uncalibrated *UncalibratedEstimate `json:"uncalibrated,omitempty"`
}

// ObservedService is what the pods of a placement delivered over some time, and what is estimated for the load that they had.
type ObservedService struct {
	// When it was looked at last.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
	// Requests that got their first token.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Requests int32 `json:"requests,omitempty"`
	// Tokens of a prompt, in the mean.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InputTokens int32 `json:"inputTokens,omitempty"`
	// Tokens of an answer, in the mean.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OutputTokens int32 `json:"outputTokens,omitempty"`
	// Requests in flight over all copies, in the mean.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Concurrency int32 `json:"concurrency,omitempty"`
	// Generated tokens per second over all copies.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TokensPerSecond int64 `json:"tokensPerSecond,omitempty"`
	// Time to the first token in the median, in milliseconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTFTMillis int64 `json:"ttftMillis,omitempty"`
	// Time for each further token in the median, in microseconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TPOTMicros int64 `json:"tpotMicros,omitempty"`
	// What is estimated for this load, with the site's own measurements; absent where nothing can be estimated.
	// +optional
	Estimate *Estimate `json:"estimate,omitempty"`
}

// UncalibratedEstimate is what would be estimated without the site's own measurements.
type UncalibratedEstimate struct {
	// Generated tokens per second over all copies.
	// +optional
	TokensPerSecond Expected `json:"tokensPerSecond,omitzero"`
	// Time from a request to its first token, in milliseconds.
	// +optional
	TTFTMillis Expected `json:"ttftMillis,omitzero"`
	// Time for each further token of a request, in microseconds.
	// +optional
	TPOTMicros Expected `json:"tpotMicros,omitzero"`
	// Calibrations that moved the estimate, with the number and the days of their measurements.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Source string `json:"source,omitempty"`
}

// Shortfall says in numbers why a model cannot be placed.
type Shortfall struct {
	// Memory that one copy needs in the smallest form that was tried, in MiB (2^20 bytes).
	// +optional
	NeededMiB int64 `json:"neededMiB,omitempty"`
	// Memory that a plan may use on all matching devices together, in MiB (2^20 bytes).
	// +optional
	FreeMiB int64 `json:"freeMiB,omitempty"`
	// Number of devices that match spec.devices and are free; where the namespace's quota refuses a plan (QuotaExceeded), those that are left of it.
	// +optional
	FreeDevices int32 `json:"freeDevices,omitempty"`
	// Number of devices of the plan that the namespace's quota refuses (QuotaExceeded).
	// +optional
	NeededDevices int32 `json:"neededDevices,omitempty"`
	// Free memory of the matching device that has most, in MiB (2^20 bytes).
	// +optional
	LargestDeviceMiB int64 `json:"largestDeviceMiB,omitempty"`
	// The smallest change of each kind with which the model would fit, from the one that costs least.
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
	// The change of the placement's fields, all of them together, for programs; absent where the cluster is to change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Edits []FieldEdit `json:"edits,omitempty"`
}

// FieldEdit is a new value of one field of an object.
type FieldEdit struct {
	// Path of the field from the object's top (`spec.workload.inference.maxSequences`).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path"`
	// JSON text of the new value (`2`, `"FP8"`); null takes the field away.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// ModelPlacementList is a list of placements.
// +kubebuilder:object:root=true
type ModelPlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelPlacement `json:"items"`
}
