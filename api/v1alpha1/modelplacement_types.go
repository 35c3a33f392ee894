package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ModelPlacement asks for a model to be placed on the cluster's accelerators.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=mp,categories=rankwright
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.status.strategy`
// +kubebuilder:printcolumn:name="Devices",type=integer,JSONPath=`.status.devices`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Tok/s",type=integer,JSONPath=`.status.estimate.tokensPerSecond`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan`,priority=1
// +kubebuilder:printcolumn:name="Mesh",type=string,JSONPath=`.status.mesh`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50",message="metadata.name must have at most 50 characters: plans, meshes and pods are named after it with a suffix"
type ModelPlacement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is asked for.
	Spec ModelPlacementSpec `json:"spec"`
	// What was decided.
	// +optional
	Status ModelPlacementStatus `json:"status,omitzero"`
}

// ModelPlacementSpec is what is asked for.
type ModelPlacementSpec struct {
	// The model. Exactly one of name, parameters, architecture and configMap.
	Model ModelSource `json:"model"`
	// Number format of the weights; Auto takes the best that fits.
	// +optional
	// +kubebuilder:default=Auto
	Quantization Quantization `json:"quantization,omitempty"`
	// Number format of the KV cache; Auto takes 16 bits.
	// +optional
	// +kubebuilder:default=Auto
	KVCacheType KVCacheType `json:"kvCacheType,omitempty"`
	// What the model is for. Exactly one of inference and training.
	Workload Workload `json:"workload"`
	// Degrees of parallelism to keep to; what is absent is chosen.
	// +optional
	Parallelism *Parallelism `json:"parallelism,omitempty"`
	// Engine that will run the model; it decides the order of ranks and the launcher's files.
	// +optional
	// +kubebuilder:default=vLLM
	Engine Engine `json:"engine,omitempty"`
	// Number of independent copies.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	Replicas *int32 `json:"replicas,omitempty"`
	// Which devices may be taken.
	// +optional
	Devices *DeviceRequirements `json:"devices,omitempty"`
	// How far the devices of one copy may be apart.
	// +optional
	Topology *TopologyRequirements `json:"topology,omitempty"`
	// Priority class of the placement's pods; placements of higher priority are planned first.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// What to do when a device of the plan is lost: plan anew in the same shape, in any shape, or hold.
	// +optional
	// +kubebuilder:default=AnyShape
	OnFailure FailurePolicy `json:"onFailure,omitempty"`
	// How the plan's devices are kept for the placement's pods. Claim gives each pod a ResourceClaim that selects its devices,
	// which a DRA driver has to serve. Slot offers each one under a resource of its own, which the mesh names. With Advisory
	// any pod that asks for the kind may get it, and the plan only says which it should be.
	// +optional
	// +kubebuilder:default=Advisory
	// +kubebuilder:validation:XValidation:rule="self != 'Exclusive'",message="must be Claim, Slot or Advisory: Exclusive cannot be asked for yet"
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// Whether the pods verify their mesh over the network before they start; without it they do not.
	// +optional
	Verification *Verification `json:"verification,omitempty"`
}

// ModelSource says which model.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.parameters), has(self.architecture), has(self.configMap)].filter(x, x).size() == 1",message="exactly one of name, parameters, architecture and configMap must be set: keep the one that describes the model best and remove the others"
type ModelSource struct {
	// Name in the catalogue (`Llama-3.1-70B`) or the hub's id (`meta-llama/Llama-3.1-70B`).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name *string `json:"name,omitempty"`
	// Number of parameters where nothing else is known; the architecture is then a documented synthetic one.
	// +optional
	// +kubebuilder:validation:Minimum=1000000
	// +kubebuilder:validation:Maximum=100000000000000
	Parameters *int64 `json:"parameters,omitempty"`
	// The architecture itself.
	// +optional
	Architecture *Architecture `json:"architecture,omitempty"`
	// A ConfigMap in the placement's namespace that holds the model's config.json.
	// +optional
	ConfigMap *ConfigMapKey `json:"configMap,omitempty"`
}

// ConfigMapKey names a key of a ConfigMap.
type ConfigMapKey struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ConfigMap: lower-case letters, digits, hyphens and dots, with a letter or digit at both ends"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in it.
	// +optional
	// +kubebuilder:default="config.json"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// Quantization is the number format of weights.
// +kubebuilder:validation:Enum=Auto;FP32;FP16;BF16;FP8;INT8;INT4;MXFP4;NVFP4
type Quantization string

