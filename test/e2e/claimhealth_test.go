//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/test/cluster"
)

// A device that fails is told of by its pod's status, its ResourceSlice and its Node. Its pod goes on, an administrator's
// pod sees all devices without taking any, and no other pod gets the device. What is prepared is recorded on the node, for the next
// agent.
func TestFailureOfAClaimedDeviceIsTold(t *testing.T) {
	s := on(t)
	s.install(t, "vendors.amd.through=DRA")
	t.Cleanup(func() { s.uninstall(t) }) // an agent holds a device that failed back for a while
	node := s.Nodes[1]
	inventory := s.awaitInventory(t, node.Name, servedByClaims)
	device := &inventory.Status.Devices[3]
	s.awaitReadiness(t, node.Name, corev1.ConditionTrue, "AllDevicesReady")

	island := s.claimingIsland(t, 4)
	s.remove(t, island.Namespace, island.Name)
	s.awaitPrepared(t, node) // before that, a claim of one of its devices is refused
	pod := s.claiming(t, "failing", 1, device.ID)
	held := survivor{pod, pod.Status.ContainerStatuses[0].ContainerID, []v1alpha1.DeviceID{device.ID}}
	s.awaitHealth(t, pod, device.ID, corev1.ResourceHealthStatusHealthy, "")
	s.awaitPrepared(t, node, "failing")

	began := time.Now()
	fallOff(t, node, device)
	s.awaitHealth(t, pod, device.ID, corev1.ResourceHealthStatusUnhealthy, "OffBus")
	step("the pod's status says Unhealthy %.1f s after the device failed", time.Since(began).Seconds())
	s.awaitTaints(t, node.Name, device.ID, "rankwright.dev/unhealthy=OffBus:NoSchedule")
	s.awaitReadiness(t, node.Name, corev1.ConditionFalse, "DevicesUnhealthy")
	s.untouched(t, held)

	looker := s.looking(t)
	if got := len(s.see(t, looker).Devices); got < len(inventory.Status.Devices) {
		t.Errorf("the administrator's pod sees %d devices, want %d", got, len(inventory.Status.Devices))
	}
	s.awaitPrepared(t, node, "failing", "looking")
	s.killAgent(t, node.Name)
	s.untouched(t, held)
	now := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Allocations) > 0 })
	if held := heldBy(now, looker); len(held) > 0 {
		t.Errorf("the administrator's pod holds %v", held)
	}
	s.awaitPrepared(t, node, "failing", "looking")
	s.awaitHealth(t, pod, device.ID, corev1.ResourceHealthStatusUnhealthy, "OffBus")
	s.remove(t, looker.Namespace, looker.Name)
	s.awaitPrepared(t, node, "failing")
	s.remove(t, pod.Namespace, pod.Name)
	s.awaitPrepared(t, node)
}

// fallOff has a device read as one that fell off the bus does, all bits ones, until the test ends.
func fallOff(t *testing.T, node *cluster.Node, d *v1alpha1.Device) {
	t.Helper()
	link := filepath.Join(node.Host(), "sys", "bus", "pci", "devices", d.PCI.Address)
	target, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, ones := range map[string][]byte{"config": bytes.Repeat([]byte{0xff}, 64), "current_link_width": []byte("63\n")} {
		file := filepath.Join(filepath.Dir(link), target, name)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, ones, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.WriteFile(file, before, 0o600) })
	}
}

// awaitHealth waits until a pod's status says of its device that it is so, with a message that has a word.
func (s *site) awaitHealth(t *testing.T, pod *corev1.Pod, id v1alpha1.DeviceID, want corev1.ResourceHealthStatus, word string) {
	t.Helper()
	s.mustBe(t, pod, func(pod *corev1.Pod) (bool, error) {
		for _, status := range pod.Status.ContainerStatuses[0].AllocatedResourcesStatus {
			for _, r := range status.Resources {
				message := ""
				if r.Message != nil {
					message = *r.Message
				}
				if strings.HasSuffix(string(r.ResourceID), "="+string(id)) {
					return r.Health == want && strings.Contains(message, word), nil
				}
			}
		}
		return false, failure(pod)
	})
}

