//go:build linux

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
)

// Where a vendor's devices go through DRA, a pod gets the very device that its claim names and no other, restarts of agent
// and kubelet change nothing for it, and the device is for others when it has gone.
func TestPodsGetTheDevicesOfTheirClaims(t *testing.T) {
	s := on(t)
	s.install(t, "vendors.amd.through=DRA")
	node := s.Nodes[1].Name
	inventory := s.awaitInventory(t, node, servedByClaims)
	id := inventory.Status.Devices[3].ID
	all := names(inventory.Status.Devices)
	s.awaitSlices(t, node, all)
	s.awaitNode(t, node, func(n *corev1.Node) bool { return offered(n, served[1].resource) == 0 })

	pod := s.claiming(t, "claims", 1, id)
	if pod.Spec.NodeName != node {
		t.Fatalf("it runs on %s, not on %s", pod.Spec.NodeName, node)
	}
	checkSight(t, inventory, []v1alpha1.DeviceID{id}, s.see(t, pod))
	if got, set := s.see(t, pod).Environment["ROCR_VISIBLE_DEVICES"]; set {
		t.Errorf("ROCR_VISIBLE_DEVICES is %q: Ray does not start beside it", got)
	}
	first := survivor{pod, pod.Status.ContainerStatuses[0].ContainerID, []v1alpha1.DeviceID{id}}
	s.untouched(t, first)
	s.awaitSlices(t, node, all)

	s.killAgent(t, node)
	s.untouched(t, first)
	before := s.awaitSlices(t, node, all)
	// A kubelet deletes the ResourceSlices of its node when it starts.
	began := time.Now()
	s.restart(t, 1)
	for now := before; slices.Equal(now, before); {
		now = s.awaitSlices(t, node, all)
	}
	step("all devices in new ResourceSlices %.1f s after a start of the kubelet", time.Since(began).Seconds())
	s.untouched(t, first)

	others := []v1alpha1.DeviceID{inventory.Status.Devices[0].ID, inventory.Status.Devices[6].ID}
	second := s.claiming(t, "claims-after", 2, others...)
	checkSight(t, inventory, others, s.see(t, second))
	s.untouched(t, first)

	s.remove(t, pod.Namespace, pod.Name)
	s.awaitInventory(t, node, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Allocations) == len(others) })
	again := s.claiming(t, "claims-again", 1, id)
	checkSight(t, inventory, []v1alpha1.DeviceID{id}, s.see(t, again))

	s.cordon(t, node, id)
	s.awaitTaints(t, node, id, "rankwright.dev/cordoned=:NoSchedule")
	s.cordon(t, node)
	s.awaitTaints(t, node, id)
	s.awaitSlices(t, node, all)

	s.uninstall(t)
	s.awaitSlices(t, node, nil)
}

// servedByClaims says whether every device is served by claims, can be selected, and is so at the kubelet.
func servedByClaims(inventory *v1alpha1.AcceleratorInventory) bool {
	for i := range inventory.Status.Devices {
		d := &inventory.Status.Devices[i]
		if d.ClaimAttribute == nil || d.ClaimAttribute.Name != "rankwright.dev/id" || *d.ClaimAttribute.String != string(d.ID) {
			return false
		}
	}
	condition := meta.FindStatusCondition(inventory.Status.Conditions, v1alpha1.ConditionServed)
	return len(inventory.Status.Devices) > 0 && condition != nil && condition.Status == metav1.ConditionTrue &&
		strings.Contains(condition.Message, v1alpha1.DRADriver) &&
		allServedBy(inventory, v1alpha1.DeviceService{Server: v1alpha1.ServedByRankwright, Resource: v1alpha1.DRADriver})
}

func names(devices []v1alpha1.Device) []string {
	var all []string
	for i := range devices {
		all = append(all, devicename.Of(devices[i].ID))
	}
	slices.Sort(all)
	return all
}

// awaitSlices waits until the ResourceSlices of a node have these devices, and returns the UIDs of the slices. Nil is no slice
// at all.
func (s *site) awaitSlices(t *testing.T, node string, want []string) (uids []types.UID) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		devices, now, err := s.sliced(ctx, node)
		got, uids = nil, now
		for i := range devices {
			got = append(got, devices[i].Name)
		}
		slices.Sort(got)
		return slices.Equal(got, want) && (want != nil) == (len(uids) > 0), err
	})
	if err != nil {
		s.explain(t)
		t.Fatalf("%v: ResourceSlices (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	return uids
}

// sliced are the devices of a node in the driver's ResourceSlices, and the UIDs of these.
func (s *site) sliced(ctx context.Context, node string) (devices []resourceapi.Device, uids []types.UID, err error) {
	list, err := s.clients.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node + ",spec.driver=" + v1alpha1.DRADriver})
	if err != nil {
		return nil, nil, err
	}
	for i := range list.Items {
		devices, uids = append(devices, list.Items[i].Spec.Devices...), append(uids, list.Items[i].UID)
	}
	return devices, uids, nil
}

// claiming runs a pod with a claim of exactly these devices, and returns when the inventory knows that it holds them.
func (s *site) claiming(t *testing.T, name string, count int64, devices ...v1alpha1.DeviceID) *corev1.Pod {
	t.Helper()
	var quoted []string
	for _, id := range devices {
		quoted = append(quoted, fmt.Sprintf("%q", id))
	}
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "devices", Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: v1alpha1.DRADriver, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
				Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
					Expression: fmt.Sprintf(`device.attributes[%q].id in [%s]`, v1alpha1.DRADriver, strings.Join(quoted, ", ")),
				}}},
			},
		}}}},
	}
	pod := s.claimed(t, claim)
	want := slices.Sorted(slices.Values(devices))
	s.awaitInventory(t, pod.Spec.NodeName, func(i *v1alpha1.AcceleratorInventory) bool { return slices.Equal(heldBy(i, pod), want) })
	return pod
}

// restart kills the kubelet of a node and starts it again.
func (s *site) restart(t *testing.T, node int) {
	t.Helper()
	s.Nodes[node].Kill("kubelet")
	if err := s.Nodes[node].StartKubelet(); err != nil {
		t.Fatal(err)
	}
	if err := s.Nodes[node].AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
}
