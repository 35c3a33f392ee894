package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ShardingPlan says which layers of a model go to which devices, with how many bytes. It is one revision of a placement,
// never changes, and reserves its devices for as long as it exists.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=splan,categories=rankwright
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.model.name`
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.strategy.summary`
// +kubebuilder:printcolumn:name="Quant",type=string,JSONPath=`.spec.quantization`
// +kubebuilder:printcolumn:name="Devices",type=integer,JSONPath=`.spec.totals.devices`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.spec.totals.nodes`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.spec.totals.memory`
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="Enforcement",type=string,JSONPath=`.spec.enforcement`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ShardingPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which devices hold which part of the model. It never changes: a new plan is a new object.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a plan never changes: edit the ModelPlacement, which gets a new plan"
	Spec ShardingPlanSpec `json:"spec"`
	// Whether the plan is in force.
	// +optional
	Status ShardingPlanStatus `json:"status,omitzero"`
}

// ShardingPlanSpec is the plan.
//
// +kubebuilder:validation:XValidation:rule="size(self.stages) == self.strategy.pipeline",message="stages must have one entry for each of strategy.pipeline stages: set pipeline to the number of stages"
// +kubebuilder:validation:XValidation:rule="self.totals.devices == self.strategy.tensor * self.strategy.pipeline * self.strategy.data * self.strategy.context * self.strategy.replicas + (has(self.otherShapes) ? self.otherShapes.map(s, s.strategy.tensor * s.strategy.pipeline * s.strategy.data * s.strategy.context * s.strategy.replicas).sum() : 0)",message="totals.devices must be tensor x pipeline x data x context x replicas of strategy, and of each of otherShapes on top: correct the degrees or the total"
// +kubebuilder:validation:XValidation:rule="!has(self.otherShapes) || (self.otherShapes.map(s, s.firstReplica).isSorted() && self.otherShapes.all(s, s.firstReplica == self.strategy.replicas + self.otherShapes.filter(o, o.firstReplica < s.firstReplica).map(o, o.strategy.replicas).sum() && self.otherShapes.exists_one(o, o.firstReplica == s.firstReplica)))",message="firstReplica of each of otherShapes must be the number of copies before it: strategy.replicas for the first, and for each further one the first and the replicas of the one before"
type ShardingPlanSpec struct {
	// The ModelPlacement, in the same namespace, that the plan is for.
	Placement PlacementRef `json:"placement"`
	// Number of the plan among the plans of its placement, from 1. Later plans have higher numbers.
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`
	// The model that is planned, with its architecture.
	Model PlannedModel `json:"model"`
	// Number format in which the weights are stored.
	Quantization Precision `json:"quantization"`
	// Number format in which the KV cache is stored.
	KVCacheType Precision `json:"kvCacheType"`
	// Number format in which products are computed; absent where it is not known.
	// +optional
	ComputeType Precision `json:"computeType,omitempty"`
	// Engine that the plan was made for.
	Engine Engine `json:"engine"`
	// Version of the engine whose arguments and measurements the plan was made with (`0.19.0`). Start this one or a later one. Absent
	// where none is known.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EngineVersion string `json:"engineVersion,omitempty"`
	// Limits of the engine's steps for which the memory was counted: start the engine with these. Absent in training.
	// +optional
	StepLimits *StepLimits `json:"stepLimits,omitempty"`
	// What the server was planned to do beside decoding one token after the other, and settings other than the engine's defaults: start
	// it so. Absent where nothing of it was asked for, and in training.
	// +optional
	Serving *ServingOptions `json:"serving,omitempty"`
	// Training job that the plan was made for: start it so. Absent in inference.
	// +optional
	Training *TrainingWorkload `json:"training,omitempty"`
	// Degrees of parallelism of the first copies, 0 to strategy.replicas-1. Its summary names the shapes of all copies (`TP2
	// x2 + TP4 x2`).
	Strategy Strategy `json:"strategy"`
	// Pipeline stages of each of the first copies, in order of their layers: one where there is no pipeline.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Stages []Stage `json:"stages"`
	// Shapes of the copies that follow the first ones, where they differ from those in degrees, stages or class of device.
	// Absent where all copies are alike.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	OtherShapes []PlanShape `json:"otherShapes,omitempty"`
	// Which device serves what: a row for each run of consecutive tensor ranks on a node, in order of copy, data rank, stage
	// and tensor rank. Where that would be more than 1,000 rows, a row runs on through the stages and data ranks of its copy
	// that follow on the same node.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16384
	Nodes []PlanRow `json:"nodes"`
	// Counts and sums over all copies.
	Totals PlanTotals `json:"totals"`
	// What the plan should deliver. It is computed, not measured.
	// +optional
	Estimate *Estimate `json:"estimate,omitempty"`
	// The best plans that were not taken, each with the reason.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Rejected []RejectedPlan `json:"rejected,omitempty"`
	// How the devices are kept for the placement's pods: by ResourceClaims (Claim), by an extended resource for each device
	// (Slot), or not at all (Advisory, the default). Exclusive is reserved.
	// +kubebuilder:default=Advisory
	Enforcement Enforcement `json:"enforcement"`
}

