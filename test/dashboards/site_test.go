package dashboards

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/gpuerrors"
	"github.com/rankwright/rankwright/test/operation"
)

// site is a node with its agent, which looks at a recorded host.
type site struct {
	name    string
	agent   *nodeagent.Agent
	kubelet *kubelet
	errors  gpuerrors.Stream
	metrics string
}

// hosts are the nodes of the story by their names: what was recorded there, and what of it is served to the kubelet.
var hosts = []struct{ name, recording, serves string }{
	{"h100-0", "nvidia-nvml-h100-8", ""},
	{"l40s-0", "nvidia-l40s-4", ""},
	{"max-0", "intel-max1550-4", ""},
	{"mi300x-0", "amd-mi300x-8", "vendors: {amd: {serve: true, injection: DeviceNodes}}"},
	{"v5p-0", "google-v5p-4", "vendors: {google: {serve: true, through: DRA, injection: CDI}}"},
}

// broken is a backend that cannot look, which one agent has besides its others.
var broken = backend.New("broken", func(context.Context, *host.Host) (backend.Found, error) {
	return backend.Found{}, errors.New("the library does not load: install it")
})

// startSite makes a node with its kubelet, and runs its agent with the token and the rules that it has in a cluster.
func startSite(w *operation.World, name, recording, serves string) *site {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}, Status: operation.At("192.0.2.1")}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("99")}
	node.Status.Allocatable = node.Status.Capacity
	w.Must(w.Create(w.Context(), node))
	config, err := cluster.ConfigForAccount(w.Context(), operation.AgentNamespace, "rankwright-node-agent", node)
	w.Must(err)

	recorded := openRecording(w.T, recording)
	s := &site{name: name, kubelet: startKubelet(w.T), errors: gpuerrors.New(), metrics: freeAddress(w)}
	options := nodeagent.Options{
		NodeName: name, Host: func() (*host.Host, error) { return recorded, nil }, RescanInterval: time.Hour, Version: "test",
		PodResourcesSocket: s.kubelet.socket(), MetricsAddress: s.metrics, Log: slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if recording == "google-v5p-4" {
		options.Backends = append(detect.Backends(), broken)
	}
	if recording == "nvidia-nvml-h100-8" {
		options.GPUErrors, options.NVIDIADriver = s.errors, os.DevNull
	}
	if serves != "" {
		parsed, err := serving.ParseConfig([]byte(serves))
		w.Must(err)
		options.Serving = &serving.Options{Config: parsed, Folder: s.kubelet.folder, PodResources: s.kubelet.socket(), Host: options.Host, CDIFolder: w.TempDir()}
		options.DRA = dra.Options{Folder: filepath.Join(s.kubelet.folder, "dra"), Registry: s.kubelet.folder}
	}
	s.agent, err = nodeagent.New(config, options)
	w.Must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.agent.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the agent of %s ended with %v", name, err)
		}
	})
	return s
}

func openRecording(t *testing.T, name string) *host.Host {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(root, "test", "recordings", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	recording, err := host.ReadRecording(file)
	if err == nil && name == "nvidia-l40s-4" { // the kernel tells how fast a link is now; no recorded host has that
		err = recording.AddFile("/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe")
	}
	if err != nil {
		t.Fatal(err)
	}
	return recording.Host()
}

func freeAddress(w *operation.World) string {
	w.Helper()
	ports, err := controlplane.FreePorts(1)
	w.Must(err)
	return fmt.Sprintf("127.0.0.1:%d", ports[0])
}

// devices are those of the node, as its agent published them.
func (s *site) devices(w *operation.World) []v1alpha1.Device {
	w.Helper()
	inventory := &v1alpha1.AcceleratorInventory{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: s.name}, inventory))
	return inventory.Status.Devices
}

// uuid is what NVIDIA's plugin calls a device.
func (s *site) uuid(w *operation.World, id v1alpha1.DeviceID) string {
	w.Helper()
	devices := s.devices(w)
	for i := range devices {
		if devices[i].ID == id {
			return devices[i].UUID
		}
	}
	w.Fatalf("node %s has no device %s", s.name, id)
	return ""
}
