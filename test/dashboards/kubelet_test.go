package dashboards

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet plays the kubelet's part that agents talk to: it takes device plugins, and says which pod has which device.
type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer

	folder string

	mu      sync.Mutex
	pods    []*podresources.PodResources
	plugins map[string]pluginapi.DevicePluginClient
}

func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	folder, err := os.MkdirTemp("", "k") //nolint:usetesting // a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{folder: folder, plugins: map[string]pluginapi.DevicePluginClient{}}
	server := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(server, k)
	podresources.RegisterPodResourcesListerServer(server, k)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: k.socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		_ = os.RemoveAll(folder)
	})
	return k
}

// socket is where the kubelet answers both.
func (k *kubelet) socket() string { return filepath.Join(k.folder, "kubelet.sock") }

// Register implements the registration of device plugins: it connects to the plugin and listens.
func (k *kubelet) Register(_ context.Context, request *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	connection, err := grpc.NewClient("unix://"+filepath.Join(k.folder, request.GetEndpoint()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	plugin := pluginapi.NewDevicePluginClient(connection)
	stream, err := plugin.ListAndWatch(context.Background(), &pluginapi.Empty{})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				_ = connection.Close()
				return
			}
		}
	}()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.plugins[request.GetResourceName()] = plugin
	return &pluginapi.Empty{}, nil
}

// List implements the pod-resources API.
func (k *kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &podresources.ListPodResourcesResponse{PodResources: append([]*podresources.PodResources(nil), k.pods...)}, nil
}

// GetAllocatableResources implements the pod-resources API.
func (*kubelet) GetAllocatableResources(context.Context, *podresources.AllocatableResourcesRequest) (*podresources.AllocatableResourcesResponse, error) {
	return &podresources.AllocatableResourcesResponse{}, nil
}

// gives says that a container of a pod has devices, by the names that the resource's plugin has for them.
func (k *kubelet) gives(namespace, pod, resource string, devices ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = append(k.pods, &podresources.PodResources{Namespace: namespace, Name: pod, Containers: []*podresources.ContainerResources{{
		Name: "model", Devices: []*podresources.ContainerDevices{{ResourceName: resource, DeviceIds: devices}},
	}}})
}

// ends says no more of a pod.
func (k *kubelet) ends(namespace, pod string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = slices.DeleteFunc(k.pods, func(p *podresources.PodResources) bool { return p.Namespace == namespace && p.Name == pod })
}

// plugin is the plugin of a resource; nil where none is registered.
func (k *kubelet) plugin(resource string) pluginapi.DevicePluginClient {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.plugins[resource]
}
