package dra

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

const testNode = "node-1"

var throughDRA = serving.Config{Vendors: map[string]serving.VendorConfig{
	"amd":    {Serve: true, Through: serving.DRA, Injection: injection.CDI},
	"nvidia": {Serve: true, Injection: injection.CDI},
}}

func gpu(number int, change ...func(*v1alpha1.Device)) v1alpha1.Device {
	d := v1alpha1.Device{
		ID: gpuID(number), Vendor: "amd", Backend: "amd", Family: v1alpha1.FamilyGPU, UUID: fmt.Sprintf("GPU-%016x", number),
		PCI: &v1alpha1.PCIDevice{Address: fmt.Sprintf("0000:%02x:00.0", number)}, Paths: []string{fmt.Sprintf("/dev/dri/renderD%d", 128+number)},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func gpuID(number int) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("amd-0000:%02x:00.0", number))
}

func gpuName(number int) string { return devicename.Of(gpuID(number)) }

func servedBy(server v1alpha1.DeviceServer, resource string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Service = &v1alpha1.DeviceService{Server: server, Resource: resource} }
}

func sick(d *v1alpha1.Device) {
	d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECC"}
}

func statusOf(devices ...v1alpha1.Device) *v1alpha1.AcceleratorInventoryStatus {
	return &v1alpha1.AcceleratorInventoryStatus{Devices: devices}
}

// heldBy has a pod hold the first device of a status.
func heldBy(pod, resource string, status *v1alpha1.AcceleratorInventoryStatus) *v1alpha1.AcceleratorInventoryStatus {
	status.Allocations = []v1alpha1.Allocation{{Device: status.Devices[0].ID, Namespace: "models", Pod: pod, Resource: resource}}
	return status
}

func wantedOf(status *v1alpha1.AcceleratorInventoryStatus, cordoned ...v1alpha1.DeviceID) serving.Wanted {
	return serving.Wanted{Status: status, Spec: v1alpha1.AcceleratorInventorySpec{CordonedDevices: cordoned}, Config: throughDRA}
}

// claimOf is a claim of pod `worker` with devices for a request each.
func claimOf(results ...resourceapi.Result) *resourceapi.Claim {
	c := &resourceapi.Claim{ObjectMeta: metav1.ObjectMeta{Namespace: "models", Name: "llama", UID: "uid-1"}}
	c.Status.Allocation = &resourceapi.Allocation{}
	c.Status.Allocation.Devices.Results = results
	c.Status.ReservedFor = []resourceapi.Consumer{{Resource: "pods", Name: "worker"}}
	return c
}

// resultFor gives a device to a request.
func resultFor(request string, number int) resourceapi.Result {
	return resourceapi.Result{Request: request, Driver: v1alpha1.DRADriver, Pool: testNode, Device: gpuName(number)}
}

// settled is what is to be offered, and stays.
func settled(w serving.Wanted) *await.Value[serving.Wanted] {
	v := &await.Value[serving.Wanted]{}
	v.Set(w)
	return v
}
