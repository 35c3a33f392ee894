package serving

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/internal/await"
)

// server answers the kubelet's calls for one registration of a pool.
type server struct {
	pluginapi.UnimplementedDevicePluginServer

	// offered is what is answered from now.
	offered *await.Value[*offering]
	streams *streams
	inject  Inject
	// allocated is told of each container's ids before its answer goes out, and how that went.
	allocated func(resource string, ids []string, err error)
}

// GetDevicePluginOptions says that the kubelet may ask which devices are best together.
func (*server) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

// ListAndWatch sends what is offered, and again whenever that is another list.
func (s *server) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	s.streams.opened(connectionOf(stream.Context()))
	defer s.streams.ended()
	var sent *offering
	for {
		now, changed := s.offered.Get()
		if sent == nil || !sameList(sent.pool, now.pool) {
			if err := stream.Send(now.list()); err != nil {
				return err
			}
		}
		sent = now
		s.streams.delivered(now)
		select {
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// Allocate says how the containers get their devices.
func (s *server) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	now, _ := s.offered.Get()
	answer := &pluginapi.AllocateResponse{}
	for _, container := range request.GetContainerRequests() {
		ids := container.GetDevicesIds()
		response, err := now.allocate(ids, s.inject)
		s.allocated(now.pool.Resource, ids, err)
		if err != nil {
			return nil, err
		}
		answer.ContainerResponses = append(answer.ContainerResponses, response)
	}
	return answer, nil
}

// GetPreferredAllocation says which devices are best together. It answers from what is computed already and never fails.
func (s *server) GetPreferredAllocation(_ context.Context, request *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	now, _ := s.offered.Get()
	answer := &pluginapi.PreferredAllocationResponse{}
	for _, c := range request.GetContainerRequests() {
		chosen := prefer(now.topology, c.GetAvailableDeviceIDs(), c.GetMustIncludeDeviceIDs(), int(c.GetAllocationSize()))
		answer.ContainerResponses = append(answer.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: chosen})
	}
	return answer, nil
}

// PreStartContainer is not asked for.
func (*server) PreStartContainer(context.Context, *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	return nil, status.Error(codes.Unimplemented, "nothing is to be done before a container starts")
}
