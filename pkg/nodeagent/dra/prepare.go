package dra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// allotment is what the scheduler allotted to a claim of this driver's devices.
type allotment struct {
	results []resourceapi.Result
	// devices[i] is the device of results[i].
	devices []v1alpha1.Device
}

// allotted looks the devices of a claim up in the inventory.
func allotted(claim *resourceapi.Claim, w serving.Wanted, node string, prepared book) (allotment, error) {
	a := allotment{}
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Driver != v1alpha1.DRADriver {
			continue
		}
		if r.Pool != node {
			return a, fmt.Errorf("claim %s/%s: device %s is of pool %q and this node is %q: delete the claim, so that it is allocated anew",
				claim.Namespace, claim.Name, r.Device, r.Pool, node)
		}
		d := deviceOf(w.Status, r.Device)
		if d == nil || !w.Through(serving.DRA, d) {
			return a, fmt.Errorf("claim %s/%s: device %s is not served by claims here: delete the pod and the claim, so that others are allocated; "+
				"status.devices of AcceleratorInventory %s has the devices", claim.Namespace, claim.Name, r.Device, node)
		}
		has := prepared.has(string(claim.UID), r.Device) || holds(claim, w.Status, d.ID, true)
		if reason := refusal(r, w, d); reason != "" && !has {
			return a, fmt.Errorf("claim %s/%s: device %s %s: delete the pod and the claim, so that it gets another device",
				claim.Namespace, claim.Name, d.ID, reason)
		}
		a.results, a.devices = append(a.results, r), append(a.devices, *d)
	}
	return a, nil
}

// refusal says why a claim may not get a device that it does not have yet; empty where it may. An administrator may look at
// every device. A toleration gets what is cordoned or ill, and never what a pod holds whom no claim knows of.
func refusal(r resourceapi.Result, w serving.Wanted, d *v1alpha1.Device) string {
	for _, o := range w.Obstacles(d) {
		if !r.AdminAccess && (o.Cause == serving.Held || !tolerated(taintOf(o, w, d), r.Tolerations)) {
			return o.Text
		}
	}
	return ""
}

// deviceOf finds a device by its name in ResourceSlices.
func deviceOf(status *v1alpha1.AcceleratorInventoryStatus, name string) *v1alpha1.Device {
	for i := range status.Devices {
		if devicename.Of(status.Devices[i].ID) == name {
			return &status.Devices[i]
		}
	}
	return nil
}

// holds says whether a pod holds the device by a claim: one that this claim is reserved for, or where own is false any other.
func holds(claim *resourceapi.Claim, status *v1alpha1.AcceleratorInventoryStatus, id v1alpha1.DeviceID, own bool) bool {
	return slices.ContainsFunc(status.Allocations, func(a v1alpha1.Allocation) bool {
		return a.Device == id && a.Resource == v1alpha1.DRADriver && isFor(claim, a) == own
	})
}

// isFor says whether the claim is reserved for the pod of an allocation.
func isFor(claim *resourceapi.Claim, a v1alpha1.Allocation) bool {
	return a.Namespace == claim.Namespace && slices.ContainsFunc(claim.Status.ReservedFor, func(r resourceapi.Consumer) bool {
		return r.APIGroup == "" && r.Resource == "pods" && r.Name == a.Pod
	})
}

// injected are the CDI devices of an allotment, one for each result, and the variables that its containers need. Variables are
// for the claim as a whole: the driver is not told which container takes which request.
func (a allotment) injected(inject serving.Inject, node []v1alpha1.Device) (names []string, environment map[string]string, err error) {
	byID, environment := map[v1alpha1.DeviceID]string{}, map[string]string{}
	classes := a.classes()
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := classes[name]
		answer, err := inject(injection.CDI, class, node)
		if err != nil {
			return nil, nil, err
		}
		if len(answer.CDIDevices) != len(class) {
			return nil, nil, fmt.Errorf("device %s: %d CDI devices for %d devices", class[0].ID, len(answer.CDIDevices), len(class))
		}
		for i := range class {
			byID[class[i].ID] = answer.CDIDevices[i]
		}
		maps.Copy(environment, answer.Environment)
	}
	for i := range a.devices {
		names = append(names, byID[a.devices[i].ID])
	}
	return names, environment, nil
}

// classes are the devices that are answered for together, by their class and each once, in order of their ids.
func (a allotment) classes() map[string][]v1alpha1.Device {
	devices := slices.Clone(a.devices)
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	classes := map[string][]v1alpha1.Device{}
	for _, d := range slices.CompactFunc(devices, func(a, b v1alpha1.Device) bool { return a.ID == b.ID }) {
		classes[injection.Class(&d)] = append(classes[injection.Class(&d)], d)
	}
	return classes
}

// prepared is an allotment as the kubelet takes it. more is a CDI device that goes with each, empty where there is none:
// a container may take any request of the claim.
func (a allotment) prepared(names []string, more string) []*dra.Device {
	var devices []*dra.Device
	for i, r := range a.results {
		ids := []string{names[i]}
		if more != "" {
			ids = append(ids, more)
		}
		// Of one of several alternatives, the kubelet knows the request (PodSpec, resources.claims), not the alternative.
		request, _, _ := strings.Cut(r.Request, "/")
		devices = append(devices, &dra.Device{
			RequestNames: []string{request}, PoolName: r.Pool, DeviceName: r.Device, CdiDeviceIds: ids, ShareId: r.ShareID,
		})
	}
	return devices
}