// QuantizationAuto takes the best format that fits.
const QuantizationAuto Quantization = "Auto"

// KVCacheType is the number format of the KV cache.
// +kubebuilder:validation:Enum=Auto;FP32;FP16;BF16;FP8;INT8
type KVCacheType string

// KVCacheAuto takes 16 bits.
const KVCacheAuto KVCacheType = "Auto"

// Engine is what runs the model.
// +kubebuilder:validation:Enum=vLLM;SGLang;TensorRT-LLM;Megatron;DeepSpeed;Torch;JAX;MPI
type Engine string

// The engines.
const (
	EngineVLLM        Engine = "vLLM"
	EngineSGLang      Engine = "SGLang"
	EngineTensorRTLLM Engine = "TensorRT-LLM"
	EngineMegatron    Engine = "Megatron"
	EngineDeepSpeed   Engine = "DeepSpeed"
	EngineTorch       Engine = "Torch"
	EngineJAX         Engine = "JAX"
	EngineMPI         Engine = "MPI"
)

// FailurePolicy is what to do when a device of the plan is lost.
// +kubebuilder:validation:Enum=SameShape;AnyShape;Hold
type FailurePolicy string

// The policies.
const (
	FailureSameShape FailurePolicy = "SameShape"
	FailureAnyShape  FailurePolicy = "AnyShape"
	FailureHold      FailurePolicy = "Hold"
)

// Parallelism holds the degrees to keep to.
//
// +kubebuilder:validation:XValidation:rule="has(self.tensor) || has(self.pipeline) || has(self.data) || has(self.expert) || has(self.context)",message="at least one of tensor, pipeline, data, expert and context must be set: remove parallelism to have all of them chosen"
type Parallelism struct {
	// Devices that share each layer.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Tensor *int32 `json:"tensor,omitempty"`
	// Stages of consecutive layers.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Pipeline *int32 `json:"pipeline,omitempty"`
	// Copies that share a process group.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	Data *int32 `json:"data,omitempty"`
	// Devices that share the experts of each layer.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	Expert *int32 `json:"expert,omitempty"`
	// Devices that share each sequence.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Context *int32 `json:"context,omitempty"`
}

// DeviceKindRequirement is a set of device families.
// +kubebuilder:validation:Enum=Any;GPU;TPU;NPU;ASIC;GPUOrTPU
type DeviceKindRequirement string

// The requirements. Any means any accelerator, never the host's CPU.
const (
	RequireAny      DeviceKindRequirement = "Any"
	RequireGPU      DeviceKindRequirement = "GPU"
	RequireTPU      DeviceKindRequirement = "TPU"
	RequireNPU      DeviceKindRequirement = "NPU"
	RequireASIC     DeviceKindRequirement = "ASIC"
	RequireGPUOrTPU DeviceKindRequirement = "GPUOrTPU"
)

// DeviceRequirements says which devices may be taken. All that is set must hold.
type DeviceRequirements struct {
	// Family of device.
	// +optional
	// +kubebuilder:default=Any
	Requirement DeviceKindRequirement `json:"requirement,omitempty"`
	// Vendors, any of which may be taken (never two in one copy).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, v.matches('^[a-z0-9][a-z0-9-]*$'))",message="vendors must be in lower case as in the inventories (nvidia, amd, intel, google): see kubectl get acceleratorinventories -o yaml"
	Vendors []string `json:"vendors,omitempty"`
	// Product names as in the inventory, any of which may be taken.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Products []string `json:"products,omitempty"`
	// Labels that the node must have.
	// +optional
	NodeSelector *NodeSelector `json:"nodeSelector,omitempty"`
	// Least memory of a device in MiB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	MinMemoryMiB *int64 `json:"minMemoryMiB,omitempty"`
	// Number formats that the device must compute natively.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Precisions []Precision `json:"precisions,omitempty"`
}

// TopologyRequirements says how far the devices of one copy may be apart. A level is a node label key
// (`kubernetes.io/hostname`, `topology.kubernetes.io/zone`, …) whose value they share.
//
// +kubebuilder:validation:XValidation:rule="has(self.required) != has(self.preferred)",message="exactly one of required and preferred must be set: required refuses a wider placement, preferred only avoids it"
type TopologyRequirements struct {
	// Level that the devices must share.
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a node label, such as kubernetes.io/hostname or topology.kubernetes.io/zone"
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Required *string `json:"required,omitempty"`
	// Level that the devices should share.
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a node label, such as kubernetes.io/hostname or topology.kubernetes.io/zone"
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Preferred *string `json:"preferred,omitempty"`
}
