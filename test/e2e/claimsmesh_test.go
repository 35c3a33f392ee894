//go:build linux

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// byClaims has the agents serve the devices of the nodes' hosts by dynamic resource allocation.
var byClaims = []string{"vendors.nvidia.through=DRA", "vendors.nvidia.injection=CDI"}

// Pods get the planned devices by the claims that the operator makes, each its own, again after one was killed and in a new
// plan; the inventories say who holds which; and the claims go with the placement.
func TestMeshByClaims(t *testing.T) {
	s := on(t)
	s.spreadAs(t, func(node string, devices int64) { s.awaitSliced(t, node, int(devices)) }, byClaims...)
	// A pod without a grace is gone from the API server before its kubelet has unprepared its claim. The pod that follows then prepares the
	// same claim meanwhile, and the kubelet may forget it: "unable to get claim info for ResourceClaim".
	graceful := strings.ReplaceAll(steady, "terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 30")
	s.applyText(t, graceful, "NAME", "claimed", "COMMAND", "hold", "ENFORCEMENT", string(v1alpha1.EnforcementClaim))
	s.awaitPlan(t, "claimed", "claimed-1")
	s.awaitMesh(t, "claimed", func(m *v1alpha1.DeviceMesh) bool {
		return meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionClaimed)
	})
	before := s.awaitRanks(t, "claimed", nil)
	s.checkClaims(t, before)

	const killed = 3
	began := time.Now()
	s.kill(t, before[killed])
	after := s.awaitRanks(t, "claimed", map[types.UID]bool{before[killed].UID: true})
	step("a killed pod was back on its claimed device after %.1f s", time.Since(began).Seconds())
	s.checkClaims(t, after)

	old := map[types.UID]bool{}
	for _, pod := range after {
		old[pod.UID] = true
	}
	s.change(t, placements, "claimed", `{"spec":{"parallelism":{"tensor":1,"data":6}}}`)
	s.awaitPlan(t, "claimed", "claimed-2")
	s.checkClaims(t, s.awaitRanks(t, "claimed", old))
}

// awaitSliced waits until the DRA driver of a node offers so many devices to every claim.
func (s *site) awaitSliced(t *testing.T, node string, devices int) {
	t.Helper()
	poll(t, fmt.Sprintf("%d devices of %s are in ResourceSlices without a taint", devices, node), func(ctx context.Context) (bool, error) {
		all, _, err := s.sliced(ctx, node)
		all = slices.DeleteFunc(all, func(d resourcev1.Device) bool { return len(d.Taints) > 0 })
		return len(all) == devices, err
	})
}

// checkClaims holds the claims of pods to what their inventories say that they hold. What they see is checked before.
func (s *site) checkClaims(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	for _, pod := range pods {
		name := ""
		for _, claim := range pod.Spec.ResourceClaims {
			name = *claim.ResourceClaimName
		}
		claim, err := s.clients.ResourceV1().ResourceClaims(pod.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if claim.Status.Allocation == nil || len(claim.Status.Allocation.Devices.Results) != 1 || claim.Status.Allocation.Devices.Results[0].Pool != pod.Spec.NodeName {
			t.Errorf("claim %s of pod %s on %s: %s", name, pod.Name, pod.Spec.NodeName, describe(claim.Status))
		}
		planned := v1alpha1.DeviceID(pod.Annotations[v1alpha1.AnnotationDevices])
		s.awaitInventory(t, pod.Spec.NodeName, func(i *v1alpha1.AcceleratorInventory) bool {
			held := heldBy(i, pod)
			return len(held) == 1 && held[0] == planned
		})
	}
}
