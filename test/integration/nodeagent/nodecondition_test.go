package nodeagent_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// kubelets writes what a kubelet writes of its Node, in a way that nobody holds the fields: as when it makes the Node.
func (s *site) kubelets() corev1.NodeStatus {
	s.t.Helper()
	node := get(s, s.nodeKey())
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	if err := s.admin.Status().Update(s.t.Context(), node); err != nil {
		s.t.Fatal(err)
	}
	return get(s, s.nodeKey()).Status
}

// nodeCondition returns the agent's condition of the Node, nil where there is none, and the Node's status without it.
func (s *site) nodeCondition() (own *corev1.NodeCondition, others corev1.NodeStatus) {
	s.t.Helper()
	others = get(s, s.nodeKey()).Status
	others.Conditions = slices.DeleteFunc(others.Conditions, func(c corev1.NodeCondition) bool {
		if c.Type == v1alpha1.NodeConditionAcceleratorsReady {
			own = &c
		}
		return c.Type == v1alpha1.NodeConditionAcceleratorsReady
	})
	return own, others
}

// From the first detection on, a Node says whether its accelerators are ready, and the rest of its status stays the kubelet's.
func TestNodeSaysWhetherItsAcceleratorsAreReady(t *testing.T) {
	s := newSite(t, "node-condition")
	kubelets := s.kubelets()
	ill := gpu(1, func(d *v1alpha1.Device) {
		d.Health = v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: "ECC"}
	})
	check := func(about string, status corev1.ConditionStatus, reason string) {
		t.Helper()
		own, others := s.nodeCondition()
		if own == nil || own.Status != status || own.Reason != reason || own.LastTransitionTime.IsZero() || own.LastHeartbeatTime.IsZero() {
			t.Errorf("%s: the condition is %+v, want %s for %s", about, own, status, reason)
		}
		if diff := cmp.Diff(kubelets, others); diff != "" {
			t.Errorf("%s: the kubelet's status (-want +got):\n%s", about, diff)
		}
	}
	s.once()
	if own, _ := s.nodeCondition(); own != nil {
		t.Errorf("a node without accelerators says %+v", own)
	}
	s.nvidia.set(gpu(0), gpu(1))
	s.once()
	check("both are well", corev1.ConditionTrue, "AllDevicesReady")
	version := get(s, s.nodeKey()).ResourceVersion
	s.once()
	if got := get(s, s.nodeKey()).ResourceVersion; got != version {
		t.Error("the Node is written though nothing changed")
	}
	s.nvidia.set(gpu(0), ill)
	s.once()
	check("one is ill", corev1.ConditionFalse, "DevicesUnhealthy")
	s.cordon(ill.ID)
	s.once()
	check("the ill one is cordoned", corev1.ConditionTrue, "AllDevicesReady")
	s.nvidia.breakDown()
	s.once()
	check("nobody can look", corev1.ConditionUnknown, "BackendFailed")
}
