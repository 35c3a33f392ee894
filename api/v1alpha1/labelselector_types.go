package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// LabelSelector selects nodes by their labels; all terms must hold. It has the form of metav1.LabelSelector, whose sizes are not bounded.
type LabelSelector struct {
	// Labels that a node must have, each with its value.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 317)",message="a label key must have at most 317 characters: a prefix of 253, a slash and a name of 63"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// Terms about a node's labels, all of which must hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// LabelSelectorRequirement is a term of a LabelSelector.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] == (has(self.values) && size(self.values) > 0)",message="values must be set for the operators In and NotIn, and must be absent for Exists and DoesNotExist"
type LabelSelectorRequirement struct {
	// Key of the label that the term is about.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// In and NotIn compare the label's value with values; Exists and DoesNotExist ask for the label alone.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values to compare with. They are required for In and NotIn, and forbidden for Exists and DoesNotExist.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Values []LabelValue `json:"values,omitempty"`
}

// AsSelector is the selector in the form that matches labels, or an error that names the term that cannot be meant.
func (s *LabelSelector) AsSelector() (labels.Selector, error) {
	plain := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range s.MatchLabels {
		plain.MatchLabels[key] = string(value)
	}
	for _, term := range s.MatchExpressions {
		requirement := metav1.LabelSelectorRequirement{Key: term.Key, Operator: term.Operator}
		for _, value := range term.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		plain.MatchExpressions = append(plain.MatchExpressions, requirement)
	}
	return metav1.LabelSelectorAsSelector(plain)
}