// StepLimits bound what an engine works on in one step, on each rank that attends to sequences of its own.
type StepLimits struct {
	// Most tokens of one step (vLLM's `--max-num-batched-tokens`).
	// +kubebuilder:validation:Minimum=1
	Tokens int64 `json:"tokens"`
	// Most sequences of one step (vLLM's `--max-num-seqs`).
	// +kubebuilder:validation:Minimum=1
	Sequences int64 `json:"sequences"`
	// Most tokens of one sequence, its prompt included (vLLM's `--max-model-len`). Absent in plans of before.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Length int64 `json:"length,omitempty"`
}

// PlacementRef names a placement in the same namespace.
type PlacementRef struct {
	// Name of the ModelPlacement.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the ModelPlacement: one that is made anew under the name is another one.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// The metadata.generation of the ModelPlacement's spec that was read.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Hash of what the spec asked of the plan, apart from the number of copies.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RequestHash string `json:"requestHash,omitempty"`
}

// PlannedModel is a model as resolved.
type PlannedModel struct {
	// Name of the model.
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// Id on the hub of the checkpoint whose weights are loaded (`meta-llama/Llama-3.1-70B`). Absent where it is not known, and where
	// no checkpoint is known to have the plan's format.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Checkpoint string `json:"checkpoint,omitempty"`
	// Revision of the checkpoint: a branch, a tag or a commit. Absent means the hub's default.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Revision string `json:"revision,omitempty"`
	// Number format in which the checkpoint stores its weights. Absent means that of the plan.
	// +optional
	StoredIn Precision `json:"storedIn,omitempty"`
	// Number of parameters, counted from the architecture.
	// +kubebuilder:validation:Minimum=1
	Parameters int64 `json:"parameters"`
	// Architecture that bytes and times were computed from.
	Architecture Architecture `json:"architecture"`
	// What was assumed of the model where its source does not say, a sentence each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Assumptions []string `json:"assumptions,omitempty"`
}

// StrategyName is the predecessors' word for a kind of plan.
// +kubebuilder:validation:Enum=None;TensorParallel;PipelineParallel;DataParallel;Hybrid
type StrategyName string

// The strategies. None is one device a copy; Hybrid is any combination of two and more degrees above 1.
const (
	StrategyNone             StrategyName = "None"
	StrategyTensorParallel   StrategyName = "TensorParallel"
	StrategyPipelineParallel StrategyName = "PipelineParallel"
	StrategyDataParallel     StrategyName = "DataParallel"
	StrategyHybrid           StrategyName = "Hybrid"
)

// PlanShape is what consecutive copies of a plan have in common.
//
// +kubebuilder:validation:XValidation:rule="size(self.stages) == self.strategy.pipeline",message="stages must have one entry for each of strategy.pipeline stages: set pipeline to the number of stages"
type PlanShape struct {
	// Number, from 0, of the first copy of this shape.
	// +kubebuilder:validation:Minimum=0
	FirstReplica int32 `json:"firstReplica"`
	// Degrees of parallelism of these copies; strategy.replicas is how many of them there are.
	Strategy Strategy `json:"strategy"`
	// Pipeline stages of each of these copies, in order of their layers: one where there is no pipeline.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Stages []Stage `json:"stages"`
	// Limits of the engine's steps for which the memory of these copies was counted: start the engine with these. Absent in
	// training.
	// +optional
	StepLimits *StepLimits `json:"stepLimits,omitempty"`
}

// Strategy holds the degrees of parallelism of one copy, and the number of copies.
type Strategy struct {
	// TensorParallel, PipelineParallel or DataParallel where that degree alone is above 1, Hybrid where several degrees are,
	// and None where a copy is one device.
	Name StrategyName `json:"name"`
	// The degrees for people (`TP4 PP2 x2`: tensor 4, pipeline 2, two copies).
	// +kubebuilder:validation:MaxLength=64
	Summary string `json:"summary"`
	// Tensor parallelism: number of devices that share each layer.
	// +kubebuilder:validation:Minimum=1
	Tensor int32 `json:"tensor"`
	// Pipeline parallelism: number of stages.
	// +kubebuilder:validation:Minimum=1
	Pipeline int32 `json:"pipeline"`
	// Data parallelism: number of data ranks in the process group of one copy. SGLang and TensorRT-LLM, which count data
	// ranks among their tensor ranks, are started with a tensor degree of tensor x data.
	// +kubebuilder:validation:Minimum=1
	Data int32 `json:"data"`
	// Expert parallelism: number of devices that share the experts of each layer; 1 where there are no experts.
	// +kubebuilder:validation:Minimum=1
	Expert int32 `json:"expert"`
	// Context parallelism: number of devices that share each sequence.
	// +kubebuilder:validation:Minimum=1
	Context int32 `json:"context"`
	// Number of tensor ranks that share out the tokens of the KV cache instead of keeping the same ones (vLLM's
	// decode-context-parallel-size). They need no devices of their own. Absent means 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	DecodeContext int32 `json:"decodeContext,omitempty"`
	// Number of independent copies.
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `json:"replicas"`
}

