package serving

import (
	"context"

	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// GetDevicePluginOptions says that the kubelet may ask which devices are best together.
func (*session) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

// ListAndWatch sends what is offered, and again whenever that is another list.
func (s *session) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	s.streams.Update(func(now *streaming) { now.open++; now.gone = connectionOf(stream.Context()); now.sent = nil })
	defer s.streams.Update(func(now *streaming) {
		now.open--
		if now.open == 0 {
			now.sent = nil
		}
	})
	var sent *offering
	for {
		now, changed := s.offered.Get()
		if sent == nil || !sameList(sent.pool, now.pool) {
			if err := stream.Send(now.list()); err != nil {
				return err
			}
		}
		sent = now
		s.streams.Update(func(streams *streaming) { streams.sent = now })
		select {
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// Allocate says how the containers get their devices.
func (s *session) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	now, _ := s.offered.Get()
	answer := &pluginapi.AllocateResponse{}
	for _, container := range request.GetContainerRequests() {
		ids := container.GetDevicesIds()
		response, err := now.allocate(ids, s.plugin.options.Inject)
		s.plugin.allocated(now.pool.Resource, ids, err) // before the answer goes out
		if err != nil {
			return nil, err
		}
		answer.ContainerResponses = append(answer.ContainerResponses, response)
	}
	return answer, nil
}

// GetPreferredAllocation says which devices are best together. It answers from what is computed already and never fails.
func (s *session) GetPreferredAllocation(_ context.Context, request *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	now, _ := s.offered.Get()
	answer := &pluginapi.PreferredAllocationResponse{}
	for _, c := range request.GetContainerRequests() {
		chosen := prefer(now.topology, c.GetAvailableDeviceIDs(), c.GetMustIncludeDeviceIDs(), int(c.GetAllocationSize()))
		answer.ContainerResponses = append(answer.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return answer, nil
}
