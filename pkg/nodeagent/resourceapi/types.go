// Package resourceapi has what the agent reads and writes of resource.k8s.io/v1. The package k8s.io/api/resource/v1 has all of
// Pods in it, which every agent would hold.
package resourceapi

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Slice is a ResourceSlice: a part of what a driver offers.
type Slice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec SliceSpec `json:"spec"`
}

// SliceSpec says which devices of a pool a slice has.
type SliceSpec struct {
	Driver   string   `json:"driver"`
	Pool     Pool     `json:"pool"`
	NodeName string   `json:"nodeName,omitempty"`
	Devices  []Device `json:"devices,omitempty"`
}

// Pool is all the slices of a driver that belong together, on one node here.
type Pool struct {
	Name               string `json:"name"`
	Generation         int64  `json:"generation"`
	ResourceSliceCount int64  `json:"resourceSliceCount"`
}

// Device is a device as a ResourceSlice has it.
type Device struct {
	Name       string               `json:"name"`
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Capacity   map[string]Capacity  `json:"capacity,omitempty"`
	Taints     []Taint              `json:"taints,omitempty"`
}

// Taint keeps a device from claims that do not tolerate the taint. API servers before Kubernetes 1.36 drop it. Where TimeAdded
// is nil, the API server sets it to the time of the write.
type Taint struct {
	Key       string       `json:"key"`
	Value     string       `json:"value,omitempty"`
	Effect    string       `json:"effect"`
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// Attribute is a text, a number, or a version as semver.org has it.
type Attribute struct {
	String  *string `json:"string,omitempty"`
	Int     *int64  `json:"int,omitempty"`
	Version *string `json:"version,omitempty"`
}

// Capacity is how much a device has of something.
type Capacity struct {
	Value resource.Quantity `json:"value"`
}

// What the API server takes (k8s.io/api/resource/v1, types.go).
const (
	// MaxDevices is how many devices a ResourceSlice has at most where one has a taint
	// (ResourceSliceMaxDevicesWithAdvancedFeatures).
	MaxDevices = 64
	// MaxText is the length of a text or a version in bytes (DeviceAttributeMaxValueLength).
	MaxText = 64
)

// Claim is a ResourceClaim: what the scheduler has allotted to pods.
type Claim struct {
	metav1.ObjectMeta `json:"metadata"`

	Status ClaimStatus `json:"status"`
}

// ClaimStatus says which devices a claim has, and which pods may use them.
type ClaimStatus struct {
	Allocation  *Allocation `json:"allocation"`
	ReservedFor []Consumer  `json:"reservedFor"`
}

// Allocation has the part of an allocation that says which devices there are.
type Allocation struct {
	Devices struct {
		Results []Result `json:"results"`
	} `json:"devices"`
}

// Result is a device for a request of a claim.
type Result struct {
	Request     string       `json:"request"`
	Driver      string       `json:"driver"`
	Pool        string       `json:"pool"`
	Device      string       `json:"device"`
	AdminAccess bool         `json:"adminAccess"`
	Tolerations []Toleration `json:"tolerations"`
	ShareID     *string      `json:"shareID"`
}

// Toleration says of which taints a request takes devices nevertheless.
type Toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

// Consumer may use a claim.
type Consumer struct {
	APIGroup string `json:"apiGroup"`
	Resource string `json:"resource"`
	Name     string `json:"name"`
}
