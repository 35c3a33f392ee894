package serving

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// Inject says what a container needs to see the granted devices; node are all devices of the node.
type Inject func(mode injection.Mode, granted, node []v1alpha1.Device) (injection.Answer, error)

// grant checks the ids that a container is to get and returns their devices, each once. An id that is not offered, or not
// fit for new pods, is an error that names it: the pod then fails its admission, and its controller makes another.
func (o *offering) grant(ids []string) ([]v1alpha1.Device, error) {
	if len(ids) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "%s: no device id in the request: request at least 1", o.pool.Resource)
	}
	granted := map[v1alpha1.DeviceID]v1alpha1.Device{}
	for _, id := range ids {
		at, offered := slices.BinarySearchFunc(o.pool.Entries, id, func(e listing, id string) int { return cmp.Compare(e.ID, id) })
		if !offered {
			return nil, status.Errorf(codes.NotFound, "%s: device %q is not offered here: delete the pod, so that it is scheduled anew; "+
				"status.devices of the node's AcceleratorInventory has the devices", o.pool.Resource, id)
		}
		entry := &o.pool.Entries[at]
		if !entry.Healthy {
			return nil, status.Errorf(codes.FailedPrecondition, "%s: device %q %s: delete the pod, so that it gets another device",
				o.pool.Resource, id, entry.Reason)
		}
		device := o.status.Device(entry.Device)
		if device == nil {
			return nil, status.Errorf(codes.NotFound, "%s: device %q is not in the inventory: delete the pod, so that it gets another device",
				o.pool.Resource, id)
		}
		granted[entry.Device] = *device
	}
	return slices.SortedFunc(maps.Values(granted), func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// allocate answers for one container.
func (o *offering) allocate(ids []string, inject Inject) (*pluginapi.ContainerAllocateResponse, error) {
	granted, err := o.grant(ids)
	if err != nil {
		return nil, err
	}
	answer, err := inject(o.pool.Mode, granted, o.status.Devices)
	if err != nil {
		return nil, status.Error(codes.Internal, fmt.Sprintf("%s: %v", o.pool.Resource, err))
	}
	return response(answer), nil
}

// response is an answer as the kubelet takes it.
func response(answer injection.Answer) *pluginapi.ContainerAllocateResponse {
	r := &pluginapi.ContainerAllocateResponse{Envs: maps.Clone(answer.Environment)}
	for _, path := range answer.Paths {
		r.Devices = append(r.Devices, &pluginapi.DeviceSpec{HostPath: path, ContainerPath: path, Permissions: injection.Permissions})
	}
	for _, name := range answer.CDIDevices {
		r.CdiDevices = append(r.CdiDevices, &pluginapi.CDIDevice{Name: name})
	}
	return r
}
