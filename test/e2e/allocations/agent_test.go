//go:build linux

package allocations

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

const agentName = "rankwright-node-agent"

// site is an agent on the node, with hardware of the test's.
type site struct {
	*testing.T
	agent  *nodeagent.Agent
	client client.Client
}

// hardware is a detection backend that finds two GPUs.
type hardware struct{}

func (hardware) Name() string { return "nvidia" }

// Detect finds the two GPUs.
func (hardware) Detect(context.Context, *host.Host) (backend.Found, error) {
	return backend.Found{Devices: []v1alpha1.Device{gpu(0), gpu(1)}}, nil
}

func gpu(i int) v1alpha1.Device {
	address := fmt.Sprintf("0000:%02x:00.0", 0x10+i)
	return v1alpha1.Device{
		ID: v1alpha1.DeviceID("nvidia-" + address), Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Product: "NVIDIA H100",
		UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i), PCI: &v1alpha1.PCIDevice{Address: address},
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
}

// startAgent runs an agent with the rights that it has in a cluster until the end of the test.
func startAgent(t *testing.T) *site {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(running.ControlPlane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := nodeagent.New(agentConfig(t), nodeagent.Options{
		NodeName: node.Name, Backends: []backend.Backend{hardware{}}, RescanInterval: time.Hour, Version: "test",
		Host:               func() (*host.Host, error) { return host.NewRecording().Host(), nil },
		PodResourcesSocket: filepath.Join(filepath.Dir(node.DevicePlugins()), "pod-resources", "kubelet.sock"),
		Log:                slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the agent ended with an error: %v", err)
		}
	}))
	s := &site{t, agent, c}
	s.await("an inventory of two devices", func(status v1alpha1.AcceleratorInventoryStatus) bool { return len(status.Devices) == 2 })
	return s
}

func agentConfig(t *testing.T) *rest.Config {
	t.Helper()
	own, err := clients.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: own.Name, UID: own.UID},
	}}
	response, err := clients.CoreV1().ServiceAccounts(agentName).CreateToken(t.Context(), agentName, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return running.ControlPlane.ConfigForToken(response.Status.Token)
}

// await waits until the inventory's status is as it should be, and logs how long that took.
func (s *site) await(what string, good func(v1alpha1.AcceleratorInventoryStatus) bool) {
	s.Helper()
	inventory := &v1alpha1.AcceleratorInventory{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	start := time.Now()
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(inventory), inventory)
		return err == nil && good(inventory.Status), client.IgnoreNotFound(err)
	})
	if err != nil {
		s.Fatalf("%s: never came: %v; allocations %+v, devices %+v, conditions %+v", what, err,
			inventory.Status.Allocations, inventory.Status.Devices, inventory.Status.Conditions)
	}
	s.Logf("%s: after %s", what, time.Since(start).Round(10*time.Millisecond))
}

// startPod runs a pod that asks for devices.
func (s *site) startPod(name, wants string, count int64) {
	s.Helper()
	quantity := corev1.ResourceList{corev1.ResourceName(wants): *resource.NewQuantity(count, resource.DecimalSI)}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool), TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name: "model", Image: "rankwright.dev/pause:local", ImagePullPolicy: corev1.PullNever,
				Resources: corev1.ResourceRequirements{Limits: quantity},
			}},
		},
	}
	if _, err := clients.CoreV1().Pods(metav1.NamespaceDefault).Create(s.Context(), pod, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.stopPod(name) })
}

func (s *site) stopPod(name string) {
	_ = clients.CoreV1().Pods(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{})
}
