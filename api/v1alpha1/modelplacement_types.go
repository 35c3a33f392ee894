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
// +kubebuilder:printcolumn:name="Tok/s",type=integer,JSONPath=`.status.estimate.tokensPerSecond.value`
// +kubebuilder:printcolumn:name="Placed",type=string,JSONPath=`.status.conditions[?(@.type=="Placed")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.summary.pods`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan`,priority=1
// +kubebuilder:printcolumn:name="Mesh",type=string,JSONPath=`.status.mesh`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50",message="metadata.name must have at most 50 characters: plans, meshes and pods are named after it with a suffix"
type ModelPlacement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The model, what it is for, and what its devices must be like.
	Spec ModelPlacementSpec `json:"spec"`
	// What the operator decided, and whether it is in force.
	// +optional
	Status ModelPlacementStatus `json:"status,omitzero"`
}

// ModelPlacementSpec is what is asked for.
type ModelPlacementSpec struct {
	// The model to place. Exactly one of name, parameters, architecture and configMap is set.
	Model ModelSource `json:"model"`
	// Number format of the weights: FP32, FP16, BF16, FP8, INT8, INT4, MXFP4 or NVFP4. Auto, the default, takes the best format
	// that fits.
	// +optional
	// +kubebuilder:default=Auto
	Quantization Quantization `json:"quantization,omitempty"`
	// Number format of the KV cache. Auto, the default, takes 16 bits.
	// +optional
	// +kubebuilder:default=Auto
	KVCacheType KVCacheType `json:"kvCacheType,omitempty"`
	// What the model is to do. Exactly one of inference and training is set.
	Workload Workload `json:"workload"`
	// Degrees of parallelism that the plan must have. The planner chooses the degrees that are absent. At least one of tensor,
	// pipeline, data, expert and context is set.
	// +optional
	Parallelism *Parallelism `json:"parallelism,omitempty"`
	// Engine that will run the model: vLLM (the default), SGLang and TensorRT-LLM, which serve and do not train, Megatron, DeepSpeed,
	// Torch, JAX or MPI. It decides which devices, formats and degrees are possible, the order of ranks, and the files for the
	// launcher. A program of your own has a name with your domain (`example.com/engine`); nothing is assumed of it but ranks in
	// the order of torch.distributed, whose variables it is started with.
	// +optional
	// +kubebuilder:default=vLLM
	Engine Engine `json:"engine,omitempty"`
	// Number of independent copies of the model. 0 frees all devices. Absent means the number that the planner chooses where the
	// workload gives a load for the whole placement (totalSequences), and else one copy. Nothing writes it but the scale
	// subresource, so that manifests that leave it out never undo what `kubectl scale` or an autoscaler set there. Reading the
	// scale subresource fails until it is set, so an autoscaler needs a first value.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1024
	Replicas *int32 `json:"replicas,omitempty"`
	// Which devices may be taken; absent means any accelerator.
	// +optional
	Devices *DeviceRequirements `json:"devices,omitempty"`
	// How far the devices of one copy may be apart; absent means anywhere in the cluster. Exactly one of required and preferred
	// is set.
	// +optional
	Topology *TopologyRequirements `json:"topology,omitempty"`
	// How the placement's pods are cut, reached and started; absent means one pod for all devices of a copy on a node, and the
	// launchers of the engine.
	// +optional
	Launch *Launch `json:"launch,omitempty"`
	// The workload that makes the placement's pods. Pods of others are refused that have the placement's label; absent means
	// that every workload of the namespace may make them.
	// +optional
	WorkloadRef *WorkloadReference `json:"workloadRef,omitempty"`
	// Name of the PriorityClass of the placement's pods. Placements of higher priority get devices first; none is preempted.
	// Absent means the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// When something that the plan counts on is lost, and what follows.
	// +optional
	// +kubebuilder:default={}
	FailurePolicy FailurePolicy `json:"failurePolicy,omitzero"`
	// How the plan's devices are kept for the placement's pods. Claim gives each pod a ResourceClaim that selects its
	// devices, which a DRA driver has to serve. Slot offers each device under an extended resource of its own. With Advisory, the default, any pod that asks for such devices may get them, and the plan only says which
	// pod should.
	// +optional
	// +kubebuilder:default=Advisory
	// +kubebuilder:validation:XValidation:rule="self != 'Exclusive'",message="must be Claim, Slot or Advisory: Exclusive cannot be asked for yet"
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// How long the placement may come no nearer to being ready, in seconds, before its condition Progressing is False with the
	// reason ProgressDeadlineExceeded. Nothing else follows from it. Default: 600.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// Whether the pods verify their links over the network before they start; absent means that they do not.
	// +optional
	Verification *Verification `json:"verification,omitempty"`
	// Whether the placement gives its devices back and waits, whatever replicas says. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// How long the placement keeps its devices while no pod has its label, in seconds. Then it gives them back, and is placed
	// again when a pod comes or the spec changes. Absent means that it keeps them, as it must where only its plan is used.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TTLSecondsWithoutPods *int32 `json:"ttlSecondsWithoutPods,omitempty"`
	// Any text: a new one asks for a fresh plan, as a change of the spec does, to take what a condition Improvable offers.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ReplanRequest string `json:"replanRequest,omitempty"`
	// Number of earlier specs that are kept as ControllerRevisions, to go back to. Default: 10.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// ModelSource says which model. Exactly one of name, parameters, architecture and configMap is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.parameters), has(self.architecture), has(self.configMap)].filter(x, x).size() == 1",message="exactly one of name, parameters, architecture and configMap must be set: keep the one that describes the model best and remove the others"
// +kubebuilder:validation:XValidation:rule="!has(self.revision) || has(self.name)",message="revision is of a checkpoint on the hub: set name, or remove revision"
type ModelSource struct {
	// Name of the model in the catalogue (`Llama-3.1-70B`), or its id on the hub (`meta-llama/Llama-3.1-70B`).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name *string `json:"name,omitempty"`
	// Revision of the checkpoint on the hub: a branch, a tag or a commit. Absent means the hub's default. The plan is made from the
	// catalogue whatever it is.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9_./-]*$')",message="must be a branch, a tag or a commit: letters, digits and _./- after a letter or digit"
	Revision string `json:"revision,omitempty"`
	// Number of parameters, where nothing else is known of the model. A synthetic architecture of that size, which the
	// documentation describes, is planned for.
	// +optional
	// +kubebuilder:validation:Minimum=1000000
	// +kubebuilder:validation:Maximum=100000000000000
	Parameters *int64 `json:"parameters,omitempty"`
	// The architecture of the model, layer by layer.
	// +optional
	Architecture *Architecture `json:"architecture,omitempty"`
	// The ConfigMap, in the placement's namespace, that has the model's config.json.
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
	// Key of the ConfigMap under which the text is. Default: config.json.
	// +optional
	// +kubebuilder:default="config.json"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// Quantization is the number format of weights. Formats of other names are refused, since nothing says how many bits a weight
// has in them.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self in ['Auto', 'FP32', 'FP16', 'BF16', 'FP8', 'INT8', 'INT4', 'MXFP4', 'NVFP4']",message="must be Auto, FP32, FP16, BF16, FP8, INT8, INT4, MXFP4 or NVFP4: of another format it is not known how many bits a weight has; name the one of these that has as many or the next more"
type Quantization string

// QuantizationAuto takes the best format that fits.
const QuantizationAuto Quantization = "Auto"

// KVCacheType is the number format of the KV cache.
// +kubebuilder:validation:Enum=Auto;FP32;FP16;BF16;FP8;INT8
type KVCacheType string

// KVCacheAuto takes 16 bits.
const KVCacheAuto KVCacheType = "Auto"

// Engine is what runs the model: one of the constants below, or a program of the user's own by a name with its domain
// (`example.com/engine`).
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self in ['vLLM', 'SGLang', 'TensorRT-LLM', 'Megatron', 'DeepSpeed', 'Torch', 'JAX', 'MPI'] || self.matches('^[a-z0-9-]+([.][a-z0-9-]+)+/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$')",message="must be one of vLLM, SGLang, TensorRT-LLM, Megatron, DeepSpeed, Torch, JAX and MPI, or for a program of your own a name with your domain, such as example.com/engine"
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

// Parallelism holds the degrees to keep to. At least one of tensor, pipeline, data, expert and context is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tensor), has(self.pipeline), has(self.data), has(self.expert), has(self.context)].filter(x, x).size() >= 1",message="at least one of tensor, pipeline, data, expert and context must be set: remove parallelism to have all of them chosen"
type Parallelism struct {
	// Tensor parallelism: number of devices that share each layer. Absent means that the planner chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Tensor *int32 `json:"tensor,omitempty"`
	// Pipeline parallelism: number of stages, each of consecutive layers. Absent means that the planner chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Pipeline *int32 `json:"pipeline,omitempty"`
	// Data parallelism: number of ranks that hold the same weights, within the process group of one copy. Absent means that
	// the planner chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	Data *int32 `json:"data,omitempty"`
	// Expert parallelism: number of devices that share the experts of each layer. Absent means that the planner chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	Expert *int32 `json:"expert,omitempty"`
	// Context parallelism: number of devices that share each sequence. Absent means that the planner chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	Context *int32 `json:"context,omitempty"`
}

// DeviceRequirements says which devices may be taken. All that is set must hold.
type DeviceRequirements struct {
	// Families of devices, any of which may be taken. Absent means all accelerators, never the host's CPU.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:XValidation:rule="self.all(f, f != 'CPU')",message="families must be of GPU, TPU, NPU and ASIC: a model is not placed on the host's CPU"
	Families []DeviceFamily `json:"families,omitempty"`
	// Vendors, in lower case as in the inventories, any of which may be taken, never two in one copy. Absent means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, v.matches('^[a-z0-9][a-z0-9-]*$'))",message="vendors must be in lower case as in the inventories (nvidia, amd, intel, google): see kubectl get acceleratorinventories -o yaml"
	Vendors []string `json:"vendors,omitempty"`
	// Names of products, as in the inventories, any of which may be taken. Absent means all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Products []string `json:"products,omitempty"`
	// Labels that the nodes must have. Absent means all nodes.
	// +optional
	NodeLabelSelector *LabelSelector `json:"nodeLabelSelector,omitempty"`
	// Taints of nodes that the placement's pods tolerate. Pods get those that they have not themselves when they are created.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// Least total memory that a device must have, in MiB (2^20 bytes). Absent means no bound.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	MinMemoryMiB *int64 `json:"minMemoryMiB,omitempty"`
	// Number formats that the devices must compute natively, all of them. Absent means no such condition.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	Precisions []Precision `json:"precisions,omitempty"`
}

// TopologyRequirements says how far the devices of one copy may be apart. A level is a node label key
// (`kubernetes.io/hostname`, `topology.kubernetes.io/zone`, …) whose value they share. Exactly one of required and preferred is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.required), has(self.preferred)].filter(x, x).size() == 1",message="exactly one of required and preferred must be set: required refuses a wider placement, preferred only avoids it"
type TopologyRequirements struct {
	// Key of a node label (`topology.kubernetes.io/zone`) of which all devices of a copy must share the value: without such
	// nodes there is no plan.
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a node label, such as kubernetes.io/hostname or topology.kubernetes.io/zone"
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Required *string `json:"required,omitempty"`
	// Key of a node label (`topology.kubernetes.io/zone`) of which all devices of a copy should share the value: it is given
	// up where they cannot.
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a node label, such as kubernetes.io/hostname or topology.kubernetes.io/zone"
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Preferred *string `json:"preferred,omitempty"`
}
