//go:build linux

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/otherplugin"
)

// Where another plugin serves a vendor's devices, the agent observes: it names the other plugin and the holders of devices, and
// offers none of these devices, though its values say so.
func TestAnotherPluginServes(t *testing.T) {
	s := on(t)
	node := s.Nodes[1]
	s.install(t, "vendors.amd.serve=false")
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Devices) == int(served[1].count) })
	var addresses []string
	for i := range inventory.Status.Devices {
		addresses = append(addresses, inventory.Status.Devices[i].PCI.Address)
	}
	other, err := otherplugin.Start(t.Context(), node.DevicePlugins(), "amd.com/gpu", "amd.com_gpu.sock", nil, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	named := v1alpha1.DeviceService{Server: v1alpha1.ServedByDevicePlugin, Resource: "amd.com/gpu"}
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return allServedBy(i, named) })
	pod := s.mustBe(t, s.create(t, probePod("of-another", "hold", at(node.Name), asking("amd.com/gpu", 2))), running)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, pod)) == 2 })

	s.mustHelm(t, s.upgradeArgs([]string{"upgrade"})...)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		condition := meta.FindStatusCondition(i.Status.Conditions, v1alpha1.ConditionServed)
		return condition != nil && condition.Status == metav1.ConditionFalse && strings.Contains(condition.Message, "amd.com/gpu") && allServedBy(i, named)
	})
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool {
		return offered(n, "amd.com/gpu") == served[1].count && offered(n, served[1].resource) == 0
	})
}

func allServedBy(inventory *v1alpha1.AcceleratorInventory, service v1alpha1.DeviceService) bool {
	for i := range inventory.Status.Devices {
		if s := inventory.Status.Devices[i].Service; s == nil || *s != service {
			return false
		}
	}
	return true
}