// Stage is a run of consecutive layers.
//
// +kubebuilder:validation:XValidation:rule="self.firstLayer <= self.lastLayer",message="firstLayer must not exceed lastLayer: a stage has at least one layer, the last one included"
type Stage struct {
	// Number, from 0, of the first layer of the stage.
	// +kubebuilder:validation:Minimum=0
	FirstLayer int32 `json:"firstLayer"`
	// Number, from 0, of the last layer of the stage, which it includes.
	// +kubebuilder:validation:Minimum=0
	LastLayer int32 `json:"lastLayer"`
	// Memory that is needed on each device of the stage.
	PerDevice MemoryUse `json:"perDevice"`
}

// MemoryUse is the memory of one device by what it is for.
type MemoryUse struct {
	// Weights, in bytes.
	// +kubebuilder:validation:Minimum=0
	WeightsBytes int64 `json:"weightsBytes"`
	// KV cache, in bytes.
	// +kubebuilder:validation:Minimum=0
	KVCacheBytes int64 `json:"kvCacheBytes"`
	// Activations in bytes; in training, with gradients and optimizer state.
	// +kubebuilder:validation:Minimum=0
	ActivationsBytes int64 `json:"activationsBytes"`
	// What engine, driver context and communication library take, in bytes.
	// +kubebuilder:validation:Minimum=0
	OverheadBytes int64 `json:"overheadBytes"`
	// Sum of weights, KV cache, activations and overhead, in bytes.
	// +kubebuilder:validation:Minimum=0
	TotalBytes int64 `json:"totalBytes"`
}

// PlanRow is a run of consecutive places of one copy on one node: tensor ranks, after the last one those of the next stage,
// and after the last stage those of the next data rank.
type PlanRow struct {
	// Name of the node that the devices are on.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// Number of the copy, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replica int32 `json:"replica,omitempty"`
	// Data rank of the first device in its copy, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Data int32 `json:"data,omitempty"`
	// Pipeline stage of the first device, from 0. Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Stage int32 `json:"stage,omitempty"`
	// Tensor rank of the first device in its stage, from 0, counted on through the context ranks; the other devices follow.
	// Absent means 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TensorRank int32 `json:"tensorRank,omitempty"`
	// Ids of the devices, in order of rank.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Devices []DeviceID `json:"devices"`
}

// PlanTotals holds counts and sums over all copies.
type PlanTotals struct {
	// Number of devices, over all copies.
	Devices int32 `json:"devices"`
	// Number of nodes that have at least one of the devices.
	Nodes int32 `json:"nodes"`
	// Weights on all devices in bytes; what several devices store counts as often.
	WeightsBytes int64 `json:"weightsBytes"`
	// KV cache on all devices, in bytes.
	KVCacheBytes int64 `json:"kvCacheBytes"`
	// Memory on all devices, in bytes: weights, KV cache, activations and overhead.
	TotalBytes int64 `json:"totalBytes"`
	// Memory on all devices, rounded for people (`181.4 GiB`).
	// +kubebuilder:validation:MaxLength=32
	Memory string `json:"memory"`
}

// RejectedPlan is a plan that was not taken.
type RejectedPlan struct {
	// Degrees of parallelism of the plan, for people (`TP4 PP2 x2`).
	// +kubebuilder:validation:MaxLength=64
	Strategy string `json:"strategy"`
	// Word for why the plan was not taken, for programs.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// Why the plan was not taken, in numbers, for people.
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}

// Enforcement is how a plan's devices are kept for its pods.
// +kubebuilder:validation:Enum=Claim;Slot;Exclusive;Advisory
type Enforcement string

// The enforcements: by a DRA claim, by a one-device resource of its own, by taking all of a node's resource, or by
// nothing but the report of drift.
const (
	EnforcementClaim     Enforcement = "Claim"
	EnforcementSlot      Enforcement = "Slot"
	EnforcementExclusive Enforcement = "Exclusive"
	EnforcementAdvisory  Enforcement = "Advisory"
)

// ShardingPlanStatus says whether a plan is in force.
type ShardingPlanStatus struct {
	// The metadata.generation of the plan that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Active: the ledger holds the plan, which is then in force.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ShardingPlanList is a list of plans.
// +kubebuilder:object:root=true
type ShardingPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ShardingPlan `json:"items"`
}
