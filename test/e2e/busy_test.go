//go:build linux

package e2e

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
	"github.com/rankwright/rankwright/test/cluster"
)

// busyDevices has top show what the agents read of NVIDIA's library and of the tools of Intel and Huawei.
func busyDevices(t *testing.T, s *site, _ *cluster.Node) {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	for _, node := range s.Nodes {
		awaitAs(t, s.objects.Resource(leases).Namespace(agentNamespace), node.Name, func(l *coordinationv1.Lease) bool {
			busy, err := inventory.ParseUtilization(l.Annotations[v1alpha1.AnnotationUtilization])
			return err == nil && len(busy.Percent) == 8
		})
	}
	if told := plugin(t, "top", "--kubeconfig", s.Kubeconfig()); !strings.Contains(told, "on average of the 24 devices that show it") {
		t.Errorf("top says nothing of how busy the devices are:\n%s", told)
	}
}
