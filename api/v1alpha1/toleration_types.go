package v1alpha1

// Toleration tolerates taints of nodes. It has the form of corev1.Toleration, whose sizes are not bounded, without
// tolerationSeconds: how long a copy stays on a node that goes is not a matter of single pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || self.operator == 'Equal' ? has(self.key) : !has(self.value)",message="key must be set for the operator Equal, and value must be absent for Exists: set operator to Exists to tolerate every value, and leave key out with it to tolerate every taint"
type Toleration struct {
	// Key of the taint. Absent, which needs the operator Exists, means every key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`
	// Equal, the default, compares the taint's value with value; Exists asks for the key alone.
	// +optional
	// +kubebuilder:validation:Enum=Equal;Exists
	Operator string `json:"operator,omitempty"`
	// Value of the taint, for the operator Equal.
	// +optional
	Value LabelValue `json:"value,omitempty"`
	// Effect of the taint. Absent means all effects.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect,omitempty"`
}
