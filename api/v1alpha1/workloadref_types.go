package v1alpha1

// WorkloadReference names the object, in the placement's namespace, that makes the placement's pods. It may be made later
// than the placement. Rankwright does not write it: it is scaled by whoever scales it without a placement.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'Deployment' && self.kind != 'DaemonSet' && self.kind != 'ReplicaSet'",message="workloadRef must be of a kind that numbers its pods, which Deployments, ReplicaSets and DaemonSets do not: use a StatefulSet, an Indexed Job, a LeaderWorkerSet, a JobSet, or a kind of Kubeflow or Ray"
type WorkloadReference struct {
	// API group and version of the object (`apps/v1`). The group alone has to be that of the pods' workload.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9.-]+/)?v[a-z0-9]+$')",message="must be group and version of the workload, such as apps/v1, batch/v1 or leaderworkerset.x-k8s.io/v1"
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// Kind of the object: StatefulSet, Job, LeaderWorkerSet, JobSet, MPIJob, PyTorchJob, JAXJob or RayCluster.
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="must be the kind of the workload, such as StatefulSet or LeaderWorkerSet"
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of an object: lower-case letters, digits, hyphens and dots, with a letter or digit at both ends"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
