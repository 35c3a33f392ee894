// Package v1alpha1 holds the five kinds of the API group rankwright.dev: AcceleratorInventory, ModelPlacement,
// ShardingPlan, DeviceMesh and SiteCalibration. They are the vocabulary of the whole product.
//
// Units: MiB are 2^20 bytes, MBps are 10^6 bytes per second in one direction, Gbps are 10^9 bits per second. Layers,
// ranks, stages and replicas count from 0.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=applyconfiguration
// +groupName=rankwright.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "rankwright.dev", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion under the name that generated code expects.
var SchemeGroupVersion = GroupVersion

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AcceleratorInventory{}, &AcceleratorInventoryList{},
		&ModelPlacement{}, &ModelPlacementList{},
		&ShardingPlan{}, &ShardingPlanList{},
		&DeviceMesh{}, &DeviceMeshList{},
		&SiteCalibration{}, &SiteCalibrationList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
