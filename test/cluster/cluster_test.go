//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/rankwright/rankwright/test/cluster"
)

// A pod runs on every node, and what a stopped cluster leaves is nothing.
func TestPodsRunAndNothingIsLeft(t *testing.T) {
	if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
		t.Skip("runs under make e2e, which builds kubelet and containerd")
	}
	if os.Geteuid() != 0 {
		t.Fatal("a cluster needs root, for namespaces and mounts")
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Dir: t.TempDir(), Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	clients, err := kubernetes.NewForConfig(c.ControlPlane.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range c.Nodes {
		runPod(t, clients, node.Name)
	}
	first := c.Nodes[0]
	if err := first.PlayHost(t.Context(), "../recordings/nvidia-h100-8.tar.gz"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cluster.HostFolder + "/sys/bus/pci/devices", "/dev/nvidia0"} {
		if output, err := first.Command(t.Context(), "stat", name).CombinedOutput(); err != nil {
			t.Errorf("in %s: %v: %s", first.Name, err, output)
		}
	}
	if _, err := os.Stat("/dev/nvidia0"); err == nil {
		t.Error("a node's device is a device of the machine")
	}
	number := c.Number()
	c.Stop()
	for _, command := range []string{"ip netns list", "ip link", "cat /proc/mounts", "ps -eo args"} {
		output, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(output), fmt.Sprintf("rwc%d", number)) {
			t.Errorf("%s:\n%s", command, output)
		}
	}
}

func runPod(t *testing.T, clients kubernetes.Interface, node string) {
	t.Helper()
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + node},
		Spec: corev1.PodSpec{
			NodeName: node,
			Containers: []corev1.Container{{
				Name: "pause", Image: "rankwright.dev/pause:local", ImagePullPolicy: corev1.PullNever,
			}},
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), cluster.ReadyTimeout)
	defer cancel()
	events, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := range events.ResultChan() {
		now, ok := event.Object.(*corev1.Pod)
		if ok && event.Type != watch.Deleted && now.Status.Phase == corev1.PodRunning && now.Status.PodIP != "" {
			t.Logf("%s runs at %s", now.Name, now.Status.PodIP)
			return
		}
	}
	t.Fatalf("%s does not run: %v", pod.Name, ctx.Err())
}
