//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
)

var (
	placements = v1alpha1.GroupVersion.WithResource("modelplacements")
	meshes     = v1alpha1.GroupVersion.WithResource("devicemeshes")
)

// The pod of each rank of a placement gets the very device that its plan names, though any would do for the kubelet; and
// when the placement is gone, its devices are for everybody again.
func TestSlotsGiveEachRankItsDevice(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[0], served[0]
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	s.place(t, "slotted")
	mesh := s.awaitMesh(t, "slotted", func(m *v1alpha1.DeviceMesh) bool {
		return m.Spec.SlotPrefix == v1alpha1.SlotPrefix
	})
	ranks := mesh.Spec.Members[0]
	if ranks.Node != node.Name || len(ranks.Devices) != 2 {
		t.Fatalf("the mesh has %+v, not two devices of %s", mesh.Spec.Members, node.Name)
	}
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Slots) == len(ranks.Devices) })
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool {
		return !slices.ContainsFunc(inventory.Status.Slots, func(slot v1alpha1.Slot) bool { return offered(n, slot.Resource) != 1 }) &&
			offered(n, of.resource) == of.count-2
	})
	for rank, device := range ranks.Devices {
		pod := s.create(t, probePod(fmt.Sprintf("rank-%d", rank), "hold", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{v1alpha1.LabelPlacement: "slotted", binding.LabelIndex: fmt.Sprint(rank)}
		}))
		pod = s.mustBe(t, pod, running)
		inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, pod)) == 1 })
		if held := heldBy(inventory, pod); !slices.Equal(held, []v1alpha1.DeviceID{device}) {
			t.Errorf("rank %d holds %v, and its plan says %s", rank, held, device)
		}
		checkSight(t, inventory, []v1alpha1.DeviceID{device}, s.see(t, pod))
	}
	if err := s.objects.Resource(placements).Namespace(metav1.NamespaceDefault).Delete(t.Context(), "slotted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for rank := range ranks.Devices {
		s.remove(t, metav1.NamespaceDefault, fmt.Sprintf("rank-%d", rank))
	}
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	s.replansLeaveTheNode(t, node.Name, of.resource, of.count)
}

// replansLeaveTheNode plans one placement anew, again and again. The kubelet keeps the name of each resource that it was ever offered, so
// that the Node has as many of them after all plans as it has devices.
func (s *site) replansLeaveTheNode(t *testing.T, node, resource string, devices int64) {
	t.Helper()
	replans := 40
	if text := os.Getenv("RANKWRIGHT_REPLANS"); text != "" {
		var err error
		if replans, err = strconv.Atoi(text); err != nil {
			t.Fatalf("RANKWRIGHT_REPLANS=%q is no number", text)
		}
	}
	s.place(t, "moved")
	began := time.Now()
	for i := 1; i <= replans; i++ {
		s.awaitPlan(t, "moved", fmt.Sprint("moved-", i))
		s.change(t, placements, "moved", fmt.Sprintf(`{"spec":{"parallelism":{"tensor":%d}}}`, 1<<((i+1)%3)))
	}
	t.Logf("%d replans took %v", replans, time.Since(began).Round(time.Second))
	if err := s.objects.Resource(placements).Namespace(metav1.NamespaceDefault).Delete(t.Context(), "moved", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now := s.awaitNode(t, node, func(n *corev1.Node) bool { return offered(n, resource) == devices })
	var slots []string
	for name := range now.Status.Capacity {
		if strings.HasPrefix(string(name), v1alpha1.SlotPrefix) {
			slots = append(slots, string(name))
		}
	}
	slices.Sort(slots)
	if len(slots) == 0 || int64(len(slots)) > devices {
		t.Errorf("after %d replans node %s with %d devices has the slots %v", replans, node, devices, slots)
	}
}

// place asks for a small model on two NVIDIA devices, each in a slot.
func (s *site) place(t *testing.T, name string) {
	t.Helper()
	placement := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ModelPlacement",
		"metadata": map[string]any{"name": name, "namespace": metav1.NamespaceDefault},
		"spec": map[string]any{
			"model": map[string]any{"name": "Llama-3.1-8B"}, "quantization": "BF16", "engine": "vLLM", "enforcement": "Slot",
			"workload":    map[string]any{"inference": map[string]any{"maxModelLen": int64(8192), "maxSequences": int64(4)}},
			"parallelism": map[string]any{"tensor": int64(2)},
			"devices":     map[string]any{"vendors": []any{"nvidia"}},
			"launch":      map[string]any{"devicesPerPod": int64(1)},
		},
	}}
	if _, err := s.objects.Resource(placements).Namespace(metav1.NamespaceDefault).Create(t.Context(), placement, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
