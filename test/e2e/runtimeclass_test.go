//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodeapi "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/nvml/nvmltest"
	"github.com/rankwright/rankwright/test/cluster"
)

// Where a RuntimeClass gives containers NVIDIA's driver, the helper needs no privilege to ask it, and an error that the driver
// reports withdraws its GPU from claims, until it is over.
func TestDriverByRuntimeClass(t *testing.T) {
	s := on(t)
	s.play(t, composed(t), "nvidia-nvml-h100-8")
	node := s.Nodes[0]
	s.addRuntimeClass(t, node)
	s.install(t, "agent.nvml.enabled=true", "agent.nvml.runtimeClassName="+cluster.RuntimeHandler,
		`agent.nodeSelector.kubernetes\.io/hostname=`+node.Name, "vendors.nvidia.through=DRA", "vendors.nvidia.injection=CDI")
	began := time.Now()
	inventory := s.every(t, node, 8, wellH100)
	step("all GPUs are Healthy with the driver's memory %.1f s later", time.Since(began).Seconds())
	s.hasNoPrivilege(t, node)

	s.awaitSlices(t, node.Name, names(inventory.Status.Devices))
	device := gpu(t, node, 3)
	pod := s.claiming(t, "claims-a-gpu", 1, device)
	checkSight(t, inventory, []v1alpha1.DeviceID{device}, s.see(t, pod))
	s.awaitErrorsWatched(t, node, 13)
	began = time.Now()
	raise(t, node, nvmltest.Event{GPU: 3, Type: nvmltest.XID, Data: 79})
	s.awaitTaints(t, node.Name, device, "rankwright.dev/unhealthy=XID79:NoSchedule")
	tainted := time.Since(began)
	s.awaitHealth(t, pod, device, corev1.ResourceHealthStatusUnhealthy, "XID79")
	step("XID 79: tainted in its ResourceSlice after %.2f s, in the pod's status after at most %.2f s", tainted.Seconds(), time.Since(began).Seconds())
	s.untouched(t, survivor{pod, pod.Status.ContainerStatuses[0].ContainerID, []v1alpha1.DeviceID{device}})
	s.awaitTaints(t, node.Name, device)
	step("XID 79: no taint any more after %.0f s", time.Since(began).Seconds())
	s.awaitHealth(t, pod, device, corev1.ResourceHealthStatusHealthy, "")
	s.every(t, node, 8, wellH100)
}

// addRuntimeClass makes the RuntimeClass, and installs on a node what it needs, as NVIDIA's documentation has administrators do.
func (s *site) addRuntimeClass(t *testing.T, node *cluster.Node) {
	t.Helper()
	if err := node.InstallRuntime(t.Context()); err != nil {
		t.Fatal(err)
	}
	classes := s.clients.NodeV1().RuntimeClasses()
	class := &nodeapi.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: cluster.RuntimeHandler}, Handler: cluster.RuntimeHandler}
	if _, err := classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := classes.Delete(context.Background(), class.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// hasNoPrivilege looks at the processes of an agent's pod: neither has a capability, and the helper alone has NVIDIA's nodes.
func (s *site) hasNoPrivilege(t *testing.T, node *cluster.Node) {
	t.Helper()
	pod := s.agentOf(t, node.Name)
	for name, nodes := range map[string]int{"node-agent": 0, "helper": 11} {
		process := s.processOf(t, node, pod, name)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
			if want := set + ":\t0000000000000000\n"; !strings.Contains(string(status), want) {
				t.Errorf("%s: want %q in\n%s", name, want, status)
			}
		}
		seen, err := filepath.Glob(fmt.Sprintf("/proc/%d/root/dev/nvidia*", process))
		if err != nil || len(seen) != nodes {
			t.Errorf("%s has the nodes %q, want %d: %v", name, seen, nodes, err)
		}
	}
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "helper" })
	for _, mount := range pod.Spec.Containers[at].VolumeMounts {
		for i := range pod.Spec.Volumes {
			if volume := &pod.Spec.Volumes[i]; volume.Name == mount.Name && volume.HostPath != nil {
				t.Errorf("the helper has %s of the host", volume.HostPath.Path)
			}
		}
	}
}
