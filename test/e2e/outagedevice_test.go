//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/cluster"
)

// A device that falls off the bus is withdrawn; the other seven go on being given to pods, none of which fails its
// admission; and when the device answers again it is offered again, by the same agent.
func TestOneOfEightFails(t *testing.T) {
	s := on(t)
	s.install(t)
	node, of := s.Nodes[1], served[1]
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	agent := s.agentOf(t, node.Name)
	inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(i.Status.Devices) == int(of.count) })
	device := inventory.Status.Devices[3]

	mend := breakDevice(t, node, device.PCI.Address)
	inventory = s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return !i.Status.Device(device.ID).Usable() })
	step("%s is %s: %s", device.ID, inventory.Status.Device(device.ID).Health.State, inventory.Status.Device(device.ID).Health.Message)
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count-1 })

	var held []v1alpha1.DeviceID
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		pod := s.mustBe(t, s.create(t, probePod("one-"+name, "hold", at(node.Name), asking(of.resource, 1))), running)
		inventory := s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool { return len(heldBy(i, pod)) == 1 })
		held = append(held, heldBy(inventory, pod)...)
	}
	slices.Sort(held)
	if slices.Contains(held, device.ID) || len(slices.Compact(held)) != len(held) {
		t.Errorf("seven pods hold %v, of which %s does not answer", held, device.ID)
	}

	mend()
	s.awaitNode(t, node.Name, func(n *corev1.Node) bool { return offered(n, of.resource) == of.count })
	pod := s.mustBe(t, s.create(t, probePod("last", "hold", at(node.Name), asking(of.resource, 1))), running)
	s.awaitInventory(t, node.Name, func(i *v1alpha1.AcceleratorInventory) bool {
		return slices.Equal(heldBy(i, pod), []v1alpha1.DeviceID{device.ID})
	})
	if now := s.agentOf(t, node.Name); now.UID != agent.UID || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Error("the agent was restarted")
	}
}

// breakDevice has every read of a PCI function's registers return ones, as it is with one that fell off the bus, until it
// is mended.
func breakDevice(t *testing.T, node *cluster.Node, address string) (mend func()) {
	t.Helper()
	folder := filepath.Join(node.Host(), "sys", "bus", "pci", "devices", address)
	whole := map[string][]byte{}
	for name, content := range map[string][]byte{"config": bytes.Repeat([]byte{0xff}, 64), "current_link_width": []byte("63\n")} {
		file := filepath.Join(folder, name)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole[file] = before
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mend = func() {
		for file, content := range whole {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(mend)
	return mend
}
