package dra

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the driver reads and writes of resource.k8s.io/v1, by the names of k8s.io/api/resource/v1. That package has all of
// Pods in it, which every agent would hold.

// resourceSlice is a part of what a driver offers.
type resourceSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec resourceSliceSpec `json:"spec"`
}

type resourceSliceSpec struct {
	Driver   string       `json:"driver"`
	Pool     resourcePool `json:"pool"`
	NodeName string       `json:"nodeName,omitempty"`
	Devices  []Device     `json:"devices,omitempty"`
}

type resourcePool struct {
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
	// maxDevices is how many devices a ResourceSlice has at most where one has a taint
	// (ResourceSliceMaxDevicesWithAdvancedFeatures).
	maxDevices = 64
	// maxText is the length of a text or a version in bytes (DeviceAttributeMaxValueLength).
	maxText = 64
)

// resourceClaim is what the scheduler has allotted to pods.
type resourceClaim struct {
	metav1.ObjectMeta `json:"metadata"`

	Status resourceClaimStatus `json:"status"`
}

type resourceClaimStatus struct {
	Allocation  *allocation `json:"allocation"`
	ReservedFor []consumer  `json:"reservedFor"`
}

// allocation has the part of an allocation that says which devices there are.
type allocation struct {
	Devices struct {
		Results []result `json:"results"`
	} `json:"devices"`
}

// result is a device for a request of a claim.
type result struct {
	Request     string       `json:"request"`
	Driver      string       `json:"driver"`
	Pool        string       `json:"pool"`
	Device      string       `json:"device"`
	AdminAccess bool         `json:"adminAccess"`
	Tolerations []toleration `json:"tolerations"`
	ShareID     *string      `json:"shareID"`
}

// toleration says of which taints a request takes devices nevertheless.
type toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
}

// consumer may use a claim.
type consumer struct {
	APIGroup string `json:"apiGroup"`
	Resource string `json:"resource"`
	Name     string `json:"name"`
}
