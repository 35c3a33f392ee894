//go:build linux

// Package serving_test runs the node agent's device plugin against a real kubelet.
package serving_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/cluster"
	"github.com/rankwright/rankwright/test/controlplane"
)

const (
	agentName = "rankwright-node-agent"
	gpus      = "amd.com/gpu"
	deadline  = 3 * time.Minute
)

// site is a node with a kubelet, and an agent beside it that plays a recorded host.
type site struct {
	t       *testing.T
	cluster *cluster.Cluster
	node    *cluster.Node
	clients kubernetes.Interface
	kubelet podresources.PodResourcesListerClient
	folder  string
	agent   *exec.Cmd
	// missed is what was awaited in vain.
	missed error
}

func newSite(t *testing.T) *site {
	t.Helper()
	if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
		t.Skip("runs with RANKWRIGHT_CLUSTER=1, where kubelet and containerd are built")
	}
	// A socket's path holds 107 bytes, fewer than some temporary folders of tests have.
	folder, err := os.MkdirTemp("", "rw") //nolint:usetesting // the test's own may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Dir: filepath.Join(folder, "c"), Nodes: 1, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(); _ = os.RemoveAll(folder) })
	s := &site{t: t, cluster: c, node: c.Nodes[0], folder: folder}
	if s.clients, err = kubernetes.NewForConfig(c.ControlPlane.Config()); err != nil {
		t.Fatal(err)
	}
	const delay = 20 * time.Millisecond // a client that waits longer for a kubelet would be what is measured
	socket := filepath.Join(filepath.Dir(s.node.DevicePlugins()), "pod-resources", "kubelet.sock")
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: delay, Multiplier: 1, MaxDelay: delay}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	s.kubelet = podresources.NewPodResourcesListerClient(connection)
	s.install()
	return s
}

// install makes what the agent needs: its rules, its configuration, its token and its binary.
func (s *site) install() {
	s.t.Helper()
	root, err := repository.Root()
	s.must(err)
	s.must(s.cluster.ControlPlane.InstallCRDs(s.t.Context(), filepath.Join(root, "config", "crd")))
	var manifests []string
	for _, name := range []string{"namespace", "rbac/node_agent.yaml", "admission/node_agent.yaml"} {
		manifests = append(manifests, filepath.Join(root, "config", name))
	}
	objects, err := controlplane.ReadManifests(manifests...)
	s.must(err)
	s.must(controlplane.Apply(s.t.Context(), s.cluster.ControlPlane.Config(), "", objects...))
	node, err := s.clients.CoreV1().Nodes().Get(s.t.Context(), s.node.Name, metav1.GetOptions{})
	s.must(err)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
	}}
	token, err := s.clients.CoreV1().ServiceAccounts(agentName).CreateToken(s.t.Context(), agentName, request, metav1.CreateOptions{})
	s.must(err)
	config := s.cluster.ControlPlane.ConfigForToken(token.Status.Token)
	inside, err := s.cluster.ControlPlane.NodeConfig(s.node.Name)
	s.must(err)
	config.Host = inside.Host
	s.must(controlplane.WriteKubeconfig(s.path("kubeconfig"), config))
	s.write("config.yaml", "vendors: {amd: {serve: true, injection: CDI, resources: {gpu: "+gpus+"}}}\n")
	recording, err := os.ReadFile(filepath.Join(root, "test", "recordings", "amd-mi300x-8.tar.gz"))
	s.must(err)
	s.write("host.tar.gz", string(recording))
	s.must(repository.Build(s.t.Context(), s.path("node-agent"), "cmd/node-agent"))
}

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

