package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SiteCalibration is what was measured in this cluster, or at the site that it belongs to. Plans and estimates are moved towards it, and say by
// how much; `kubectl rankwright calibrate` writes it from the results of benchmarks.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=sitecal,categories=rankwright
// +kubebuilder:printcolumn:name="Measurements",type=integer,JSONPath=`.spec.summary.measurements`
// +kubebuilder:printcolumn:name="Devices",type=string,JSONPath=`.spec.summary.devices`
// +kubebuilder:printcolumn:name="Models",type=string,JSONPath=`.spec.summary.models`
// +kubebuilder:printcolumn:name="Newest",type=date,JSONPath=`.spec.summary.newest`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SiteCalibration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What was measured.
	// +optional
	Spec SiteCalibrationSpec `json:"spec,omitzero"`
}

// SiteCalibrationSpec is what was measured.
type SiteCalibrationSpec struct {
	// Days after which a measurement starts to count less. The older it is beyond them, the less it moves an estimate.
	// +optional
	// +kubebuilder:default=90
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	FreshDays int32 `json:"freshDays,omitempty"`
	// Measurements, each of a model that served on devices of one kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Measurements []Measurement `json:"measurements,omitempty"`
	// Counts and names of the measurements, as `kubectl rankwright calibrate` writes them; nothing is computed from them.
	// +optional
	Summary CalibrationSummary `json:"summary,omitzero"`
}

// CalibrationSummary is what a list of calibrations shows.
type CalibrationSummary struct {
	// Number of measurements.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Measurements int32 `json:"measurements,omitempty"`
	// Products that were measured.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Devices string `json:"devices,omitempty"`
	// Models that were measured.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Models string `json:"models,omitempty"`
	// Time of the newest measurement.
	// +optional
	Newest metav1.Time `json:"newest,omitzero"`
}

// Measurement is what was measured of a model that served.
//
// +kubebuilder:validation:XValidation:rule="has(self.milliTokensPerSecond) || has(self.ttftMicros) || has(self.tpotMicros) || has(self.cacheTokens)",message="measures nothing: set milliTokensPerSecond, ttftMicros, tpotMicros or cacheTokens"
type Measurement struct {
	// Name of the model in the catalogue, or its hub id.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Model string `json:"model"`
	// Product of the devices, as their driver reports it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Device string `json:"device"`
	// Engine that served.
	Engine Engine `json:"engine"`
	// Version of the engine. Measurements of another version than the newest measurement's count less.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EngineVersion string `json:"engineVersion,omitempty"`
	// Precision that the weights were stored in; absent for the checkpoint's own.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Weights Precision `json:"weights,omitempty"`
	// Precision of the keys and values; absent for what is usual with the weights.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	KVCacheType Precision `json:"kvCacheType,omitempty"`
	// Degrees of parallelism of one copy; an absent one is 1. At least one of tensor, pipeline, data, expert and context is set.
	// +optional
	Parallelism *Parallelism `json:"parallelism,omitempty"`
	// Limits of the engine's steps, where it was started with others than its defaults.
	// +optional
	StepLimits *StepLimits `json:"stepLimits,omitempty"`
	// What the server did beside decoding one token after the other, and settings other than the engine's defaults: what is
	// measured is compared with an estimate of just that. Absent means nothing, and the defaults.
	// +optional
	Serving *ServingOptions `json:"serving,omitempty"`
	// Copies that served together.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	Replicas int32 `json:"replicas,omitempty"`
	// Tokens of a prompt, in the mean.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8388608
	InputTokens int32 `json:"inputTokens,omitempty"`
	// Tokens of an answer, in the mean.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8388608
	OutputTokens int32 `json:"outputTokens,omitempty"`
	// Tokens of the longest sequence; absent where all requests were alike.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	MaxModelLen int32 `json:"maxModelLen,omitempty"`
	// Requests in flight at a time over all copies; absent where all were sent at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Concurrency int32 `json:"concurrency,omitempty"`
	// Requests that were answered.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Requests int32 `json:"requests,omitempty"`
	// Generated tokens per second over all copies, in thousandths.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MilliTokensPerSecond int64 `json:"milliTokensPerSecond,omitempty"`
	// Time to the first token in the median, in microseconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TTFTMicros int64 `json:"ttftMicros,omitempty"`
	// Time for each further token in the median, in microseconds.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TPOTMicros int64 `json:"tpotMicros,omitempty"`
	// Tokens that the KV cache of a copy holds, as the engine said when it started.
	// +optional
	// +kubebuilder:validation:Minimum=1
	CacheTokens int64 `json:"cacheTokens,omitempty"`
	// Where the measurement comes from.
	// +optional
	Source MeasurementSource `json:"source,omitzero"`
}

// MeasurementSource is where a measurement comes from.
type MeasurementSource struct {
	// Tool that measured.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Tool string `json:"tool,omitempty"`
	// File or address that was read.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	File string `json:"file,omitempty"`
	// Time of the measurement.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
}

// SiteCalibrationList is a list of calibrations.
// +kubebuilder:object:root=true
type SiteCalibrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SiteCalibration `json:"items"`
}
