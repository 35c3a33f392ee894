package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Launch says how the placement's pods are cut, reached and started.
type Launch struct {
	// Launcher that the files for the pods are written for. Absent means the launchers of the engine and of the devices' runtime.
	// +optional
	// +kubebuilder:validation:Enum=env;torchrun;vllm;sglang;tensorrt-llm;openmpi;mpich;deepspeed;megatron;jax;tpu;neuron;hccl;ray;groups
	Launcher string `json:"launcher,omitempty"`
	// Container of the pods that gets the devices. Absent means kubectl's default container, which a pod's annotation names,
	// or the first.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be the name of a container: lower-case letters, digits and hyphens, with a letter or digit at both ends"
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// Number of devices of each pod; it has to divide what a copy has on a node. Absent means all that a copy has on a node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	DevicesPerPod *int32 `json:"devicesPerPod,omitempty"`
	// Pattern of the pods' names on the network (`llm-{pod}.llm`): {pod} is the pod's number, {copy} its copy, {worker} its
	// number in the copy, and {-worker} nothing in the first pod of a copy and a hyphen and that number in the others. Absent
	// means that pods have the addresses of their nodes, as with hostNetwork.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9.-]|[{](pod|copy|worker|-worker)[}])+$')",message="must be a host name in which {pod}, {copy}, {worker} and {-worker} stand for numbers, such as llm-{pod}.llm"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Hosts string `json:"hosts,omitempty"`
	// What each pod asks of its node: cpu, memory, ephemeral-storage and hugepages-<size>. No pod is planned on a node that has
	// less left. Used while the placement has no pods; those that it has, waiting ones too, tell it themselves. Absent means that
	// nothing is known until there are pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'] || name.startsWith('hugepages-'))",message="names must be cpu, memory, ephemeral-storage or hugepages-<size>: devices are planned, and are not asked for here"
	Requests Resources `json:"requests,omitempty"`
}

// Resources are amounts of what a node has, by name, as in the requests of a container.
type Resources map[string]resource.Quantity