func (s *site) write(name, content string) {
	s.t.Helper()
	s.must(os.WriteFile(s.path(name)+".new", []byte(content), 0o600))
	s.must(os.Rename(s.path(name)+".new", s.path(name)))
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// startAgent starts the agent in the node's namespaces.
func (s *site) startAgent() {
	s.t.Helper()
	log, err := os.OpenFile(s.path("agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	s.agent = s.node.Command(context.Background(), s.path("node-agent"), "--kubeconfig", s.path("kubeconfig"), "--node-name", s.node.Name,
		"--replay", s.path("host.tar.gz"), "--config", s.path("config.yaml"), "--device-plugins=/var/lib/kubelet/device-plugins",
		"--health-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0")
	s.agent.Stderr = log
	s.must(s.agent.Start())
	s.must(log.Close())
}

// killAgent ends the agent without warning.
func (s *site) killAgent() {
	if s.agent != nil {
		_ = s.agent.Process.Kill()
		_ = s.agent.Wait()
		s.agent = nil
	}
}

// tell prints, where a test fails, the end of what the agent, the kubelet and containerd logged.
func (s *site) tell() {
	if !s.t.Failed() {
		return
	}
	for _, name := range []string{"agent.log", "c/" + s.node.Name + "/containerd.log", "c/" + s.node.Name + "/kubelet.log"} {
		content, err := os.ReadFile(s.path(name))
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		s.t.Logf("%s (%v):\n%s", filepath.Base(name), err, strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
	s.t.Logf("awaited in vain: %v", s.missed)
}

// await waits until the condition says nothing. It asks rarely enough to leave the kubelet, which answers at most 100
// questions a second, to the agent.
func (s *site) await(t *testing.T, what string, condition func() error) {
	t.Helper()
	last := errors.New("not asked")
	err := wait.PollUntilContextTimeout(t.Context(), 25*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		last = condition()
		return last == nil, nil
	})
	if err != nil {
		s.missed = fmt.Errorf("%s: %w (agent: %s)", what, last, s.agentState())
		t.Fatal(s.missed)
	}
}

// agentState is what the kernel says of the agent's process, which may have been killed.
func (s *site) agentState() string {
	if s.agent == nil {
		return "none"
	}
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.agent.Process.Pid))
	for line := range strings.Lines(string(content)) {
		if state, is := strings.CutPrefix(line, "State:"); is {
			return strings.TrimSpace(state)
		}
	}
	return fmt.Sprint(err)
}

// allocatable are the ids that the kubelet would give to new pods, by resource.
func (s *site) allocatable() (map[string][]string, error) {
	answer, err := s.kubelet.GetAllocatableResources(s.t.Context(), &podresources.AllocatableResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return byResource(answer.GetDevices()), nil
}

// held are the ids that a pod has, by resource.
func (s *site) held(pod string) (map[string][]string, error) {
	answer, err := s.kubelet.List(s.t.Context(), &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	var devices []*podresources.ContainerDevices
	for _, p := range answer.GetPodResources() {
		for _, c := range p.GetContainers() {
			if p.GetName() == pod {
				devices = append(devices, c.GetDevices()...)
			}
		}
	}
	return byResource(devices), nil
}

func byResource(devices []*podresources.ContainerDevices) map[string][]string {
	ids := map[string][]string{}
	for _, d := range devices {
		ids[d.GetResourceName()] = append(ids[d.GetResourceName()], d.GetDeviceIds()...)
	}
	for _, list := range ids {
		slices.Sort(list)
	}
	return ids
}

// counts says how the allocatable devices differ from the wanted numbers.
func (s *site) counts(want map[string]int) error {
	ids, err := s.allocatable()
	if err != nil {
		return err
	}
	for resource, number := range want {
		if len(ids[resource]) != number {
			return fmt.Errorf("%d devices of %s, want %d", len(ids[resource]), resource, number)
		}
	}
	return nil
}

// nodeCounts says how the Node's status differs from eight devices in all, of which so many are allocatable.
func (s *site) nodeCounts(allocatable int64) error {
	node, err := s.clients.CoreV1().Nodes().Get(s.t.Context(), s.node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	has, gives := node.Status.Capacity[gpus], node.Status.Allocatable[gpus]
	if has.Value() != 8 || gives.Value() != allocatable {
		return fmt.Errorf("capacity %d, allocatable %d, want 8 and %d", has.Value(), gives.Value(), allocatable)
	}
	return nil
}