// awaitReadiness waits until a Node says of its accelerators that they are so.
func (s *site) awaitReadiness(t *testing.T, node string, status corev1.ConditionStatus, reason string) {
	t.Helper()
	s.awaitNode(t, node, func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == v1alpha1.NodeConditionAcceleratorsReady && c.Status == status && c.Reason == reason
		})
	})
}

// awaitTaints waits until a device has exactly these taints in its ResourceSlice, written as KEY=VALUE:EFFECT.
func (s *site) awaitTaints(t *testing.T, node string, id v1alpha1.DeviceID, want ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		devices, _, err := s.sliced(ctx, node)
		got = nil
		for i := range devices {
			for _, taint := range devices[i].Taints {
				if devices[i].Name == devicename.Of(id) {
					got = append(got, taint.Key+"="+taint.Value+":"+string(taint.Effect))
				}
			}
		}
		return slices.Equal(got, want), err
	})
	if err != nil {
		t.Fatalf("%v: taints of %s (-want +got):\n%s", err, id, cmp.Diff(want, got))
	}
}

// awaitPrepared waits until the record on a node has exactly the claims of these names.
func (s *site) awaitPrepared(t *testing.T, node *cluster.Node, want ...string) {
	t.Helper()
	slices.Sort(want)
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(node.DevicePlugins()), "plugins", v1alpha1.DRADriver, "prepared.json"))
		if err != nil {
			return false, err
		}
		var record struct {
			Claims map[string]struct{ Name string }
		}
		if err := json.Unmarshal(content, &record); err != nil {
			return false, err
		}
		got = nil
		for _, claim := range record.Claims {
			got = append(got, claim.Name)
		}
		slices.Sort(got)
		return slices.Equal(got, want), nil
	})
	if err != nil {
		t.Fatalf("%v: prepared claims (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

// claimed runs a pod with a claim.
func (s *site) claimed(t *testing.T, claim *resourceapi.ResourceClaim) *corev1.Pod {
	t.Helper()
	if _, err := s.clients.ResourceV1().ResourceClaims(claim.Namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.clients.ResourceV1().ResourceClaims(claim.Namespace).Delete(context.Background(), claim.Name, metav1.DeleteOptions{})
	})
	return s.mustBe(t, s.create(t, probePod(claim.Name, "hold", func(pod *corev1.Pod) {
		pod.Namespace = claim.Namespace
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "devices", ResourceClaimName: &claim.Name}}
		pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "devices"}}
	})), running)
}

// claimingIsland runs a pod with devices of one link domain.
func (s *site) claimingIsland(t *testing.T, count int64) *corev1.Pod {
	t.Helper()
	island := resourceapi.FullyQualifiedName(v1alpha1.DRADriver + "/linkDomain")
	return s.claimed(t, &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "island", Namespace: metav1.NamespaceDefault},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
			Requests: []resourceapi.DeviceRequest{{Name: "devices", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: v1alpha1.DRADriver, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			}}},
			Constraints: []resourceapi.DeviceConstraint{{MatchAttribute: &island}},
		}},
	})
}

// looking runs a pod of an administrator, which sees all devices of a node. Its namespace has to say that such pods may be
// there.
func (s *site) looking(t *testing.T) *corev1.Pod {
	t.Helper()
	const namespace = "monitoring"
	spaces := s.clients.CoreV1().Namespaces()
	if _, err := spaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = spaces.Delete(context.Background(), namespace, metav1.DeleteOptions{}) })
	yes := true
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "looking", Namespace: namespace},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "devices", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: v1alpha1.DRADriver, AllocationMode: resourceapi.DeviceAllocationModeAll, AdminAccess: &yes,
				Tolerations: []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}},
			},
		}}}},
	}
	_, err := s.clients.ResourceV1().ResourceClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Errorf("adminAccess in a namespace without the label: %v, want a refusal", err)
	}
	label := []byte(`{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`)
	if _, err := spaces.Patch(t.Context(), namespace, mergePatch, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return s.claimed(t, claim)
}
