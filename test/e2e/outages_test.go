//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/cluster"
)

const restarts = 20

// survivor is a pod with devices that no restart may touch.
type survivor struct {
	pod       *corev1.Pod
	container string
	held      []v1alpha1.DeviceID
}

func (s *site) survivor(t *testing.T, node, resource string, count int64) survivor {
	t.Helper()
	s.awaitNode(t, node, func(n *corev1.Node) bool { return offered(n, resource) > count })
	name := strings.ToLower(t.Name()) // an inventory may still tell of the pod of the test before
	pod := s.mustBe(t, s.create(t, probePod(name, "hold", at(node), asking(resource, count))), running)
	inventory := s.awaitInventory(t, node, func(i *v1alpha1.AcceleratorInventory) bool { return int64(len(heldBy(i, pod))) == count })
	return survivor{pod, pod.Status.ContainerStatuses[0].ContainerID, heldBy(inventory, pod)}
}

// untouched fails the test where the pod is not as it was, or holds other devices.
func (s *site) untouched(t *testing.T, of survivor) {
	t.Helper()
	now := s.mustBe(t, of.pod, running)
	status := now.Status.ContainerStatuses[0]
	if now.UID != of.pod.UID || status.ContainerID != of.container || status.RestartCount != 0 {
		t.Errorf("the pod was touched: %s", describe(now.Status))
	}
	inventory := s.awaitInventory(t, of.pod.Spec.NodeName, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, of.pod)) == len(of.held) })
	if diff := cmp.Diff(of.held, heldBy(inventory, of.pod)); diff != "" {
		t.Errorf("it holds other devices (-before +now):\n%s", diff)
	}
}

// However often a kubelet is killed, all devices are back shortly after its socket, pods go on, and labels stay.
func TestKubeletRestarts(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[0], served[0]
	pod := s.survivor(t, node.Name, of.resource, 2)
	labels := s.watchLabels(t, node.Name)
	k, err := dial(node)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	var slowest time.Duration
	for i := range restarts {
		took, err := restartKubelet(t.Context(), node, k, of.resource, int(of.count))
		if err != nil {
			t.Fatalf("restart %d: %v", i+1, err)
		}
		slowest = max(slowest, took)
	}
	step("%d restarts of a kubelet: all devices at most %d ms after its socket", restarts, slowest.Milliseconds())
	if slowest > 2*time.Second {
		t.Errorf("the kubelet had all devices only %s after its socket", slowest)
	}
	if err := node.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	s.untouched(t, pod)
	labels.unchanged(t)
}

// restartKubelet kills a kubelet, starts it again and returns the time from its device-plugin socket to all devices.
func restartKubelet(ctx context.Context, node *cluster.Node, k *kubelet, resource string, count int) (time.Duration, error) {
	node.Kill("kubelet")
	socket := node.DevicePlugins() + "/kubelet.sock"
	before, _ := os.Stat(socket)
	if err := node.StartKubelet(); err != nil {
		return 0, err
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := wait.PollUntilContextCancel(bounded, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		now, err := os.Stat(socket)
		return err == nil && (before == nil || !os.SameFile(before, now) || now.ModTime() != before.ModTime()), nil
	}); err != nil {
		return 0, fmt.Errorf("no socket: %w", err)
	}
	began := time.Now()
	err := k.awaitAllocatable(ctx, resource, count)
	return time.Since(began), err
}

// However often the agent is killed, the kubelet has all devices again, pods go on, and labels stay.
func TestAgentRestarts(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[0], served[0]
	pod := s.survivor(t, node.Name, of.resource, 2)
	labels := s.watchLabels(t, node.Name)
	k, err := dial(node)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	for range restarts {
		s.killAgent(t, node.Name)
		if err := k.awaitAllocatable(t.Context(), of.resource, int(of.count)); err != nil {
			t.Fatal(err)
		}
	}
	s.untouched(t, pod)
	labels.unchanged(t)
}

// killAgent kills the agent of a node without warning and waits until another one is ready.
func (s *site) killAgent(t *testing.T, node string) {
	t.Helper()
	old := s.agentOf(t, node)
	now := int64(0)
	err := s.clients.CoreV1().Pods(old.Namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = wait.PollUntilContextCancel(bounded, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		agent := s.agentOf(t, node)
		return agent != nil && agent.UID != old.UID && len(agent.Status.ContainerStatuses) > 0 && agent.Status.ContainerStatuses[0].Ready, nil
	})
	if err != nil {
		t.Fatalf("no new agent on %s: %v", node, err)
	}
}

// agentOf is the agent's pod on a node; nil where there is none.
func (s *site) agentOf(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	pods, err := s.clients.CoreV1().Pods(agentNamespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: agentLabels, FieldSelector: "spec.nodeName=" + node,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			return &pods.Items[i]
		}
	}
	return nil
}

// A restart of containerd touches neither pods nor devices.
func TestContainerdRestart(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[0], served[0]
	pod := s.survivor(t, node.Name, of.resource, 2)
	labels := s.watchLabels(t, node.Name)
	node.Kill("containerd")
	if err := node.StartContainerd(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.untouched(t, pod)
	other := s.create(t, probePod("after", "hold", at(node.Name), asking(of.resource, of.count-2)))
	s.mustBe(t, other, running)
	labels.unchanged(t)
}

// A Node that is deleted and registers anew gets its inventory, its labels and its devices again, and its cordons.
func TestNodeComesBack(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[1], served[1]
	before := s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	device := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Devices) > 0 }).Status.Devices[0].ID
	s.cordon(t, node.Name, device)
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count-1 })
	// The operator keeps what it has seen: a cordon that goes with its Node at once is not known to anybody.
	awaitAs(t, s.objects.Resource(configMaps).Namespace(operatorNamespace), "rankwright-cordons", func(kept *corev1.ConfigMap) bool {
		return kept.Data[node.Name] != ""
	})
	if err := s.clients.CoreV1().Nodes().Delete(t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	node.Kill("kubelet")
	if err := node.StartKubelet(); err != nil {
		t.Fatal(err)
	}
	after := s.awaitNode(t, node.Name, func(n *corev1.Node) bool {
		return n.UID != before.UID && offered(n, of.resource) == of.count-1 && cmp.Equal(ours(before.Labels), ours(n.Labels))
	})
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		return len(i.OwnerReferences) == 1 && i.OwnerReferences[0].UID == after.UID &&
			cmp.Equal(i.Spec.CordonedDevices, []v1alpha1.DeviceID{device}) && len(i.Status.Devices) == int(of.count)
	})
	s.cordon(t, node.Name)
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
}
